"""The tables that an expression may name, and which of their columns are secret."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Column, MetaData, Table
from sqlalchemy.orm import Mapper, registry
from sqlalchemy.sql.selectable import FromClause

from ffai.errors import SensitiveFieldError, UnsafeFilterError
from ffai.objects.declaration import SENSITIVE, Declared, declared_of, mapper_of


class KnownTables:
    """The tables of the metadata that a class belongs to.

    Args:
        kind: the mapped class. What the other classes of its registry declare secret is marked.
    """

    def __init__(self, kind: type[Any]) -> None:
        self._mapper = mapper_of(kind)
        self._metadata: frozenset[MetaData] = _marked(self._mapper.registry)

    def table(self, found: FromClause) -> Table:
        """Return the table itself, which an expression may hold a copy of.

        Raises:
            UnsafeFilterError: it is of no known metadata.
        """
        for metadata in self._metadata:
            known = metadata.tables.get(getattr(found, "key", ""))
            if known is not None and known == found:
                return known
        raise UnsafeFilterError(
            f"An expression uses the table {str(found)!r:.100}, which is not one of those that "
            f"{self._mapper.class_.__name__} is mapped with."
        )

    def check_column(self, found: FromClause, key: str, use: str) -> None:
        """Check one column of a table.

        Raises:
            SensitiveFieldError: it is secret.
            UnsafeFilterError: there is no such column.
        """
        table = self.table(found)
        column = table.c.get(key)
        if column is None:
            raise UnsafeFilterError(f"An expression uses {table.name}.{key:.100}, which is no column of that table.")
        if column.info.get(SENSITIVE):
            field, owner = self._named(column)
            raise SensitiveFieldError(field, owner, use)

    def check_row(self, found: FromClause, use: str) -> None:
        """Check every column of a table."""
        for column in self.table(found).c:
            self.check_column(found, column.key, use)

    def _named(self, column: Column[Any]) -> tuple[str, str]:
        """Return the attribute and the class of a column; its own name and the table's, where no class has it."""
        others = sorted(self._mapper.registry.mappers, key=lambda mapper: len(mapper.class_.__mro__))
        for mapper in (self._mapper, *others):
            for prop in mapper.column_attrs:
                if column in prop.columns:
                    return prop.key, mapper.class_.__name__
        return column.name, column.table.name


def secret_names(declared: Declared) -> frozenset[str]:
    """Return the attributes of a class that are secret, by what any class of its registry declares.

    Examples:
        >>> from sqlalchemy import Integer, String
        >>> from sqlalchemy.orm import DeclarativeBase, mapped_column
        >>> class Base(DeclarativeBase): ...
        >>> class Key(Base):
        ...     __tablename__ = "keys"
        ...     id = mapped_column(Integer, primary_key=True)
        ...     code = mapped_column(String, info={"sensitive": True})
        >>> sorted(secret_names(declared_of(Key)))
        ['code']
    """
    _marked(mapper_of(declared.mapped).registry)
    return declared.sensitive | {name for name, column in declared.columns.items() if column.info.get(SENSITIVE)}


_seen: WeakKeyDictionary[registry, tuple[frozenset[Mapper[Any]], frozenset[MetaData]]] = WeakKeyDictionary()


def _marked(classes: registry) -> frozenset[MetaData]:
    """Return the metadata of the classes, after what each declares secret was marked in its columns."""
    mappers: frozenset[Mapper[Any]] = frozenset(classes.mappers)
    before, metadata = _seen.get(classes, (None, frozenset[MetaData]()))
    if before == mappers:
        return metadata
    for mapper in mappers:
        declared_of(mapper.class_)
        for prop in mapper.column_attrs:  # a class with two tables has columns that hold the same
            columns = [column for column in prop.columns if isinstance(column, Column)]
            if any(column.info.get(SENSITIVE) for column in columns):
                for column in columns:
                    column.info[SENSITIVE] = True
    found = frozenset(table.metadata for mapper in mappers for table in mapper.tables if isinstance(table, Table)) | {
        classes.metadata
    }
    _seen[classes] = (mappers, found)
    return found
