"""Listing turns page by page, oldest first."""

from __future__ import annotations

import base64
import binascii
import heapq
import json
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ffai.core.arguments import check_str
from ffai.core.memory.filters import TurnFilter
from ffai.core.memory.identity import NewTurn
from ffai.core.memory.selection import Entries, Selection
from ffai.core.memory.table import Table
from ffai.core.memory.turn_json import read_notes, seconds
from ffai.core.memory.turn_page import StoredTurn, TurnPage, TurnState
from ffai.errors import InvalidArgumentError


class Place(NamedTuple):
    """Where a turn stands in the list. It keeps its place, whatever comes and goes around it."""

    timestamp: float
    """When it was said, in seconds since the epoch; minus infinity where the turn does not tell."""
    turn_id: str


class Unembedded(NamedTuple):
    """A turn that has no vector yet, or never gets one."""

    turn: NewTurn
    state: TurnState


def page_of(
    selection: Selection,
    unembedded: Iterable[Unembedded],
    wanted: TurnFilter,
    *,
    limit: int,
    after: Place | None,
    now: float,
) -> TurnPage:
    """Choose the next turns.

    Args:
        selection: those of the store that are wanted.
        unembedded: those of the journal. One that is in the store too is listed from there.
        wanted: what they must be like.
        limit: how many at the most, at least 1.
        after: the place of the last one before them; ``None`` for the first page.
        now: the time, in seconds since the epoch.
    """
    indexed = _first_of(selection, limit + 1, after)
    waiting = {
        place: turn
        for turn in unembedded
        if wanted.allows(turn.turn) and (place := _place_of(turn.turn, now)) is not None and _is_after(place, after)
    }
    first = heapq.nsmallest(limit + 1, {**waiting, **indexed})
    turns = [
        _stored(selection.table.turn(indexed[place]), "indexed") if place in indexed else _stored(*waiting[place])
        for place in first[:limit]
    ]
    return TurnPage(tuple(turns), cursor_at(first[limit - 1]) if len(first) > limit else None)


def newest(
    selection: Selection, unembedded: Iterable[Unembedded], wanted: TurnFilter, *, since: float, limit: int, now: float
) -> list[StoredTurn]:
    """Return the last turns of a time that has not ended, oldest first; turns that don't tell when are not among them.

    Args:
        selection: those of the store that are wanted.
        unembedded: those of the journal. One that is in the store too is taken from there.
        wanted: what they must be like.
        since: when the time begins, in seconds since the epoch.
        limit: how many at the most.
        now: the time, in seconds since the epoch.
    """
    entries = selection.entries()
    timestamps = selection.table.noted.timestamps(entries)
    in_time = np.flatnonzero(timestamps >= since)
    entries = entries[in_time[np.argsort(timestamps[in_time], kind="stable")][max(0, len(in_time) - limit) :]]
    found = [_stored(selection.table.turn(entry), "indexed") for entry in entries.tolist()]
    stored = {turn.turn_id for turn in found}
    for turn in unembedded:
        place = _place_of(turn.turn, now) if wanted.allows(turn.turn) else None
        if place is not None and place.timestamp >= since and place.turn_id not in stored:
            found.append(_stored(*turn))
    found.sort(key=lambda turn: turn.timestamp or 0.0)
    return found[max(0, len(found) - limit) :]


def only(
    selection: Selection, unembedded: Iterable[Unembedded], wanted: TurnFilter, turn_id: str, now: float
) -> StoredTurn | None:
    """Return the turn with an id; ``None`` where there is none among these.

    Args:
        selection: those of the store that are wanted.
        unembedded: those of the journal.
        wanted: what they must be like.
        turn_id: the id.
        now: the time, in seconds since the epoch.
    """
    if (entry := selection.entry_of(turn_id)) is not None:
        return _stored(selection.table.turn(entry), "indexed")
    waiting = (turn for turn in unembedded if turn.turn.turn_id == turn_id and wanted.allows(turn.turn))
    return next((_stored(*turn) for turn in waiting if _place_of(turn.turn, now) is not None), None)


def _first_of(selection: Selection, limit: int, after: Place | None) -> dict[Place, int]:
    """Return the first entries after a place, by their places; turns of the same time and id have one place."""
    entries = selection.entries()
    timestamps = selection.table.noted.timestamps(entries)
    if after is not None:
        later = timestamps >= after.timestamp
        entries, timestamps = entries[later], timestamps[later]
    enough = limit
    while True:
        early = entries
        if enough < len(entries):
            early = entries[timestamps <= np.partition(timestamps, enough)[enough]]
        places = _places(selection.table, early, after)
        if len(places) >= limit or len(early) == len(entries):
            return {place: places[place] for place in heapq.nsmallest(limit, places)}
        enough = 4 * max(enough, len(early))


def _places(table: Table, entries: Entries, after: Place | None) -> dict[Place, int]:
    timestamps = table.noted.timestamps(entries).tolist()
    places = zip(timestamps, entries.tolist(), strict=True)
    found = {Place(timestamp, table.ids[entry]): entry for timestamp, entry in places}
    return {place: entry for place, entry in found.items() if _is_after(place, after)}


def _is_after(place: Place, after: Place | None) -> bool:
    return after is None or place > after


def _place_of(turn: NewTurn, now: float) -> Place | None:
    """Return where a turn stands; ``None`` where it has expired."""
    notes = read_notes(turn.turn)
    if notes.expires_at is not None and notes.expires_at <= now:
        return None
    return Place(-math.inf if notes.timestamp is None else notes.timestamp, turn.turn_id)


def _stored(turn: NewTurn, state: TurnState) -> StoredTurn:
    return StoredTurn(
        turn_id=turn.turn_id,
        text=turn.text,
        turn=json.loads(turn.turn),
        metadata=json.loads(turn.metadata),
        state=state,
    )


def cursor_at(place: Place) -> str:
    """Write a place so that it can be given out.

    Examples:
        >>> place_at(cursor_at(Place(1.5, "a1")))
        Place(timestamp=1.5, turn_id='a1')
    """
    timestamp = place.timestamp if math.isfinite(place.timestamp) else None
    return base64.urlsafe_b64encode(json.dumps([timestamp, place.turn_id]).encode()).decode()


def place_at(cursor: str | None) -> Place | None:
    """Read what :func:`cursor_at` wrote; ``None`` stays what it is.

    Raises:
        ArgumentTypeError: it is not text.
        InvalidArgumentError: it is another text.
    """
    if cursor is None:
        return None
    check_str("cursor", cursor)
    try:
        timestamp, turn_id = json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
        number = -math.inf if timestamp is None else seconds(timestamp)
        if number is None or not isinstance(turn_id, str):
            raise TypeError(cursor)
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise InvalidArgumentError(f"cursor must be one that a page had, not {cursor!r:.100}.") from None
    return Place(number, turn_id)
