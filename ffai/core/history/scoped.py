"""The four histories as one scope sees them: views that keep nothing themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from ffai.core.history.interaction import Interaction
from ffai.core.history.log import InteractionLog, is_answered, key_of
from ffai.core.history.permanent import PermanentHistory
from ffai.core.history.whose import Accept
from ffai.core.scope import MemoryScope
from ffai.typing import Metadata, Prompt, TurnDict

Seen = Callable[[], Accept]
"""Gives what may be seen at the moment: who took part in which conversation changes."""


class ScopedLog:
    """The calls of one scope.

    Args:
        log: all calls.
        seen: tells which.
        scope: what a call that is added belongs to.

    Examples:
        >>> from ffai.core.history.whose import accepting
        >>> from ffai.core.memory.filters import TurnFilter
        >>> log, alice = InteractionLog(), MemoryScope.user("alice")
        >>> for scope in (alice, MemoryScope.user("bob")):
        ...     _ = log.add(lambda number: Interaction(sequence_number=number, prompt="Hi", response="Hello!",
        ...                                            clean_response="Hello!", model="m", timestamp=0.0, scope=scope))
        >>> accept = accepting(TurnFilter.of(None, alice))
        >>> [call.scope.actor_id for call in ScopedLog(log, lambda: accept, alice).all()]
        ['alice']
    """

    def __init__(self, log: InteractionLog, seen: Seen, scope: MemoryScope) -> None:
        self._log, self._seen, self._scope = log, seen, scope

    def add(self, make: Callable[[int], Interaction]) -> Interaction:
        """Keep a call of this scope, and return it; see :meth:`InteractionLog.add`."""
        return self._log.add(lambda number: replace(make(number), scope=self._scope))

    def __len__(self) -> int:
        return len(self.all())

    def all(self) -> list[Interaction]:
        """Return every call, oldest first."""
        return list(filter(self._seen(), self._log.all()))

    def at(self, index: int) -> Interaction:
        """Return the call at a position; negative positions count from the end. Raises ``IndexError``."""
        return self.all()[index]

    def last(self, n: int) -> list[Interaction]:
        """Return the last ``n`` calls, oldest first."""
        return self.all()[-n:] if n > 0 else []

    def numbered(self, sequence_number: int) -> Interaction | None:
        """Return the call with a number, if it is kept."""
        call = self._log.numbered(sequence_number)
        return call if call is not None and self._seen()(call) else None

    def names(self) -> list[str]:
        """Return the name of each call, or its prompt where it has none: each once, first seen first."""
        return list(self.counts())

    def by_name(self, name: str) -> list[Interaction]:
        """Return the calls with a name, or with that prompt and no name, oldest first."""
        return list(filter(self._seen(), self._log.by_name(name)))

    def counts(self) -> dict[str, int]:
        """Return how many calls each name has."""
        return dict(Counter(map(key_of, self.all())))

    def newest(self, name: str, accept: Callable[[Interaction], bool]) -> Interaction | None:
        """Return the newest accepted call with a name, or with that prompt and no name."""
        is_seen = self._seen()
        return self._log.newest(name, lambda call: accept(call) and is_seen(call))

    def answered(self, name: str) -> Interaction | None:
        """Return the newest success with a name."""
        return self.newest(name, is_answered)

    def answered_names(self) -> list[str]:
        """Return the names that have a success."""
        return list(dict.fromkeys(call.prompt_name or "" for call in self.all() if is_answered(call)))


class ScopedPermanent:
    """What was said in one scope.

    Args:
        permanent: everything that was said.
        seen: tells what belongs to the scope.
        scope: what a turn that is added belongs to.

    Examples:
        >>> from ffai.core.history.whose import accepting
        >>> from ffai.core.memory.filters import TurnFilter
        >>> permanent, alice = PermanentHistory(), MemoryScope.user("alice")
        >>> accept = accepting(TurnFilter.of(None, alice))
        >>> hers = ScopedPermanent(permanent, lambda: accept, alice)
        >>> permanent.add_turn_user("Hi"), hers.add_turn_user("Hello")
        (None, None)
        >>> len(permanent), len(hers)
        (2, 1)
    """

    def __init__(self, permanent: PermanentHistory, seen: Seen, scope: MemoryScope) -> None:
        self._permanent, self._seen, self._scope = permanent, seen, scope

    def __len__(self) -> int:
        return len(self.get_all_turns())

    def add_turn_user(self, text: Prompt, metadata: Metadata | None = None, *, timestamp: float | None = None) -> None:
        """Add what the user said; see :meth:`PermanentHistory.add_turn_user`."""
        self._permanent.add_turn_user(text, metadata, timestamp=timestamp, scope=self._scope)

    def add_turn_assistant(
        self, text: Prompt, metadata: Metadata | None = None, *, timestamp: float | None = None
    ) -> None:
        """Add what the assistant said."""
        self._permanent.add_turn_assistant(text, metadata, timestamp=timestamp, scope=self._scope)

    def get_all_turns(self) -> list[TurnDict]:
        """Return every turn, oldest first."""
        return self._permanent.get_all_turns(accept=self._seen())

    def get_turns_since(self, timestamp: float) -> list[TurnDict]:
        """Return the turns that are strictly later than a moment, in seconds since the epoch."""
        return self._permanent.get_turns_since(timestamp, accept=self._seen())
