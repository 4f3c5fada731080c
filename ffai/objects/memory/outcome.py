"""What became of using a memory, and how it is written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Table, and_, true
from sqlalchemy.orm import Session

from ffai.core.arguments import check_flag, check_number, check_str
from ffai.errors import InvalidArgumentError
from ffai.objects.memory import rows as memory_rows
from ffai.objects.memory.confidence import Confidence
from ffai.objects.memory.entry import MemoryEntry, as_json, read_entries, read_json
from ffai.objects.memory.options import Expiry
from ffai.objects.memory.rows import Spot
from ffai.objects.owner import Owner

LAST_ERROR = "last_error"
"""The key in the metadata of a memory that says what went wrong last."""

_TRIES = 100


class Reporting(Expiry, total=False):
    """What became of using a memory, and what is written with it."""

    success: bool | None
    """Whether it went well; or a score."""
    score: float | None
    """It went well where this is above the threshold."""
    threshold: float
    """0 by default."""
    metadata: Mapping[str, Any] | None
    """Added to what is there."""
    error: str | BaseException | None
    """What went wrong; kept in the metadata as ``last_error``."""


def check_outcome(success: bool | None, score: float | None, threshold: float) -> bool:
    """Return whether an outcome was good.

    Args:
        success: whether it was; or ``None``, and a score.
        score: counts as a success above the threshold.
        threshold: likewise.

    Raises:
        ArgumentTypeError: one of them is of another type.
        InvalidArgumentError: both or neither of ``success`` and ``score`` are given, or one is NaN.

    Examples:
        >>> check_outcome(None, 0.2, 0.5), check_outcome(True, None, 0.0)
        (False, True)
    """
    if (success is None) == (score is None):
        raise InvalidArgumentError("Say how it went: success=True or False, or score=a number; one of the two.")
    if score is not None:
        return check_number("score", score) > check_number("threshold", threshold)
    check_flag("success", success)
    return bool(success)


def check_error(error: object) -> str | None:
    """Return what went wrong as text.

    Raises:
        ArgumentTypeError: it is neither text nor an exception.

    Examples:
        >>> check_error(TimeoutError("no answer"))
        'TimeoutError: no answer'
    """
    if error is None:
        return None
    if isinstance(error, BaseException):
        return f"{type(error).__name__}: {error}"
    check_str("error", error)
    return str(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of using a memory.

    Examples:
        >>> Outcome(success=False, at=5.0, metadata={LAST_ERROR: "nothing matched"}).written
        {}
    """

    success: bool
    at: float
    """When, in seconds since the epoch."""
    written: Mapping[str, Any] = field(default_factory=dict)
    """Columns that are written too: the value and the expiry, where they were given."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What is added to the metadata."""


def write_outcome(
    session: Session, table: Table, owner: Owner, spot: Spot, outcome: Outcome, confidence: Confidence
) -> MemoryEntry | None:
    """Write an outcome down; return the memory as it is then, or ``None`` where there is none and no value for one.

    The first statement writes, and so waits for its turn: captures of one memory follow each other, on SQLite by the
    lock of the file and on Postgres by that of the row. What is read after it nobody else changes.
    """
    seed = memory_rows.new_row(
        owner,
        spot,
        outcome.at,
        {
            **outcome.written,
            **({"metadata": as_json("metadata", dict(outcome.metadata))} if outcome.metadata else {}),
            "confidence": confidence.first(success=outcome.success),
            "success_count": int(outcome.success),
            "failure_count": int(not outcome.success),
            "last_used_at": outcome.at,
            "last_outcome_at": outcome.at,
        },
    )
    for _ in range(_TRIES):
        if outcome.written and memory_rows.renew(session, table, owner, spot, seed, outcome.at):
            break
        if _count(session, table, owner, spot, outcome):
            _move(session, table, owner, spot, outcome, confidence)
            break
        if "value" not in outcome.written:
            return None
        if memory_rows.add(session, table, seed):  # else another came first, and this is no longer the first outcome
            break
    return next(iter(read_entries(memory_rows.rows(session, table, memory_rows.at(table, owner, spot)))), None)


def _count(session: Session, table: Table, owner: Owner, spot: Spot, outcome: Outcome) -> bool:
    column = table.c.success_count if outcome.success else table.c.failure_count
    living = and_(memory_rows.at(table, owner, spot), memory_rows.alive(table, outcome.at))
    return memory_rows.change(session, table, living, {column.name: column + 1}) > 0


def _move(session: Session, table: Table, owner: Owner, spot: Spot, outcome: Outcome, confidence: Confidence) -> None:
    """Move the confidence from where it is. Tasks that share one connection share its lock: of two that read the same
    confidence, one is seen to come second, and reads again.
    """
    here = memory_rows.at(table, owner, spot)
    for tries_left in reversed(range(_TRIES)):
        row = next(iter(memory_rows.rows(session, table, here)), None)
        if row is None:
            return
        unmoved = table.c.confidence == row["confidence"] if tries_left else true()
        if memory_rows.change(session, table, and_(here, unmoved), _moved(row, outcome, confidence)):
            return


def _moved(row: Mapping[Any, Any], outcome: Outcome, confidence: Confidence) -> dict[str, Any]:
    written = dict(outcome.written)
    if outcome.metadata:
        written["metadata"] = as_json("metadata", {**_readable(row["metadata"]), **outcome.metadata})
    worn = confidence.worn(row["confidence"], age=outcome.at - since(row))
    return written | {
        "confidence": confidence.after(worn, success=outcome.success),
        "updated_at": outcome.at,
        "last_used_at": outcome.at,
        "last_outcome_at": outcome.at,
    }


def since(row: Mapping[Any, Any]) -> float:
    """Return from when on a confidence wears off: the last outcome, else the last time it was written."""
    anchor: float = row["updated_at"] if row["last_outcome_at"] is None else row["last_outcome_at"]
    return anchor


def _readable(text: str | None) -> dict[str, Any]:
    """Return metadata; nothing where it is damaged, so that what comes now can be written."""
    try:
        return {} if text is None else dict(read_json(text))
    except (ValueError, TypeError, RecursionError):
        return {}
