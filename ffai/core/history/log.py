"""The calls that are kept, in order and by name. The raw, clean and ordered histories are views of it."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Set
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any

from ffai.core.arguments import check_whole
from ffai.core.history.interaction import Interaction
from ffai.core.history.sift import sift


class InteractionLog:
    """Calls in the order of recording. Adding one costs the same however many there are.

    What it returns is what it holds, not a copy: the views over it copy what they hand out.

    Args:
        max_turns: calls kept; the oldest goes first. ``None`` keeps all.
        lock: what guards it; the recorder gives all its histories the same one. It must be reentrant.

    Examples:
        >>> log = InteractionLog(max_turns=1)
        >>> for answer in ("Hello!", "Hello again!"):
        ...     _ = log.add(lambda number: Interaction(sequence_number=number, prompt="Hi", response=answer,
        ...                                            clean_response=answer, model="m", timestamp=0.0))
        >>> [call.sequence_number for call in log.all()]
        [2]
    """

    def __init__(self, *, max_turns: int | None = None, lock: AbstractContextManager[Any] | None = None) -> None:
        self._max_turns = None if max_turns is None else check_whole("max_turns", max_turns, least=1)
        self._lock = threading.RLock() if lock is None else lock
        self._calls: deque[Interaction] = deque()
        self._named: dict[str, deque[Interaction]] = {}
        self._answered: dict[str, Interaction] = {}
        self._last_number = 0

    def add(self, make: Callable[[int], Interaction]) -> Interaction:
        """Keep a call, and return it.

        Args:
            make: makes the call from its sequence number.
        """
        with self._lock:
            call = make(self._last_number + 1)
            self._last_number += 1
            self._calls.append(call)
            self._named.setdefault(key_of(call), deque()).append(call)
            if is_answered(call):
                self._answered[key_of(call)] = call
            if self._max_turns is not None and len(self._calls) > self._max_turns:
                self._drop_oldest()
        return call

    def __len__(self) -> int:
        return len(self._calls)

    def at(self, index: int) -> Interaction:
        """Return the call at a position; negative positions count from the end. Raises ``IndexError``."""
        with self._lock:
            return self._calls[index]

    def all(self) -> list[Interaction]:
        """Return every call, oldest first."""
        with self._lock:
            return list(self._calls)

    def last(self, n: int) -> list[Interaction]:
        """Return the last ``n`` calls, oldest first."""
        with self._lock:
            return list(islice(reversed(self._calls), n))[::-1]

    def numbered(self, sequence_number: int) -> Interaction | None:
        """Return the call with a number, if it is kept."""
        with self._lock:
            if not self._calls:
                return None
            place = sequence_number - self._calls[0].sequence_number
            gaps = self._last_number - self._calls[0].sequence_number + 1 - len(self._calls)  # the forgotten ones
            first, last = max(0, place - gaps), min(max(0, place), len(self._calls))
            place = bisect_left(self._calls, sequence_number, first, last, key=_number)
            found = self._calls[place] if place < len(self._calls) else None
        return found if found is not None and found.sequence_number == sequence_number else None

    def names(self) -> list[str]:
        """Return the name of each call, or its prompt where it has none: each once, first seen first."""
        with self._lock:
            return list(self._named)

    def by_name(self, name: str) -> list[Interaction]:
        """Return the calls with a name, or with that prompt and no name, oldest first."""
        with self._lock:
            return list(self._named.get(name, ()))

    def counts(self) -> dict[str, int]:
        """Return how many calls each name has."""
        with self._lock:
            return {name: len(calls) for name, calls in self._named.items()}

    def newest(self, name: str, accept: Callable[[Interaction], bool]) -> Interaction | None:
        """Return the newest accepted call with a name, or with that prompt and no name."""
        with self._lock:
            return next(filter(accept, reversed(self._named.get(name, ()))), None)

    def answered(self, name: str) -> Interaction | None:
        """Return the newest success with a name."""
        return self._answered.get(name)

    def answered_names(self) -> list[str]:
        """Return the names that have a success."""
        with self._lock:
            return list(self._answered)

    def forget(self, turn_ids: Set[str]) -> int:
        """Drop the calls of turns; the others keep their numbers.

        Returns:
            How many there were.
        """
        with self._lock:
            kept, gone = sift(self._calls, turn_ids)
            if gone:
                self._calls = kept
            for key in {key_of(call) for call in gone}:
                self._forget_named(key, turn_ids)
        return len(gone)

    def _forget_named(self, key: str, turn_ids: Set[str]) -> None:
        kept, _ = sift(self._named[key], turn_ids)
        if kept:
            self._named[key] = kept
        else:
            del self._named[key]
        self._answered.pop(key, None)
        answer = next(filter(is_answered, reversed(kept)), None)
        if answer is not None:
            self._answered[key] = answer

    def _drop_oldest(self) -> None:
        gone = self._calls.popleft()
        key = key_of(gone)
        calls = self._named[key]
        calls.popleft()
        if not calls:
            del self._named[key]
        if gone.prompt_name and self._answered.get(gone.prompt_name) is gone:
            del self._answered[gone.prompt_name]


def _number(call: Interaction) -> int:
    return call.sequence_number


def key_of(call: Interaction) -> str:
    """Return the name a call is filed under: its own, or its prompt.

    Examples:
        >>> key_of(Interaction(sequence_number=1, prompt="Hi", response=None, clean_response=None, model="m",
        ...                    timestamp=0.0))
        'Hi'
    """
    return call.prompt_name or call.prompt


def is_answered(call: Interaction) -> bool:
    """Tell whether a call is a success that has a name.

    Examples:
        >>> is_answered(Interaction(sequence_number=1, prompt="Hi", response="Hello!", clean_response="Hello!",
        ...                         model="m", timestamp=0.0, prompt_name="greeting"))
        True
    """
    return call.status == "success" and bool(call.prompt_name)
