"""The vectors of one record: made when asked, looked at, told stale, cleared."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, select

from ffai.chat.flow import Flow
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.objects.declaration import Declared, declared_of, mapper_of
from ffai.objects.owner import Owner, owner_of
from ffai.objects.steps import InDatabase, Step, WithRecord, given
from ffai.objects.tables import Tables, as_floats
from ffai.objects.vectors.embedding import Space, columns_embedded, embedded, hash_of, texts_of
from ffai.objects.vectors.record_texts import Texts, texts_in
from ffai.objects.vectors.rows import (
    Made,
    connection_of,
    delete_jobs_met,
    delete_of,
    hashes_of,
    put_vectors,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.orm import Session

    from ffai.core.embeddings.protocol import Embedder


class Rules(Protocol):
    """What of a class can be seen now."""

    def condition(self, kind: type[Any]) -> list[ColumnElement[bool]]:
        """Return the conditions."""
        ...


class Generation:
    """Makes and keeps the vectors of the records of a class.

    Args:
        kind: the class.
        embedder: what embeds its texts.
        tables: where vectors are.
        tenancy: what of the class can be seen; everything if it is left out.
        clock: gives the time, in seconds since the epoch.

    Raises:
        InvalidArgumentError: the class declares no embedded fields.

    Examples:
        >>> from sqlalchemy import Integer, Text, create_engine
        >>> from sqlalchemy.orm import DeclarativeBase, Session, mapped_column
        >>> from ffai.objects.declaration import AI, Embedded
        >>> from ffai.objects.steps import Place
        >>> from ffai.testing import FakeEmbedder
        >>> class Base(DeclarativeBase): pass
        >>> class Note(Base):
        ...     __tablename__, __ai__ = "notes", AI(embedded=Embedded("text"))
        ...     id = mapped_column(Integer, primary_key=True)
        ...     text = mapped_column(Text)
        >>> engine, tables = create_engine("sqlite://"), Tables()
        >>> Base.metadata.create_all(engine)
        >>> tables.metadata.create_all(engine)
        >>> generation, session = Generation(Note, FakeEmbedder(2), tables), Session(engine)
        >>> note, place = Note(text="The key is under the mat."), Place(engine, session)
        >>> session.add(note)
        >>> place.run(generation.generate_flow(note)), place.run(generation.generate_flow(note))
        (1, 0)
        >>> place.run(generation.stale_flow(note))
        False
        >>> place.run(generation.vector_flow(note, "text")).shape
        (2,)
        >>> place.run(generation.clear_flow(note))
        1
        >>> session.close()
    """

    def __init__(
        self,
        kind: type[Any],
        embedder: Embedder,
        tables: Tables,
        tenancy: Rules | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.kind, self.embedder, self.tables, self.tenancy, self.clock = kind, embedder, tables, tenancy, clock
        self.declared = declared_of(kind)
        self.names = self.declared.embedded.names

    @property
    def space(self) -> Space:
        """What the vectors made now can be compared with."""
        return Space.of(self.embedder)

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return what of the class can be seen now."""
        return [] if self.tenancy is None else self.tenancy.condition(self.kind)

    def generate_flow(
        self, record: object, *, fields: Iterable[str] | None = None, force: bool = False
    ) -> Flow[Step, int]:
        """Make a flow that makes the vectors a record lacks, in one call of the model; those of blank fields go.

        Args:
            record: its texts are taken as they are in this object.
            fields: names of embedded fields; all if it is left out.
            force: also make those that are there, of the same text.

        Returns:
            How many vectors were written. A text that somebody else changed meanwhile is not among them.

        Raises:
            InvalidArgumentError: a field is not embedded, or there is no such record in the database.
            SensitiveFieldError: a field is secret.
            EmbeddingError: the model failed; nothing is written.
        """
        declared = self._declared(record)
        names = self._checked(declared, fields)
        wanted = yield from self._texts(record)
        before, hashes = yield from given(InDatabase(lambda session: self._looked_up(session, record, wanted.owner)))
        todo = {
            name: text
            for name in names
            if (text := wanted.texts[name]) is not None and (force or hashes.get(name) != hash_of(text))
        }
        rows = (yield from embedded(self.embedder, list(todo.values()))) if todo else ()
        owner_id = wanted.owner.id
        made = [Made(owner_id, name, hash_of(text), row) for (name, text), row in zip(todo.items(), rows, strict=True)]
        blank = [name for name in names if wanted.texts[name] is None]
        if not made and not blank:
            return 0
        work = InDatabase(lambda session: self._write(session, made, blank, {owner_id: before}))
        written: int = yield from given(work)
        return written

    def stale_flow(self, record: object) -> Flow[Step, bool]:
        """Make a flow that tells whether a vector is missing, is of another text, or is of a text that is blank now."""
        self._declared(record)
        wanted = yield from self._texts(record)

        def look(session: Session) -> dict[tuple[str, str], str]:
            return hashes_of(self._seen(session, record), self.tables, *_of(wanted.owner), self.space)

        hashes = yield from given(InDatabase(look))
        return any(
            hashes.get((wanted.owner.id, name)) != (None if text is None else hash_of(text))
            for name, text in wanted.texts.items()
        )

    def vector_flow(
        self, record: object, field: str | None = None, *, model: str | None = None
    ) -> Flow[Step, NDArray[np.float32] | None]:
        """Make a flow that returns a stored vector, shape ``(dim,)``; ``None`` where there is none, or it is damaged.

        Args:
            record: whose.
            field: an embedded field or a combined text; ``None`` for the first.
            model: the model it was made by; that of the embedder if it is left out.
        """
        field = self._declared(record).check_field(field)
        space = self.space if model is None else Space(model)

        def look(session: Session) -> Any:
            connection, vectors = self._seen(session, record), self.tables.vectors
            owner = owner_of(record, connection.dialect)
            mine = vectors.c.owner_type == owner.type, vectors.c.owner_id == owner.id, vectors.c.field == field
            return connection.scalar(
                select(vectors.c.vector)
                .where(*mine, *space.within(vectors))
                .order_by(vectors.c.updated_at.desc())
                .limit(1)
            )

        found = yield from given(InDatabase(look))
        return None if found is None else as_floats(found)

    def clear_flow(self, record: object) -> Flow[Step, int]:
        """Make a flow that deletes all vectors of a record, of every model, and its jobs; returns how many vectors."""
        self._declared(record)

        def clear(session: Session) -> int:
            connection = self._seen(session, record)
            owner_type, ids = _of(owner_of(record, connection.dialect))
            delete_of(connection, self.tables.jobs, owner_type, ids)
            return delete_of(connection, self.tables.vectors, owner_type, ids)

        cleared: int = yield from given(InDatabase(clear))
        return cleared

    def write(
        self,
        connection: Connection,
        made: list[Made],
        before: Mapping[str, Texts],
        conditions: Iterable[ColumnElement[bool]] = (),
    ) -> int:
        """Write vectors, but not of a text that changed since it was read, nor of a record that is gone.

        Args:
            connection: within a transaction.
            made: the vectors.
            before: the texts in the database before they were embedded, by the record's key.
            conditions: what of the class can be seen.

        Returns:
            How many were written.
        """
        owner_type = self.declared.owner_type
        delete_jobs_met(connection, self.tables, owner_type, made)  # first: from here on SQLite lets nobody else write
        now = texts_in(connection, self.kind, before, tuple(conditions))
        sound = [
            one
            for one in made
            if one.owner_id in now and now[one.owner_id].get(one.field) == before[one.owner_id].get(one.field)
        ]
        put_vectors(connection, self.tables, owner_type, self.space.model, sound, self.clock())
        return len(sound)

    def delete_blank(self, connection: Connection, owner_id: str, names: Iterable[str]) -> None:
        """Delete the vectors and jobs of fields whose text is blank."""
        for name in names:
            for table in (self.tables.jobs, self.tables.vectors):
                delete_of(connection, table, self.declared.owner_type, [owner_id], name)

    def _declared(self, record: object) -> Declared:
        if not isinstance(record, self.kind):
            raise ArgumentTypeError(f"This must be a {self.kind.__name__}, not {type(record).__name__} {record!r:.80}.")
        return declared_of(type(record))

    def _checked(self, declared: Declared, fields: Iterable[str] | None) -> list[str]:
        if isinstance(fields, str):
            raise ArgumentTypeError(f"fields must be several names, not the text {fields!r:.80}.")
        return [
            declared.check_field(name) for name in dict.fromkeys(declared.embedded.names if fields is None else fields)
        ]

    def _texts(self, record: object) -> Flow[Step, _Wanted]:
        """Make a flow that reads the texts of the record in hand, which has its key by then."""
        dialect = yield from given(InDatabase(lambda session: session.get_bind(mapper_of(type(record))).dialect))

        def read() -> _Wanted:
            declared = declared_of(type(record))
            values = {name: getattr(record, name) for name in columns_embedded(declared)}
            return _Wanted(owner_of(record, dialect), texts_of(declared, values))

        wanted: _Wanted = yield from given(WithRecord(record, read))
        return wanted

    def _looked_up(self, session: Session, record: object, owner: Owner) -> tuple[Texts, dict[str, str]]:
        connection = connection_of(session, self.kind)
        stored = texts_in(connection, type(record), [owner.id], self.conditions())
        if owner.id not in stored:
            raise self._unknown(owner)
        hashes = hashes_of(connection, self.tables, *_of(owner), self.space)
        return stored[owner.id], {name: found for (_, name), found in hashes.items()}

    def _write(self, session: Session, made: list[Made], blank: list[str], before: Mapping[str, Texts]) -> int:
        connection = connection_of(session, self.kind)
        written = self.write(connection, made, before)
        for owner_id in before:
            self.delete_blank(connection, owner_id, blank)
        return written

    def _seen(self, session: Session, record: object) -> Connection:
        """Return the connection to the database, if the record can be seen."""
        connection, conditions = connection_of(session, self.kind), self.conditions()
        if conditions:
            owner = owner_of(record, connection.dialect)
            if owner.id not in texts_in(connection, type(record), [owner.id], conditions):
                raise self._unknown(owner)
        return connection

    def _unknown(self, owner: Owner) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"There is no {self.kind.__name__} {owner.id!r:.80} in the database. Commit it first, or bind the session "
            "it is in."
        )


@dataclass(frozen=True, slots=True)
class _Wanted:
    owner: Owner
    texts: dict[str, str | None]


def _of(owner: Owner) -> tuple[str, list[str]]:
    return owner.type, [owner.id]
