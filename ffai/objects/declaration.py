"""What a class declares about itself: what is embedded, what is secret, which methods a model may call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar, get_args
from weakref import WeakSet

from sqlalchemy import Column, Float, LargeBinary, Numeric, event
from sqlalchemy import inspect as inspected
from sqlalchemy.exc import NoInspectionAvailable
from sqlalchemy.orm import MappedColumn, Mapper, mapped_column

from ffai.errors import ArgumentTypeError, InvalidArgumentError, SensitiveFieldError
from ffai.objects.template import Template

T = TypeVar("T")

Provider = Literal["local", "ai", "auto"]
"""Where vectors come from: a model on this machine, the chat client or a provider, or the first of them there is."""

SENSITIVE = "sensitive"
"""The key in a column's ``info`` that marks it."""

Sensitive = Annotated[T, mapped_column(info={SENSITIVE: True})]
"""A field that never leaves the database: ``token: Mapped[Sensitive[str]]``, or ``token: Sensitive[str]`` in SQLModel.

It is in no prompt, filter, order, projection, hit or vector. The value can still be read on a record of your own.
"""


class Embedded:
    r"""Which texts of a record become vectors.

    Args:
        fields: names of text columns; each that is not blank has a vector of its own. A search looks in the first one
            unless it names another.
        combined: more vectors, each of a template over columns: ``{"content": "{title}\n\n{body}"}``.
        provider: where the vectors of this class come from; ``None`` as the store has it.
        auto_generate: whether a change is embedded by itself; ``None`` as the store has it.

    Raises:
        InvalidArgumentError: no field, a field twice, or a template that is none.

    Examples:
        >>> Embedded("title", "body", combined={"content": "{title}: {body}"}).names
        ('title', 'body', 'content')
    """

    def __init__(
        self,
        *fields: str,
        combined: Mapping[str, str] | None = None,
        provider: Provider | None = None,
        auto_generate: bool | None = None,
    ) -> None:
        self.fields = fields
        self.combined = {name: Template(template) for name, template in (combined or {}).items()}
        self.provider, self.auto_generate = provider, auto_generate
        self.names = (*fields, *self.combined)
        if not self.names:
            raise InvalidArgumentError("Embedded() names no field: give it the names of text columns, or `combined`.")
        for name in self.names:
            if not isinstance(name, str) or not name:
                raise ArgumentTypeError(f"Embedded(): a field is named by text, not {name!r:.80}.")
        if twice := sorted({name for name in self.names if self.names.count(name) > 1}):
            raise InvalidArgumentError(f"Embedded() names {twice[0]!r} twice.")
        if provider not in (None, "local", "ai", "auto"):
            raise InvalidArgumentError(f"provider must be 'local', 'ai' or 'auto', not {provider!r}.")


@dataclass(frozen=True, kw_only=True)
class AI:
    """What a class lets a model know and do: its ``__ai__``.

    Examples:
        >>> AI(embedded=Embedded("title", "body"), prompt_exclude=("tenant_id",)).embedded.names
        ('title', 'body')
    """

    embedded: Embedded | None = None
    """Which texts become vectors; ``None`` for none."""
    prompt_exclude: Sequence[str] = ()
    """Columns that a model is not shown, though they are no secret."""
    include: Sequence[str] = ()
    """Relationships and properties that a model is shown beside the columns."""
    sensitive: Sequence[str] = ()
    """Columns that are secret, where their type can't be marked with `Sensitive`: those of a reflected table."""
    callable: Sequence[str] = ()
    """Methods that a model may call, where they can't be marked with `ai_tool`."""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    """What a model is told about methods, in place of their docstrings."""
    name: str | None = None
    """What records of this class are filed under; the table's name where it is ``None``."""


