"""A client's own conversation, out of the way while it is asked something that brings its own."""

from __future__ import annotations

import threading
from typing import Any
from weakref import WeakValueDictionary

from ffai._fork import held_over_forks


class Away:
    """The conversation of one client. The first who comes in empties it, the last who goes out puts it back.

    What the calls meanwhile added is put behind it. One object serves all who put away the same client's: two who did
    not know of each other would put back what the other one had emptied.

    Args:
        client: a client with ``get_conversation_history`` and ``set_conversation_history``.

    Examples:
        >>> from ffai.testing import FakeClient
        >>> client = FakeClient()
        >>> _ = client.generate_response("Where is the key?")
        >>> away = Away(client)
        >>> away.begin()
        >>> client.get_conversation_history()
        []
        >>> away.end()
        >>> len(client.get_conversation_history())
        2
    """

    def __init__(self, client: Any) -> None:
        self.client = client  # held, so that its id stays its own
        # A call that nobody waits for any more may end at any line that runs under the lock.
        self._lock = held_over_forks(threading.RLock())
        self._inside = 0
        self._kept: list[Any] = []

    def begin(self) -> None:
        """Come in."""
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._kept = list(self.client.get_conversation_history())
                self.client.set_conversation_history([])

    def end(self) -> None:
        """Go out."""
        with self._lock:
            self._inside -= 1
            if not self._inside:
                kept, self._kept = self._kept, []
                self.client.set_conversation_history([*kept, *self.client.get_conversation_history()])

    def begin_unheard(self) -> list[Any]:
        """Come in to ask what nobody else is to hear of; return what the others have added, for `end_unheard`."""
        with self._lock:
            self.begin()
            added = list(self.client.get_conversation_history())
            self.client.set_conversation_history([])
            return added

    def end_unheard(self, added: list[Any]) -> None:
        """Go out, and drop what was added meanwhile."""
        with self._lock:
            self.client.set_conversation_history(added)
            self.end()


_noting = held_over_forks(threading.Lock())
_known: WeakValueDictionary[int, Away] = WeakValueDictionary()
"""By the id of the client; there as long as somebody has it."""


def away_of(client: Any) -> Away:
    """Return the one object for a client's conversation.

    Examples:
        >>> from ffai.testing import FakeClient
        >>> client = FakeClient()
        >>> away = away_of(client)
        >>> away_of(client) is away
        True
    """
    with _noting:
        away = _known.get(id(client))
        if away is None:
            away = _known[id(client)] = Away(client)
        return away
