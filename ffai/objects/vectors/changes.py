"""What the changes of a flush mean for vectors, jobs and memories: written in the user's own transaction."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, event
from sqlalchemy import inspect as inspected
from sqlalchemy.orm import SessionTransaction

from ffai.objects.declaration import mapper_of
from ffai.objects.tables import Tables, telling_of_missing_tables
from ffai.objects.vectors.bulk import run_bulk
from ffai.objects.vectors.changed_rows import Changed, write_changes
from ffai.objects.vectors.kinds import Kinds
from ffai.objects.vectors.rows import connection_of

if TYPE_CHECKING:
    from sqlalchemy.orm import ORMExecuteState, Session, UOWTransaction


class Changes:
    """Keeps vectors, jobs and memories in step with records, as these are flushed.

    A changed text becomes a job, and a blank one has no vector any more. With a record go its vectors, jobs and
    memories. All of it is in the transaction of the change, so a rollback undoes it.

    Args:
        tables: where vectors, jobs and memories are.
        kinds: the classes that are looked after.
        on_commit: called after a transaction that wrote jobs was committed, and its connection given back.
        clock: gives the time, in seconds since the epoch.

    Examples:
        >>> from sqlalchemy.orm import sessionmaker
        >>> from ffai.objects.tables import Tables
        >>> from ffai.testing import FakeEmbedder
        >>> changes = Changes(Tables(), Kinds(list, lambda kind: FakeEmbedder()), lambda: print("there are jobs"))
        >>> Session = sessionmaker()
        >>> changes.watch(Session)
        >>> changes.unwatch(Session)
    """

    def __init__(
        self, tables: Tables, kinds: Kinds, on_commit: Callable[[], None], *, clock: Callable[[], float] = time.time
    ) -> None:
        self._tables, self._kinds, self._on_commit, self._clock = tables, kinds, on_commit, clock
        self._changed, self._wrote, self._committed = (f"ffai.{name}.{id(self)}" for name in ("flush", "jobs", "done"))

    def watch(self, target: Any) -> None:
        """Watch sessions.

        Args:
            target: a session, a `sessionmaker`, or a class of sessions; of an async session its ``sync_session`` or
                its ``sync_session_class``.
        """
        for name, listener in self._listeners():
            if not event.contains(target, name, listener):
                event.listen(target, name, listener)

    def unwatch(self, target: Any) -> None:
        """Watch them no more."""
        for name, listener in self._listeners():
            if event.contains(target, name, listener):
                event.remove(target, name, listener)

    def _listeners(self) -> list[tuple[str, Callable[..., Any]]]:
        return [
            ("after_flush", self._after_flush),
            ("persistent_to_deleted", self._deleted),
            ("after_flush_postexec", self._after_flush_postexec),
            ("do_orm_execute", self._bulk),
            ("after_commit", self._after_commit),
            ("after_transaction_end", self._after_transaction_end),
        ]

    def _after_flush(self, session: Session, _: UOWTransaction) -> None:
        """Note what changed, while that is known."""
        changes: dict[type[Any], Changed] = {}
        for records, note in ((session.new, _note_new), (session.dirty, _note_dirty)):
            for record in records:
                kind = type(record)
                if self._kinds.watches(kind):
                    note(changes.setdefault(kind, Changed(kind)), record)
        session.info[self._changed] = changes

    def _deleted(self, session: Session, record: object) -> None:
        """Note a record that is deleted: also those that go with another one."""
        changes = session.info.get(self._changed)
        if changes is not None and self._kinds.watches(type(record)):
            changes.setdefault(type(record), Changed(type(record))).deleted.append(tuple(inspected(record).identity))

    def _after_flush_postexec(self, session: Session, _: UOWTransaction) -> None:
        changes: dict[type[Any], Changed] = session.info.pop(self._changed, {})
        ordered = sorted((changed for changed in changes.values() if changed), key=lambda changed: changed.owner_type)
        for changed in ordered:
            connection = connection_of(session, changed.kind)
            jobs = self._kinds.generates(changed.kind)
            with telling_of_missing_tables():
                wrote = write_changes(connection, self._tables, changed, jobs, self._clock())
            if wrote:
                session.info[self._wrote] = True

    def _bulk(self, state: ORMExecuteState) -> Any:
        """Do the same for a statement that changes or deletes records without loading them."""
        mapper = state.bind_mapper
        if mapper is None or not (state.is_update or state.is_delete) or not self._kinds.watches(mapper.class_):
            return None
        kind = mapper.class_
        found = run_bulk(state, self._tables, kind, self._kinds.generates(kind), self._clock())
        if found is None:
            return None
        if found.wrote_jobs:
            state.session.info[self._wrote] = True
        return found.result

    def _after_commit(self, session: Session) -> None:
        if not session.in_nested_transaction() and session.info.pop(self._wrote, False):
            session.info[self._committed] = True

    def _after_transaction_end(self, session: Session, transaction: SessionTransaction) -> None:
        if transaction.parent is None:
            session.info.pop(self._wrote, None)
            if session.info.pop(self._committed, False) and not _is_within_another(session):
                self._on_commit()


def _is_within_another(session: Session) -> bool:
    """Tell whether a session that committed belongs to a connection whose transaction goes on: nothing is final yet."""
    return isinstance(session.bind, Connection) and session.bind.in_transaction()


def _note_new(changed: Changed, record: object) -> None:
    identity = tuple(mapper_of(type(record)).primary_key_from_instance(record))
    changed.new.append(identity)
    if changed.columns:
        changed.texts.append((identity, changed.columns, _in_hand(changed, record)))


def _note_dirty(changed: Changed, record: object) -> None:
    state = inspected(record)
    names = [name for name in changed.columns if state.attrs[name].history.has_changes()]
    before = tuple(state.identity)
    keys = [changed.mapper.get_property_by_column(column).key for column in changed.mapper.primary_key]
    now = tuple(state.dict.get(key, value) for key, value in zip(keys, before, strict=True))
    if now != before:
        changed.moved.append((before, now))
    if names:
        changed.texts.append((now, names, _in_hand(changed, record)))


def _in_hand(changed: Changed, record: object) -> dict[str, Any]:
    loaded = inspected(record).dict
    return {name: loaded[name] for name in changed.columns if name in loaded}
