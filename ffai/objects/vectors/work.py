"""One round of work: jobs are claimed, their texts read and embedded, and the vectors written."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ffai.chat.flow import Flow
from ffai.objects.steps import InDatabase, Step, given
from ffai.objects.tables import Tables
from ffai.objects.vectors.claims import claiming
from ffai.objects.vectors.embedding import Space, hash_of
from ffai.objects.vectors.jobs import (
    Job,
    Key,
    claim,
    counted,
    drop,
    fail,
    finish,
    next_due,
    retry_failed,
    want_instead,
)
from ffai.objects.vectors.kinds import Handled, Kinds
from ffai.objects.vectors.record_texts import texts_in
from ffai.objects.vectors.refusals import Outcome, embedded_or_refused
from ffai.objects.vectors.rows import Made, connection_of, delete_of, hashes_of

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.orm import Session

    from ffai.core.embeddings.protocol import Embedder


@dataclass(frozen=True, slots=True)
class Round:
    """What one round did."""

    claimed: int = 0
    """Jobs it took on; 0 where none was due."""
    done: int = 0
    """Jobs whose vectors are there now, or whose record wants none any more."""
    failed: int = 0
    next_at: float | None = None
    """When there is something to do again, seconds since the epoch; ``None`` where that is not known."""


@dataclass(slots=True)
class _Taken:
    claimed: int = 0
    settled: int = 0
    next_at: float | None = None
    texts: dict[str, list[tuple[Job, str]]] = field(default_factory=dict)
    """Owner's type to the jobs and their texts."""


class Work:
    """The work of one store.

    Args:
        kinds: the classes; the jobs of others are left alone.
        tables: where jobs and vectors are.
        batch_size: texts that go to a model at once.
        clock: gives the time, in seconds since the epoch.
    """

    def __init__(
        self, kinds: Kinds, tables: Tables, *, batch_size: int = 32, clock: Callable[[], float] = time.time
    ) -> None:
        self.kinds, self.tables, self.batch_size, self.clock = kinds, tables, batch_size, clock

    def round_flow(self) -> Flow[Step, Round]:
        """Make a flow that does one round of work; see `work_flow`."""
        return work_flow(self.kinds, self.tables, batch_size=self.batch_size, clock=self.clock)

    def count_flow(self) -> Flow[Step, tuple[int, int]]:
        """Make a flow that counts the jobs there are, and those of them that failed so far."""
        handled = self.kinds.embedded()
        if not handled:
            return 0, 0
        any_kind = next(iter(handled.values())).kind

        def count(session: Session) -> tuple[int, int]:
            return counted(connection_of(session, any_kind), self.tables, list(handled))

        counts: tuple[int, int] = yield from given(InDatabase(count))
        return counts

    def retry_flow(self) -> Flow[Step, int]:
        """Make a flow that makes the jobs due that failed, or wait for their next try; returns how many."""
        handled = self.kinds.embedded()
        if not handled:
            return 0
        any_kind = next(iter(handled.values())).kind

        def retry(session: Session) -> int:
            return retry_failed(connection_of(session, any_kind), self.tables, list(handled))

        count: int = yield from given(InDatabase(retry))
        return count


def work_flow(
    kinds: Kinds, tables: Tables, *, batch_size: int = 32, clock: Callable[[], float] = time.time
) -> Flow[Step, Round]:
    """Make a flow that does one round of work.

    Args:
        kinds: the classes; the jobs of others are left alone.
        tables: where jobs and vectors are.
        batch_size: texts that go to a model at once.
        clock: gives the time, in seconds since the epoch.
    """
    handled = kinds.embedded()
    if not handled:
        return Round()
    with claiming() as name:
        taken: _Taken = yield from given(
            InDatabase(lambda session: _take(session, handled, tables, name, batch_size, clock()))
        )
        done = failed = 0
        for embedder, jobs in _by_embedder(taken, handled):
            anew = any(job.attempts for job, _ in jobs)
            outcomes = yield from embedded_or_refused(embedder, [text for _, text in jobs], split_outages=anew)
            counts = yield from given(_Batch(embedder, jobs, outcomes).written(tables, clock()))
            done, failed = done + counts[0], failed + counts[1]
        return Round(taken.claimed, taken.settled + done, failed, taken.next_at)


def _take(session: Session, handled: dict[str, Handled], tables: Tables, name: str, limit: int, now: float) -> _Taken:
    first = next(iter(handled.values()))
    connection = connection_of(session, first.kind)
    jobs = claim(connection, tables, list(handled), name, limit, now)
    if not jobs:
        return _Taken(next_at=next_due(connection, tables, list(handled)))
    taken = _Taken(claimed=len(jobs))
    for owner_type in sorted({job.owner_type for job in jobs}):
        mine = [job for job in jobs if job.owner_type == owner_type]
        todo = _todo(connection, tables, handled[owner_type], mine)
        taken.texts[owner_type] = todo
        taken.settled += len(mine) - len(todo)
    return taken


def _todo(connection: Connection, tables: Tables, handled: Handled, jobs: list[Job]) -> list[tuple[Job, str]]:
    """Return the jobs that want a vector, with the texts there are now; settle those that want none."""
    owner_type = jobs[0].owner_type
    ids = {job.owner_id for job in jobs}
    texts = texts_in(connection, handled.kind, ids)
    hashes = hashes_of(connection, tables, owner_type, ids, Space.of(handled.embedder))
    todo, settled, changed = [], [], {}
    for job in jobs:
        text = texts.get(job.owner_id, {}).get(job.field)
        if text is None:
            delete_of(connection, tables.vectors, owner_type, [job.owner_id], job.field)
            settled.append(job.key)
            continue
        wanted = hash_of(text)
        if hashes.get((job.owner_id, job.field)) == wanted:
            settled.append(job.key)
            continue
        if wanted != job.wanted_hash:
            changed[job.key] = wanted
        todo.append((Job(*job.key, wanted, job.attempts), text))
    drop(connection, tables, settled)
    want_instead(connection, tables, changed)
    return todo


def _by_embedder(taken: _Taken, handled: dict[str, Handled]) -> list[tuple[Embedder, list[tuple[Job, str]]]]:
    groups: dict[int, tuple[Embedder, list[tuple[Job, str]]]] = {}
    for owner_type, jobs in taken.texts.items():
        if jobs:
            embedder = handled[owner_type].embedder
            groups.setdefault(id(embedder), (embedder, []))[1].extend(jobs)
    return list(groups.values())


@dataclass(frozen=True, slots=True)
class _Batch:
    embedder: Embedder
    jobs: list[tuple[Job, str]]
    outcomes: dict[str, Outcome]

    def written(self, tables: Tables, now: float) -> InDatabase:
        """Return the step that writes what came of the jobs; it gives how many are done, and how many failed."""
        return InDatabase(lambda session: self._put(session, tables, now))

    def _put(self, session: Session, tables: Tables, now: float) -> tuple[int, int]:
        made: dict[Key, Made] = {}
        errors: dict[Key, tuple[Job, Exception]] = {}
        for job, text in self.jobs:
            outcome = self.outcomes[text]
            if isinstance(outcome, Exception):
                errors[job.key] = job, outcome
            else:
                made[job.key] = Made(job.owner_id, job.field, job.wanted_hash, outcome)
        connection = session.connection()
        done = finish(connection, tables, Space.of(self.embedder).model, made, now)
        fail(connection, tables, errors, now)
        return len(done), len(errors)
