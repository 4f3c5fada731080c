"""Conversations, as the stored turns tell of them: who took part in which, and what the caller calls them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from ffai.core.memory.filters import ACTOR, CONVERSATION, Condition, TurnFilter, took_part, values_of
from ffai.core.memory.identity import NewTurn
from ffai.core.memory.table import Table
from ffai.core.memory.turn_json import read_notes

_LATEST = 1000
"""Turns of an actor that are looked through for a name."""


def settle(wanted: TurnFilter, table: Table, count: int, now: float, others: Iterable[NewTurn] = ()) -> TurnFilter:
    """Put the conversations that the people of a filter have in common in their place.

    Somebody takes part in a conversation who is the actor of one of its turns, or answered in it as an agent. So
    nothing is kept for it, and it is right whatever comes and is forgotten.

    Args:
        wanted: the filter; one without people is returned as it is.
        table: the turns that can be found.
        count: how many of them are whole.
        now: the time, in seconds since the epoch: what has expired by then tells nothing.
        others: turns that can't be found yet.
    """
    if not wanted.people:
        return wanted
    alive = np.flatnonzero(table.expires.view(count) > now) if now >= table.earliest_expiry else None
    outside = [values_of("scope", turn.turn) for turn in others if not _has_expired(turn, now)]
    common: set[Hashable] | None = None
    for person in wanted.people:
        theirs = table.fields.conversations_of(person, count, alive)
        theirs |= {values["conversation_id"] for values in outside if took_part(person, values)}
        common = theirs if common is None else common & theirs
    return wanted.among(common or ())


def external_id(conversation: str, table: Table, count: int, others: Iterable[NewTurn] = ()) -> str | None:
    """Return what the caller calls a conversation; ``None`` where no turn belongs to it.

    Args:
        conversation: its id in the internal form.
        table: the turns that can be found.
        count: how many of them are whole.
        others: turns that can't be found yet.
    """
    condition = Condition(CONVERSATION, frozenset((conversation,)))
    entries = table.fields.entries([condition], count)
    turns = [table.turns[int(entries[0])]] if entries.size else []
    turns += [turn.turn for turn in others if condition.holds(values_of("scope", turn.turn))]
    return str(read_notes(turns[0]).scope["conversation_id"]) if turns else None


def name_of(actor_id: str, table: Table, count: int) -> str | None:
    """Return what an actor is called by the last turn that tells; ``None`` where none of the latest does.

    Args:
        actor_id: the actor's id.
        table: the turns that can be found.
        count: how many of them are whole.
    """
    entries = table.fields.entries([Condition(ACTOR, frozenset((actor_id,)))], count)[-_LATEST:]
    names = (read_notes(table.turns[entry]).scope.get("actor_name") for entry in reversed(entries.tolist()))
    return next((name for name in names if isinstance(name, str) and name), None)


def _has_expired(turn: NewTurn, now: float) -> bool:
    until = read_notes(turn.turn).expires_at if '"expires_at"' in turn.turn else None
    return until is not None and until <= now
