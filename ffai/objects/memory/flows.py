"""Remembering, recalling and forgetting, written once: each is a flow with one piece of work in the database."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from ffai.chat.flow import Flow
from ffai.core.arguments import check_flag
from ffai.objects.memory import rows as memory_rows
from ffai.objects.memory.entry import MemoryEntry, as_json, read_entries
from ffai.objects.memory.options import (
    UNSET,
    Prefer,
    Unset,
    check_fraction,
    check_metadata,
    check_prefer,
    check_version,
    expiry_of,
)
from ffai.objects.memory.paths import ancestors, check_key, check_scope, within
from ffai.objects.memory.rows import Spot
from ffai.objects.memory.whose import Rules, whose_owner
from ffai.objects.owner import Owner
from ffai.objects.steps import InDatabase, Step, given
from ffai.objects.tables import Tables

_BEST: dict[str, Callable[[Mapping[Any, Any]], tuple[float, ...]]] = {
    "confidence": lambda row: (-row["confidence"], -row["version"]),
    "version": lambda row: (-row["version"], -row["confidence"]),
}


class MemoryFlows:
    """What can be done with the memories of records and classes. `RecordMemory` runs these; its methods say more.

    Args:
        tables: where they are stored.
        rules: what can be seen now; ``None`` for everything.
        clock: gives seconds since the epoch.

    Examples:
        >>> flow = MemoryFlows(Tables()).remember_flow(int, "scope", "key", "value")
        >>> next(flow)
        Traceback (most recent call last):
        ffai.errors.ArgumentTypeError: int is not a class with a table. ...
    """

    def __init__(self, tables: Tables, rules: Rules | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self.table, self.rules, self.clock = tables.memories, rules, clock

    def remember_flow(
        self,
        whose: object,
        scope: str,
        key: str,
        value: Any,
        *,
        confidence: float | Unset = UNSET,
        metadata: Mapping[str, Any] | Unset | None = UNSET,
        expires_at: float | datetime | Unset | None = UNSET,
        expires_in: float | timedelta | Unset | None = UNSET,
        version: int = 1,
    ) -> Flow[Step, None]:
        """Write a value; see `RecordMemory.remember`."""
        now = self.clock()
        spot = Spot(check_scope(scope), check_key(key), check_version(version))
        written = {"value": as_json("value", value), **json_of(metadata)}
        if confidence is not UNSET:  # decay counts from here, not from the last outcome
            written |= {"confidence": check_fraction("confidence", confidence), "last_outcome_at": None}
        expiry = expiry_of(now, expires_at, expires_in)
        if expiry is not UNSET:
            written["expires_at"] = expiry
        yield from self.within(
            whose, lambda session, owner: memory_rows.put(session, self.table, owner, spot, written, now)
        )

    def recall_flow(
        self, whose: object, scope: str, key: str, *, default: Any = None, **choosing: Any
    ) -> Flow[Step, Any]:
        """Return a value; see `RecordMemory.recall`."""
        entry = yield from self.recall_entry_flow(whose, scope, key, **choosing)
        return default if entry is None else entry.value

    def recall_entry_flow(
        self,
        whose: object,
        scope: str,
        key: str,
        *,
        include_ancestors: bool = False,
        min_confidence: float | None = None,
        version: int | None = None,
        prefer: Prefer = "confidence",
        include_expired: bool = False,
    ) -> Flow[Step, MemoryEntry | None]:
        """Return a memory; see `RecordMemory.recall_entry`."""
        check_flag("include_ancestors", include_ancestors)
        scope = check_scope(scope)
        scopes = [scope, *ancestors(scope)] if include_ancestors else [scope]
        wanted = [
            self.table.c.key == check_key(key),
            self.table.c.scope.in_(scopes),
            *self._kept(min_confidence, include_expired),
        ]
        if version is not None:
            wanted.append(self.table.c.version == check_version(version))
        best = _BEST[check_prefer(prefer)]
        rows = yield from self._rows(whose, wanted)
        nearest_first = sorted(rows, key=lambda row: (scopes.index(row["scope"]), *best(row)))
        return next(iter(read_entries(nearest_first, most=1)), None)

    def recall_all_flow(self, whose: object, scope: str | None = None, **listing: Any) -> Flow[Step, dict[str, Any]]:
        """Return the best value of each key; see `RecordMemory.recall_all`."""
        entries = yield from self.entries_flow(whose, scope, **listing)
        best: dict[str, MemoryEntry] = {}
        for entry in entries:
            other = best.get(entry.key)
            if other is None or _rank(entry) < _rank(other):
                best[entry.key] = entry
        return {key: best[key].value for key in sorted(best)}

    def entries_flow(
        self,
        whose: object,
        scope: str | None = None,
        *,
        include_descendants: bool = False,
        min_confidence: float | None = None,
        include_expired: bool = False,
    ) -> Flow[Step, list[MemoryEntry]]:
        """Return every memory; see `RecordMemory.entries`."""
        check_flag("include_descendants", include_descendants)
        wanted = self._kept(min_confidence, include_expired)
        if scope is not None:
            wanted.append(within(self.table.c.scope, check_scope(scope), descendants=include_descendants))
        entries = read_entries((yield from self._rows(whose, wanted)))
        return sorted(entries, key=lambda entry: (entry.scope, entry.key, *_rank(entry)))

    def forget_flow(self, whose: object, scope: str, key: str) -> Flow[Step, int]:
        """Delete a memory; see `RecordMemory.forget`."""
        wanted = (self.table.c.scope == check_scope(scope)) & (self.table.c.key == check_key(key))
        return (yield from self._remove(whose, wanted))

    def forget_scope_flow(self, whose: object, scope: str, *, include_descendants: bool = False) -> Flow[Step, int]:
        """Delete a scope; see `RecordMemory.forget_scope`."""
        check_flag("include_descendants", include_descendants)
        wanted = within(self.table.c.scope, check_scope(scope), descendants=include_descendants)
        return (yield from self._remove(whose, wanted))

    def purge_expired_flow(self) -> Flow[Step, int]:
        """Delete what has expired; see `RecordMemory.purge_expired`."""
        gone = self.table.c.expires_at <= self.clock()
        count: int = yield from given(InDatabase(lambda session: memory_rows.remove(session, self.table, gone)))
        return count

    def within(self, whose: object, work: Callable[[Session, Owner], Any]) -> Flow[Step, Any]:
        """Do work on somebody's memories within one transaction, once it is seen that the record can be."""
        owner_in = whose_owner(whose, self.rules)
        if self.rules is None:
            return (yield from given(InDatabase(lambda session: work(session, owner_in(session)))))
        owner = yield from given(InDatabase(owner_in))  # SQLite may refuse to write in a transaction that first reads
        return (yield from given(InDatabase(lambda session: work(session, owner))))

    def _kept(self, min_confidence: float | None, include_expired: bool) -> list[ColumnElement[bool]]:
        check_flag("include_expired", include_expired)
        kept = [] if include_expired else [memory_rows.alive(self.table, self.clock())]
        if min_confidence is not None:
            kept.append(self.table.c.confidence >= check_fraction("min_confidence", min_confidence))
        return kept

    def _rows(self, whose: object, wanted: list[ColumnElement[bool]]) -> Flow[Step, list[Mapping[Any, Any]]]:
        found: list[Mapping[Any, Any]] = yield from self.within(
            whose,
            lambda session, owner: memory_rows.rows(session, self.table, memory_rows.owned(self.table, owner), *wanted),
        )
        return found

    def _remove(self, whose: object, wanted: ColumnElement[bool]) -> Flow[Step, int]:
        count: int = yield from self.within(
            whose,
            lambda session, owner: memory_rows.remove(
                session, self.table, memory_rows.owned(self.table, owner) & wanted
            ),
        )
        return count


def json_of(metadata: Any) -> dict[str, Any]:
    """Return the column of metadata; none where it was not given."""
    if metadata is UNSET:
        return {}
    checked = check_metadata(metadata)
    return {"metadata": None if checked is None else as_json("metadata", checked)}


def _rank(entry: MemoryEntry) -> tuple[float, int, int, str]:
    return (-entry.confidence, -entry.version, len(entry.scope), entry.scope)
