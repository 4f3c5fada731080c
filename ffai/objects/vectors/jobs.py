"""The texts that wait for their vectors: rows that outlive the process, claimed by one worker at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, and_, bindparam, case, delete, func, or_, select, tuple_, update

from ffai.core.memory.backoff import (
    LONGEST_WAIT,
    MAX_TRIES,
    concerns_every_text,
    is_transient,
    wait_before_next,
)
from ffai.core.memory.halving import told
from ffai.objects.vectors.claims import LEASE, given_up
from ffai.objects.vectors.rows import Made, parts, put_vectors, upsert

if TYPE_CHECKING:
    from ffai.objects.tables import Tables

NEVER = 1e15
"""The time before which a job that failed is not tried: longer than anybody waits."""
LONGEST_ERROR = 500
"""Characters that are kept of an error."""

Key = tuple[str, str, str]
"""What a job is known by: owner's type, owner's id, field."""
_KEY = ("owner_type", "owner_id", "field")


@dataclass(frozen=True, slots=True)
class Job:
    """A text that waits for its vector."""

    owner_type: str
    owner_id: str
    field: str
    wanted_hash: str
    attempts: int

    @property
    def key(self) -> Key:
        """What it is known by."""
        return self.owner_type, self.owner_id, self.field


def add_jobs(connection: Connection, tables: Tables, wanted: Mapping[Key, str], now: float) -> None:
    """Note which texts are to be embedded, by their hashes; a job that wanted another text wants this one now."""
    rows = [
        {
            **dict(zip(_KEY, key, strict=True)),
            "wanted_hash": wanted_hash,
            "attempts": 0,
            "last_error": None,
            "not_before": 0.0,
            "claimed_by": None,
            "claimed_until": None,
            "created_at": now,
        }
        for key, wanted_hash in wanted.items()
    ]
    upsert(connection, tables.jobs, rows)


def claim(connection: Connection, tables: Tables, types: Sequence[str], name: str, limit: int, now: float) -> list[Job]:
    """Claim jobs that are due, and return them.

    Args:
        connection: within a transaction of its own.
        tables: where jobs are.
        types: what the owners are filed under.
        name: of the claim.
        limit: jobs at the most.
        now: the time.
    """
    found = _claim(connection, tables, types, name, limit, now)
    if not found and _free_given_up(connection, tables, types):
        found = _claim(connection, tables, types, name, limit, now)
    return found


def want_instead(connection: Connection, tables: Tables, wanted: Mapping[Key, str]) -> None:
    """Let claimed jobs want the texts there are now, which are others than when they were noted."""
    if wanted:
        jobs = tables.jobs
        change = update(jobs).where(*_is_this(tables)).values(wanted_hash=bindparam("_hash"))
        connection.execute(change, [{**_params(key), "_hash": wanted[key]} for key in sorted(wanted)])


def drop(connection: Connection, tables: Tables, keys: Iterable[Key]) -> None:
    """Delete jobs."""
    if rows := [_params(key) for key in sorted(keys)]:
        connection.execute(delete(tables.jobs).where(*_is_this(tables)), rows)


def finish(connection: Connection, tables: Tables, model: str, made: Mapping[Key, Made], now: float) -> list[Key]:
    """Write the vectors whose jobs still want that text, and delete these jobs; what is too late is thrown away.

    Args:
        connection: within a transaction of its own.
        tables: where jobs and vectors are.
        model: the vectors were made by.
        made: by job.
        now: the time.

    Returns:
        The jobs that are done.
    """
    locked = _locked(connection, tables, made)
    done = sorted(key for key, one in made.items() if key in locked and locked[key].wanted_hash == one.content_hash)
    by_type: dict[str, list[Made]] = defaultdict(list)
    for key in done:
        by_type[key[0]].append(made[key])
    for owner_type, some in by_type.items():
        put_vectors(connection, tables, owner_type, model, some, now)
    drop(connection, tables, done)
    return done


def fail(connection: Connection, tables: Tables, errors: Mapping[Key, tuple[Job, Exception]], now: float) -> None:
    """Note why jobs failed, and when they are tried again: never, where that is in vain."""
    locked = _locked(connection, tables, errors)
    rows = []
    for key, (job, error) in sorted(errors.items()):
        if key in locked and locked[key].wanted_hash == job.wanted_hash:
            again = {"_attempts": job.attempts + 1, "_not_before": _again_at(error, job.attempts + 1, now)}
            rows.append({**_params(key), **again, "_error": told(error)[:LONGEST_ERROR]})
    if rows:
        change = update(tables.jobs).where(*_is_this(tables))
        values: dict[str, Any] = {"attempts": bindparam("_attempts"), "not_before": bindparam("_not_before")}
        free: dict[str, Any] = {"claimed_by": None, "claimed_until": None}
        connection.execute(change.values(last_error=bindparam("_error"), **values, **free), rows)


def retry_failed(connection: Connection, tables: Tables, types: Sequence[str]) -> int:
    """Make jobs due that failed or wait for their next try; return how many."""
    jobs = tables.jobs
    waits = jobs.c.owner_type.in_(types), jobs.c.not_before > 0, jobs.c.claimed_by.is_(None)
    return connection.execute(update(jobs).where(*waits).values(attempts=0, not_before=0.0)).rowcount


def next_due(connection: Connection, tables: Tables, types: Sequence[str]) -> float | None:
    """Return when there is something to do again; ``None`` where there is nothing."""
    jobs = tables.jobs
    when = case((jobs.c.claimed_by.is_(None), jobs.c.not_before), else_=jobs.c.claimed_until)
    found: float | None = connection.scalar(
        select(func.min(when)).where(jobs.c.owner_type.in_(types), jobs.c.not_before < NEVER)
    )
    return found


def counted(connection: Connection, tables: Tables, types: Sequence[str]) -> tuple[int, int]:
    """Return how many jobs wait, and how many of them failed so far."""
    jobs = tables.jobs
    failed = func.count(case((jobs.c.attempts > 0, 1)))
    row = connection.execute(select(func.count(), failed).where(jobs.c.owner_type.in_(types))).one()
    return int(row[0]), int(row[1])


def _claim(
    connection: Connection, tables: Tables, types: Sequence[str], name: str, limit: int, now: float
) -> list[Job]:
    jobs = tables.jobs
    columns = [jobs.c[column] for column in (*_KEY, "wanted_hash", "attempts")]
    key = [jobs.c[column] for column in _KEY]
    free_now = or_(jobs.c.claimed_by.is_(None), jobs.c.claimed_until < now)
    due = and_(jobs.c.owner_type.in_(types), jobs.c.not_before <= now, free_now)
    mine = {"claimed_by": name, "claimed_until": now + LEASE}
    if connection.dialect.name == "sqlite" and connection.dialect.update_returning:
        # one statement: it takes the lock before it looks, so that no two find the same jobs
        first = select(*key).where(due).order_by(jobs.c.not_before).limit(limit)
        rows = connection.execute(update(jobs).where(tuple_(*key).in_(first)).values(mine).returning(*columns)).all()
    else:
        look = select(*columns).where(due).order_by(jobs.c.not_before).limit(limit)
        rows = connection.execute(look.with_for_update(skip_locked=True)).all()
        if rows:
            change = update(jobs).where(*_is_this(tables)).values(mine)
            connection.execute(change, [_params(tuple(row[:3])) for row in rows])
    return [Job(*row) for row in rows]


def _free_given_up(connection: Connection, tables: Tables, types: Sequence[str]) -> int:
    jobs = tables.jobs
    claimed = jobs.c.owner_type.in_(types), jobs.c.claimed_by.is_not(None)
    names = connection.scalars(select(jobs.c.claimed_by).where(*claimed).distinct()).all()
    gone = [name for name in names if given_up(name)]
    if not gone:
        return 0
    theirs = select(*(jobs.c[column] for column in (*_KEY, "claimed_by"))).where(*claimed, jobs.c.claimed_by.in_(gone))
    found = connection.execute(theirs.with_for_update(skip_locked=True)).all()
    rows = [{**_params(tuple(row[:3])), "_claimed_by": row.claimed_by} for row in found]
    if rows:
        # the name is one of the row's own: a list of names can't be in a statement that is run for many rows
        change = update(jobs).where(*_is_this(tables), jobs.c.claimed_by == bindparam("_claimed_by"))
        connection.execute(change.values(claimed_by=None, claimed_until=None), rows)
    return len(rows)


def _locked(connection: Connection, tables: Tables, keys: Iterable[Key]) -> dict[Key, Job]:
    """Return the jobs as they are now, and let nobody change them before the end of the transaction.

    Those that somebody is changing at the moment are left out.
    """
    jobs = tables.jobs
    by_type: dict[str, list[str]] = defaultdict(list)
    for owner_type, owner_id, _ in keys:
        by_type[owner_type].append(owner_id)
    found: dict[Key, Job] = {}
    columns = [jobs.c[column] for column in (*_KEY, "wanted_hash", "attempts")]
    for owner_type, ids in sorted(by_type.items()):
        for some in parts(sorted(set(ids))):
            these = jobs.c.owner_type == owner_type, jobs.c.owner_id.in_(some)
            if connection.dialect.name == "sqlite":  # it locks by writing
                connection.execute(update(jobs).where(*these).values(claimed_until=jobs.c.claimed_until))
            rows = connection.execute(select(*columns).where(*these).with_for_update(skip_locked=True))
            found |= {job.key: job for job in (Job(*row) for row in rows)}
    return found


def _again_at(error: Exception, attempts: int, now: float) -> float:
    for_all = concerns_every_text(error)  # not the text's fault, so it is not given up for that
    if not for_all and (attempts >= MAX_TRIES or not is_transient(error)):
        return NEVER
    return now + min(wait_before_next(error, min(attempts, 10)), LONGEST_WAIT)


def _is_this(tables: Tables) -> list[Any]:
    return [tables.jobs.c[column] == bindparam(f"_{column}") for column in _KEY]


def _params(key: Sequence[str]) -> dict[str, str]:
    return {f"_{column}": value for column, value in zip(_KEY, key, strict=True)}
