"""The permanent history: everything that was said, turn by turn."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Set
from contextlib import AbstractContextManager
from itertools import takewhile
from typing import Any, NamedTuple

from ffai.core.arguments import check_number, check_timestamp, check_whole
from ffai.core.history.sift import sift
from ffai.core.history.whose import Accept, anybodys
from ffai.core.scope import NO_SCOPE, MemoryScope
from ffai.core.turn import content_of, make_turn, plain_copy
from ffai.typing import ContentPart, Metadata, Prompt, TurnDict


class _Spoken(NamedTuple):
    """A turn as it is kept: smaller than the dict that is made of it when it is asked for."""

    role: str
    said: Prompt
    timestamp: float
    metadata: Metadata
    turn_id: str | None
    scope: MemoryScope
    agent_actor_id: str | None


class PermanentHistory:
    """The turns of user and assistant, oldest first. It hands out copies.

    Args:
        max_turns: turns kept, of user and assistant together; the oldest goes first, and an answer goes with its
            question. ``None`` keeps all.
        lock: what guards it; the recorder gives all its histories the same one. It must be reentrant.

    Examples:
        >>> permanent = PermanentHistory()
        >>> permanent.add_turn_user("Hi")
        >>> permanent.add_turn_assistant("Hello!")
        >>> [(turn["role"], turn["content"][0]["text"]) for turn in permanent.get_all_turns()]
        [('user', 'Hi'), ('assistant', 'Hello!')]
    """

    def __init__(self, *, max_turns: int | None = None, lock: AbstractContextManager[Any] | None = None) -> None:
        self._max_turns = None if max_turns is None else check_whole("max_turns", max_turns, least=1)
        self._lock = threading.RLock() if lock is None else lock
        self._turns: deque[_Spoken] = deque()
        self._in_order = True

    def __len__(self) -> int:
        return len(self._turns)

    def add_turn_user(
        self,
        text: Prompt,
        metadata: Metadata | None = None,
        *,
        timestamp: float | None = None,
        turn_id: str | None = None,
        scope: MemoryScope = NO_SCOPE,
        agent_actor_id: str | None = None,
    ) -> None:
        """Add what the user said.

        Without metadata it joins a user turn before it that has none, on a new line, and renews its timestamp: that
        is one user speaking twice. Any metadata, even ``{}``, makes a turn of its own.

        Args:
            text: text, or a list of message parts.
            metadata: what the caller attaches.
            timestamp: seconds since the epoch; ``None`` is now.
            turn_id: the turn's id in memory, which it can be forgotten by; it is not in what is handed out, nor are
                the next two.
            scope: whose turn it is.
            agent_actor_id: who answers it.
        """
        spoken = _Spoken(
            "user", _kept(text), _moment(timestamp), plain_copy(metadata or {}), turn_id, scope, agent_actor_id
        )
        with self._lock:
            if metadata is None and self._turns and _may_be_joined(self._turns[-1], scope):
                before = self._turns.pop()
                spoken = spoken._replace(said=_joined(content_of(before.said), content_of(spoken.said)))
            self._add(spoken)

    def add_turn_assistant(
        self,
        text: Prompt,
        metadata: Metadata | None = None,
        *,
        timestamp: float | None = None,
        turn_id: str | None = None,
        scope: MemoryScope = NO_SCOPE,
        agent_actor_id: str | None = None,
    ) -> None:
        """Add what the assistant said. The arguments are those of ``add_turn_user``; nothing is joined."""
        spoken = _Spoken(
            "assistant", _kept(text), _moment(timestamp), plain_copy(metadata or {}), turn_id, scope, agent_actor_id
        )
        with self._lock:
            self._add(spoken)

    def get_all_turns(self, *, accept: Accept = anybodys) -> list[TurnDict]:
        """Return every turn, oldest first; of those whose turns are accepted."""
        with self._lock:
            turns = list(self._turns)
        return [_handed_out(spoken) for spoken in turns if accept(spoken)]

    def get_turns_since(self, timestamp: float, *, accept: Accept = anybodys) -> list[TurnDict]:
        """Return the turns that are strictly later than a moment, in seconds since the epoch."""
        since = check_number("timestamp", timestamp)
        with self._lock:
            later = self._later(since)
        return [_handed_out(spoken) for spoken in later if accept(spoken)]

    def forget(self, turn_ids: Set[str]) -> int:
        """Drop what was said in turns.

        Returns:
            How many turns of user and assistant there were.
        """
        with self._lock:
            kept, gone = sift(self._turns, turn_ids)
            if gone:
                self._turns = kept
        return len(gone)

    def _later(self, timestamp: float) -> list[_Spoken]:
        if self._in_order:
            return list(takewhile(lambda spoken: spoken.timestamp > timestamp, reversed(self._turns)))[::-1]
        return [spoken for spoken in self._turns if spoken.timestamp > timestamp]

    def _add(self, spoken: _Spoken) -> None:
        if self._turns and spoken.timestamp < self._turns[-1].timestamp:
            self._in_order = False
        self._turns.append(spoken)
        if self._max_turns is not None and len(self._turns) > self._max_turns:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        self._turns.popleft()
        while len(self._turns) > 1 and self._turns[0].role == "assistant":
            self._turns.popleft()


def _moment(timestamp: float | None) -> float:
    return time.time() if timestamp is None else check_timestamp("timestamp", timestamp)


def _kept(said: Prompt) -> Prompt:
    return said if isinstance(said, str) else content_of(said)


def _handed_out(spoken: _Spoken) -> TurnDict:
    return make_turn(spoken.role, spoken.said, timestamp=spoken.timestamp, metadata=plain_copy(spoken.metadata))


def _may_be_joined(spoken: _Spoken, scope: MemoryScope) -> bool:
    return spoken.role == "user" and not spoken.metadata and spoken.turn_id is None and spoken.scope == scope


def _joined(before: list[ContentPart], after: list[ContentPart]) -> list[ContentPart]:
    """Put the parts of two turns together; the texts that meet become one, on two lines."""
    if not (before and after and "text" in before[-1] and "text" in after[0]):
        return [*before, *after]
    met: ContentPart = {"type": "text", "text": f"{before[-1]['text']}\n{after[0]['text']}"}
    return [*before[:-1], met, *after[1:]]