class Declared:
    """What is declared about one mapped class, checked.

    Attributes:
        mapped: the class.
        base: the class at the root of its inheritance; itself where there is none.
        ai: its declaration.
        owner_type: what its records are filed under.
        columns: attribute name to column.
    """

    def __init__(self, mapped: type[Any], mapper: Mapper[Any]) -> None:
        self.mapped, self.base = mapped, mapper.base_mapper.class_
        self.ai = _ai_of(mapped)
        table = _root_of(mapper).local_table
        self.owner_type = self.ai.name or str(getattr(table, "fullname", table))
        # Not its `column_attrs`: they ask for the classes that relationships name, which may be still to come.
        self.columns: dict[str, Column[Any]] = {
            name: column for name, column in mapper.columns.items() if isinstance(column, Column)
        }
        self._mark(marked_in_pydantic(mapped))
        self._mark(self._known("AI(sensitive=...)", self.ai.sensitive))
        self._check()

    @property
    def sensitive(self) -> frozenset[str]:
        """Names of the attributes that are secret; a class above may have marked its columns since."""
        return frozenset(name for name, column in self.columns.items() if column.info.get(SENSITIVE))

    @property
    def embedded(self) -> Embedded:
        """Which texts become vectors.

        Raises:
            InvalidArgumentError: the class declares none.
        """
        if self.ai.embedded is None:
            raise InvalidArgumentError(
                f"{self.mapped.__name__} declares no embedded fields. Give it "
                '__ai__ = AI(embedded=Embedded("title", ...)).'
            )
        return self.ai.embedded

    def check_field(self, name: str | None) -> str:
        """Return the field to look in: the one named, or the first one.

        Raises:
            InvalidArgumentError: it is not embedded; lists those that are.
            SensitiveFieldError: it is secret.
        """
        embedded = self.embedded
        if name is None:
            return embedded.names[0]
        if name in self.sensitive:
            raise SensitiveFieldError(name, self.mapped.__name__, "embedded")
        if name not in embedded.names:
            raise InvalidArgumentError(
                f"{self.mapped.__name__} has no embedded field {name!r:.100}; there are {', '.join(embedded.names)}."
            )
        return name

    def _known(self, where: str, names: Iterable[str]) -> list[str]:
        names = list(names)
        if unknown := [name for name in names if name not in self.columns]:
            raise InvalidArgumentError(
                f"{self.mapped.__name__}: {where} names {unknown[0]!r:.100}, which is no column of it; "
                f"there are {', '.join(self.columns)}."
            )
        return names

    def _mark(self, names: Iterable[str]) -> None:
        for name in names:
            self.columns[name].info[SENSITIVE] = True

    def _check(self) -> None:
        self._known("AI(prompt_exclude=...)", self.ai.prompt_exclude)
        embedded = self.ai.embedded
        if embedded is None:
            return
        for name in self._known("Embedded(...)", embedded.fields):
            self._check_secret(name)
        for combined, template in embedded.combined.items():
            if combined in self.columns:
                raise InvalidArgumentError(
                    f"{self.mapped.__name__}: the combined text can't be called {combined!r}: a column is called so."
                )
            for name in self._known(f"the template of {combined!r}", template.names):
                self._check_secret(name)

    def _check_secret(self, name: str) -> None:
        if name in self.sensitive:
            raise SensitiveFieldError(name, self.mapped.__name__, "embedded")


def _root_of(mapper: Mapper[Any]) -> Mapper[Any]:
    """Return the mapper at the root of the classes whose keys are told apart; a concrete class has its own."""
    while mapper.inherits is not None and not mapper.concrete:
        mapper = mapper.inherits
    return mapper


def declared_of(kind: type[Any]) -> Declared:
    """Return what a mapped class declares.

    Raises:
        ArgumentTypeError: it is not a class that SQLAlchemy maps.
        InvalidArgumentError, SensitiveFieldError: what it declares can't be used.
    """
    mapper = mapper_of(kind)
    declared = mapper.class_.__dict__.get("__ai_declared__")
    if declared is None:
        declared = Declared(kind, mapper)
        type.__setattr__(kind, "__ai_declared__", declared)
    found: Declared = declared
    return found


def mapper_of(kind: type[Any]) -> Mapper[Any]:
    """Return the mapper of a class.

    Raises:
        ArgumentTypeError: it has none.
    """
    try:
        mapper = inspected(kind)
    except NoInspectionAvailable:
        mapper = None
    if not isinstance(mapper, Mapper):
        told = kind.__name__ if isinstance(kind, type) else f"{type(kind).__name__} {kind!r:.80}"
        raise ArgumentTypeError(
            f"{told} is not a class with a table. Give a class mapped by SQLAlchemy, or a SQLModel with table=True."
        )
    return mapper


_registered: WeakSet[type[Any]] = WeakSet()


def check_when_mapped(mixin: type[Any]) -> None:
    """Check the declaration of each class with a mixin, and register it, as soon as it is mapped."""

    @event.listens_for(mixin, "after_mapper_constructed", propagate=True)
    def mapped(mapper: Mapper[Any], kind: type[Any]) -> None:
        declared_of(kind)
        for column in mapper.primary_key:
            if isinstance(column.type, (Numeric, Float, LargeBinary)):
                raise InvalidArgumentError(
                    f"{kind.__name__}.{column.name} is a key of the type {column.type!r}, which no text stands for "
                    "alike in Python and in every database. Give records a key of text, whole numbers, UUIDs or dates."
                )
        _registered.add(kind)


def registered() -> list[type[Any]]:
    """Return the mapped classes with the mixin that live."""
    return list(_registered)


def is_registered(kind: type[Any]) -> bool:
    """Tell whether a class has the mixin, and is mapped."""
    return kind in _registered


def _ai_of(mapped: type[Any]) -> AI:
    ai = getattr(mapped, "__ai__", None)
    if ai is None:
        return AI()
    if not isinstance(ai, AI):
        raise ArgumentTypeError(f"{mapped.__name__}.__ai__ must be an AI(...), not {type(ai).__name__} {ai!r:.80}.")
    return ai


def marked_in_pydantic(mapped: type[Any]) -> list[str]:
    """Return the fields of a SQLModel whose type is `Sensitive`: it takes no column from there."""
    fields: Mapping[str, Any] = getattr(mapped, "model_fields", {})
    # Of ``Sensitive[str] | None`` the mark stays in the type.
    marks = {name: (*getattr(told, "metadata", ()), *_within(told.annotation)) for name, told in fields.items()}
    return [name for name, found in marks.items() if any(map(_is_mark, found))]


def _within(annotation: Any) -> Iterator[object]:
    for part in get_args(annotation):
        yield from (part, *_within(part))


def _is_mark(mark: object) -> bool:
    return isinstance(mark, MappedColumn) and bool(mark.column.info.get(SENSITIVE))


Rule = Callable[[], Any]
"""What of a class can be seen now: returns a SQLAlchemy condition."""
