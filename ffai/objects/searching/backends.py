"""Where vectors are compared: in this process, or in the database."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Connection, Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from ffai.objects.searching.ranking import Ranked, Run, Wanted, connection_of, in_process, run_of
from ffai.objects.searching.vector_column import check_column, convert_column, only_one_makes_tables
from ffai.objects.tables import Tables

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.ext.asyncio import AsyncEngine
    from sqlalchemy.types import TypeEngine

logger = logging.getLogger(__name__)

Storage = Literal["process", "native"]


class Backend:
    """Compares vectors in this process. The database keeps them as bytes.

    Args:
        dialect: of the database.

    Attributes:
        name: what compares: ``"process"``, ``"sqlite-vec"`` or ``"pgvector"``. A database that turns out to lack what
            it needs is found at its first use; from then on it is ``"process"``.
        tables: what the database holds. Ask `prepared` for them where rows are read or written.

    Examples:
        >>> from sqlalchemy import create_engine
        >>> engine = create_engine("sqlite://")
        >>> backend = backend_of(engine, "process")
        >>> with engine.begin() as connection:
        ...     backend.create_tables(connection)
        >>> backend.name
        'process'
    """

    wanted_name = "process"

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.name = self.wanted_name
        self.tables = Tables(self.vector_type())
        self._checked = False

    def vector_type(self) -> TypeEngine[Any] | None:
        """Return the type of the column of vectors; ``None`` for bytes."""
        return None

    def create_tables(self, connection: Connection) -> None:
        """Make the tables that are missing; vectors kept in another type of column are brought over.

        Raises:
            DBAPIError: the database refuses.
        """
        only_one_makes_tables(connection)
        self.install(connection)
        self.tables.metadata.create_all(connection)
        convert_column(connection, self.tables.vectors)
        self._checked = True

    def install(self, connection: Connection) -> None:
        """Bring into the database what comparing needs."""

    def prepared(self, connection: Connection) -> Tables:
        """Return the tables, ready for this connection.

        Raises:
            ConfigError: the vectors are kept in another type of column.
        """
        if not self._checked:
            check_column(connection, self.tables.vectors)
            self._checked = True
        return self.tables

    def rank(self, session: Session, wanted: Wanted) -> Ranked:
        """Return the closest records, best first: the same whatever compares.

        Raises:
            ConfigError: the vectors are kept in another type of column.
            DBAPIError: the database can't answer.
        """
        tables = self.prepared(connection_of(session, wanted.kind))
        return in_process(run_of(session, wanted.kind), tables.vectors, wanted)


class NativeBackend(Backend):
    """Compares vectors in the database, and in this process where the database can't."""

    def __init__(self, dialect: Dialect) -> None:
        self._warned = False
        super().__init__(dialect)

    def rank(self, session: Session, wanted: Wanted) -> Ranked:
        """Return the closest records, best first."""
        connection = connection_of(session, wanted.kind)
        self.prepared(connection)
        if self.name != Backend.wanted_name:
            try:
                with self.apart(connection):
                    return self.rank_there(run_of(session, wanted.kind), wanted)
            except DBAPIError as error:
                if error.connection_invalidated:
                    raise
                self._warn("%s failed, vectors are compared in this process: %s", self.name, error.orig)
        return super().rank(session, wanted)

    def rank_there(self, run: Run, wanted: Wanted) -> Ranked:
        """Rank in the database."""
        raise NotImplementedError

    def apart(self, _: Connection) -> AbstractContextManager[Any]:
        """Return what keeps a statement that fails from spoiling the transaction."""
        return nullcontext()

    def give_up(self, problem: object) -> None:
        """Compare in this process from now on."""
        self._warn("%s can't be used, vectors are compared in this process: %s", self.name, problem)
        self.name, self.tables = Backend.wanted_name, Tables()

    def _warn(self, message: str, *values: object) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(message, *values)


def backend_of(engine: Engine | AsyncEngine | Dialect, storage: Storage = "process") -> Backend:
    """Return what compares vectors for a database.

    Args:
        engine: of the database, or its dialect.
        storage: ``"process"``, or ``"native"`` for sqlite-vec on SQLite and pgvector on Postgres; any other database
            has the process alone.

    Examples:
        >>> from sqlalchemy import create_engine
        >>> backend_of(create_engine("sqlite://"), "native").name
        'sqlite-vec'
    """
    dialect = engine if isinstance(engine, Dialect) else engine.dialect
    if storage == "native" and dialect.name == "sqlite":
        from ffai.objects.searching.sqlite_vec import SqliteVec

        return SqliteVec(dialect)
    if storage == "native" and dialect.name == "postgresql":
        from ffai.objects.searching.pgvector import Pgvector

        return Pgvector(dialect)
    return Backend(dialect)
