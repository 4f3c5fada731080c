"""The client that is asked: one for everybody, or a clone for each person and conversation."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Set
from typing import Any

from ffai.chat.calling import check_client, cloned
from ffai.core.scope import NO_SCOPE, MemoryScope
from ffai.workflow.conversation import ClientConversation

MOST_LINES = 1000
"""People and conversations whose clients are kept; the one that was idle longest starts afresh."""


class Line:
    """A client, and the conversation that it keeps by itself."""

    def __init__(self, client: Any) -> None:
        self.client, self.conversation = client, ClientConversation(client)
        self.turn_ids: set[str] = set()
        """Turns in memory that were said on it."""


class Switchboard:
    """Gives each person, in each conversation, a line of their own.

    A client sends what was said before along with each prompt, so that two people on one client would hear each
    other. What calls without a person share is the client itself.

    Args:
        client: any chat client.

    Examples:
        >>> from ffai.testing import FakeClient
        >>> board = Switchboard(FakeClient())
        >>> alice, bob = MemoryScope.user("alice"), MemoryScope.user("bob")
        >>> board.line(alice) is board.line(alice), board.line(alice) is board.line(bob)
        (True, False)
    """

    def __init__(self, client: Any) -> None:
        self._lock = threading.Lock()
        self.closed = False
        self.client = client

    @property
    def client(self) -> Any:
        """The client that all lines are clones of."""
        return self._shared.client

    @client.setter
    def client(self, client: Any) -> None:
        check_client(client)
        with self._lock:
            self._shared = Line(client)
            self._own: OrderedDict[MemoryScope, Line] = OrderedDict()
            """By person and conversation; the one that spoke last is the last one."""

    def line(self, scope: MemoryScope) -> Line:
        """Return the line of a person in a conversation.

        Args:
            scope: whose calls a new one builds on.

        Raises:
            ArgumentTypeError: the client keeps a conversation, and can't be cloned.
        """
        if scope is NO_SCOPE or not scope.as_dict():
            return self._shared
        with self._lock:
            line = self._own.get(scope)
            if line is None:
                line = self._own[scope] = Line(cloned(self._shared.client))
            self._own.move_to_end(scope)
            if len(self._own) > MOST_LINES:
                self._own.popitem(last=False)
            return line

    def forget(self, turn_ids: Set[str]) -> int:
        """Let go of the people's lines on which one of some turns was said: their conversations start afresh.

        Returns:
            How many there were.
        """
        with self._lock:
            heard = [who for who, line in self._own.items() if not line.turn_ids.isdisjoint(turn_ids)]
            for who in heard:
                del self._own[who]
        return len(heard)
