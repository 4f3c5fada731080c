"""The messages a client and its model have exchanged."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ffai.chat.message import clean_copy
from ffai.chat.reply import ChatReply
from ffai.errors import ArgumentTypeError
from ffai.typing import Prompt

Message = dict[str, Any]
"""``{"role": ..., "content": ...}``, and what else the role needs."""


class Conversation:
    """A list of messages that threads can share. Adding costs the same however long it is.

    Examples:
        >>> conversation = Conversation()
        >>> conversation.add_turn("Where is the key?", ChatReply(text="Under the mat."))
        (0, 1)
        >>> conversation.messages()
        [{'role': 'user', 'content': 'Where is the key?'}, {'role': 'assistant', 'content': 'Under the mat.'}]
    """

    def __init__(self, messages: Iterable[Mapping[str, Any]] = ()) -> None:
        self._lock = threading.Lock()
        self._messages = [_copy(message) for message in messages]
        self._version = 0

    def messages(self) -> list[Message]:
        """Return a copy of the messages, oldest first."""
        with self._lock:
            return [clean_copy(message) for message in self._messages]

    def snapshot(self) -> tuple[list[Message], int]:
        """Return the messages to send, not to change, and the version they are."""
        with self._lock:
            return [dict(message) for message in self._messages], self._version

    def so_far(self) -> Callable[[], list[Message]]:
        """Return what gives the messages there are now, whenever it is called; nothing is copied before.

        Examples:
            >>> conversation = Conversation([{"role": "user", "content": "Hello"}])
            >>> said = conversation.so_far()
            >>> conversation.replace(())
            >>> len(said())
            1
        """
        with self._lock:  # a list is added to, and never changed otherwise
            messages, count = self._messages, len(self._messages)
        return lambda: [clean_copy(message) for message in messages[:count]]

    @property
    def version(self) -> int:
        """A number that every change raises."""
        return self._version

    def add_turn(self, prompt: Prompt, reply: ChatReply) -> tuple[int, int]:
        """Add a prompt and its reply together; return the version before and after."""
        return self._add({"role": "user", "content": clean_copy(prompt)}, reply.as_message())

    def add_tool_result(self, tool_call_id: str, content: str) -> None:
        """Add what a tool gave for a call that the model asked for."""
        self._add({"role": "tool", "tool_call_id": tool_call_id, "content": content})

    def replace(self, messages: Iterable[Mapping[str, Any]]) -> None:
        """Put other messages in the place of all.

        Raises:
            ArgumentTypeError: a message is not a dict with a ``"role"``; nothing is changed.
        """
        copies = [_copy(message) for message in messages]
        with self._lock:
            self._messages = copies
            self._version += 1

    def _add(self, *messages: Message) -> tuple[int, int]:
        with self._lock:
            self._messages.extend(messages)
            self._version += 1
            return self._version - 1, self._version


def _copy(message: Mapping[str, Any]) -> Message:
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise ArgumentTypeError(
            f'A message must be a dict with a "role", not {type(message).__name__} {message!r:.80}.'
        )
    copy: Message = clean_copy(message)
    return copy
