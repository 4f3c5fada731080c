"""The vectors that records of a class lack: made page by page, with as few calls of the model as there are pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ColumnElement, delete, func, literal, select, tuple_
from sqlalchemy import text as sql

from ffai.chat.flow import Flow
from ffai.core.arguments import check_whole
from ffai.core.memory.backoff import concerns_every_text
from ffai.core.memory.halving import told
from ffai.objects.owner import key_column
from ffai.objects.steps import InDatabase, Step, given
from ffai.objects.vectors.embedding import hash_of
from ffai.objects.vectors.generation import Generation
from ffai.objects.vectors.progress import OnProgress, Progress, shown_by
from ffai.objects.vectors.record_texts import Texts, key_attributes, texts_in, topmost
from ffai.objects.vectors.refusals import Outcome, embedded_or_refused
from ffai.objects.vectors.rows import Made, connection_of, hashes_of

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.orm import Session

MOST_ERRORS = 10
"""Errors that are told of."""


class RecordError(NamedTuple):
    """Why a record got no vector."""

    id: str
    message: str


@dataclass(frozen=True, slots=True)
class Backfill:
    """What a backfill did.

    Examples:
        >>> Backfill(generated=9, failed=1, errors=(RecordError("7", "ValueError: too long"),)).errors[0].id
        '7'
    """

    generated: int = 0
    """Records that got vectors."""
    skipped: int = 0
    """Records that had all of theirs."""
    failed: int = 0
    """Records of which a text was refused."""
    errors: tuple[RecordError, ...] = ()
    """Why, of the first of them."""


def backfill_flow(
    generation: Generation, *, batch_size: int = 50, on_progress: OnProgress | None = None
) -> Flow[Step, Backfill]:
    """Make a flow that makes the vectors that records lack, or that are of other texts; those of blank fields go.

    What is written stays written, so a backfill that was stopped goes on where it was. Vectors and jobs of records
    that are gone are deleted.

    Args:
        generation: of the class; it tells which records can be seen.
        batch_size: records in a page: their texts go to the model in one call, each different one once.
        on_progress: told of each record, after its page is written; what it raises ends the backfill. If it is left
            out, a bar is drawn where the standard error is a terminal.

    Raises:
        EmbeddingError, ConnectionError: no text can be embedded: no key, no model, no network.
    """
    check_whole("batch_size", batch_size, least=1)
    tell = shown_by(on_progress, generation.kind.__name__)
    pages, tally = _Pages(generation, batch_size), _Tally()
    total: int = yield from given(InDatabase(pages.begin))
    while True:
        page: _Page = yield from given(InDatabase(pages.next))
        if not page.keys:
            if tally.generated:
                yield from given(InDatabase(lambda session: _count_anew(connection_of(session, generation.kind))))
            return tally.result()
        outcomes = yield from embedded_or_refused(generation.embedder, page.wanted(), split_outages=True)
        if page.todo or page.blank:
            yield from given(page.written(generation, outcomes))
        for key in page.keys:
            tally.count(key, page.todo.get(key, {}), outcomes)
            tell(Progress(tally.completed, max(total, tally.completed)))
        for outcome in outcomes.values():
            if isinstance(outcome, Exception) and concerns_every_text(outcome):
                raise outcome


def _count_anew(connection: Connection) -> None:
    """Let Postgres look at the vectors now, and not in a minute.

    Until then it takes them for a few: measured, a search with a filter among 20,000 took 1.6 s, and then 10 ms.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sql("ANALYZE ai_vectors"))


def delete_orphans(connection: Connection, generation: Generation) -> None:
    """Delete vectors and jobs of records that are gone."""
    kind = topmost(generation.kind)
    present = select(key_column(kind)).select_from(kind)
    for table in (generation.tables.jobs, generation.tables.vectors):
        mine = table.c.owner_type == generation.declared.owner_type
        connection.execute(delete(table).where(mine, table.c.owner_id.not_in(present)))


@dataclass(slots=True)
class _Page:
    keys: list[str] = field(default_factory=list)
    texts: dict[str, Texts] = field(default_factory=dict)
    todo: dict[str, dict[str, str]] = field(default_factory=dict)
    """Key to the fields that lack a vector, and their texts."""
    blank: list[tuple[str, str]] = field(default_factory=list)
    """Keys and fields whose vectors are of no text any more."""

    def wanted(self) -> list[str]:
        """Return the texts that are to be embedded."""
        return [text for fields in self.todo.values() for text in fields.values()]

    def written(self, generation: Generation, outcomes: Mapping[str, Outcome]) -> InDatabase:
        """Return the step that writes what came of the page."""
        return InDatabase(lambda session: self._write(connection_of(session, generation.kind), generation, outcomes))

    def _write(self, connection: Connection, generation: Generation, outcomes: Mapping[str, Outcome]) -> None:
        made = [
            Made(key, name, hash_of(text), outcome)
            for key, fields in self.todo.items()
            for name, text in fields.items()
            if not isinstance(outcome := outcomes[text], Exception)
        ]
        generation.write(connection, made, {key: self.texts[key] for key in self.todo})
        for key, name in self.blank:
            generation.delete_blank(connection, key, [name])


class _Pages:
    """Reads records by their keys, each time those after the last one: none is missed when others vanish."""

    def __init__(self, generation: Generation, size: int) -> None:
        self._generation, self._size = generation, size
        self._key = key_attributes(generation.kind)
        self._last: tuple[Any, ...] | None = None

    def begin(self, session: Session) -> int:
        """Delete what belongs to nobody, and return how many records there are."""
        kind = self._generation.kind
        connection = connection_of(session, kind)
        delete_orphans(connection, self._generation)
        counting = select(func.count()).select_from(kind).where(*self._generation.conditions())
        return int(connection.scalar(counting) or 0)

    def next(self, session: Session) -> _Page:
        """Return the next page; an empty one at the end."""
        generation, kind = self._generation, self._generation.kind
        connection, conditions = connection_of(session, kind), generation.conditions()
        asked = select(key_column(kind), *self._key).select_from(kind).where(*conditions)
        if self._last is not None:
            asked = asked.where(self._after(self._last))
        rows = connection.execute(asked.order_by(*self._key).limit(self._size)).all()
        if not rows:
            return _Page()
        self._last = tuple(rows[-1])[1:]
        keys = [row[0] for row in rows]
        return self._page(connection, keys)

    def _page(self, connection: Connection, keys: list[str]) -> _Page:
        generation = self._generation
        page = _Page(keys, texts_in(connection, generation.kind, keys))
        hashes = hashes_of(connection, generation.tables, generation.declared.owner_type, keys, generation.space)
        for key in keys:
            for name, text in page.texts.get(key, {}).items():
                stored = hashes.get((key, name))
                if text is None and stored is not None:
                    page.blank.append((key, name))
                elif text is not None and stored != hash_of(text):
                    page.todo.setdefault(key, {})[name] = text
        return page

    def _after(self, last: tuple[Any, ...]) -> ColumnElement[bool]:
        # with the types of their columns: a plain tuple of values has none, and no value is True or NULL by itself
        values = [literal(value, column.type) for value, column in zip(last, self._key, strict=True)]
        return self._key[0] > values[0] if len(values) == 1 else tuple_(*self._key) > tuple_(*values)


@dataclass(slots=True)
class _Tally:
    generated: int = 0
    skipped: int = 0
    failed: int = 0
    errors: list[RecordError] = field(default_factory=list)

    @property
    def completed(self) -> int:
        return self.generated + self.skipped + self.failed

    def count(self, key: str, todo: Mapping[str, str], outcomes: Mapping[str, Outcome]) -> None:
        refused = [outcome for text in todo.values() if isinstance(outcome := outcomes[text], Exception)]
        if refused:
            self.failed += 1
            if len(self.errors) < MOST_ERRORS:
                self.errors.append(RecordError(key, told(refused[0])))
        elif todo:
            self.generated += 1
        else:
            self.skipped += 1

    def result(self) -> Backfill:
        return Backfill(self.generated, self.skipped, self.failed, tuple(self.errors))
