"""Falling back from one client to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ffai.chat.calling import check_client, cloned, method
from ffai.chat.conversation import Conversation
from ffai.chat.message import check_prompt
from ffai.chat.reply import ChatReply
from ffai.chat.streaming import AsyncReplyStream, ReplyStream
from ffai.clients.chain import Chain, ChainClient
from ffai.clients.member import Guest, Request
from ffai.clients.retry import RetryPolicy
from ffai.errors import InvalidArgumentError
from ffai.typing import Prompt


class FallbackClient(ChainClient):
    """A client that asks several others in order until one answers.

    Each has its own key and settings. Options of a call go to all of them; keys, addresses and the model's name only to
    the first. The conversation is the chain's: a client that keeps one itself is brought into step before it is asked.
    A stream falls back only before its first piece.

    Args:
        clients: at least one chat client; the first is asked first, and its conversation is continued.

    Raises:
        InvalidArgumentError: there is no client.
        ArgumentTypeError: one of them is not a chat client.

    Examples:
        >>> from ffai.testing import FakeClient
        >>> client = FallbackClient([FakeClient([ConnectionError("down")]), FakeClient(["Under the mat."])])
        >>> client.generate_response("Where is the key?").text
        'Under the mat.'
        >>> len(client.get_conversation_history())
        2
    """

    def __init__(self, clients: Sequence[Any]) -> None:
        self.clients = tuple(clients)
        if not self.clients:
            raise InvalidArgumentError("`clients` is empty. Give at least one client.")
        for client in self.clients:
            check_client(client)
        history = method(self.clients[0], "get_conversation_history")
        members = [Guest(client, in_step=index == 0) for index, client in enumerate(self.clients)]
        super().__init__(Chain(members, Conversation(history() if history else ()), RetryPolicy(max_attempts=1)))

    @property
    def system_instructions(self) -> str | None:
        """The first client's."""
        return getattr(self.clients[0], "system_instructions", None)

    def generate_response(self, prompt: Prompt, **kwargs: Any) -> ChatReply:
        """Answer a prompt.

        Raises:
            AllClientsFailedError: every client failed; its cause is the first one's error.
            Exception: the error itself, where there is one client only.
        """
        return self._chain.ask(Request(check_prompt(prompt), kwargs))

    async def agenerate_response(self, prompt: Prompt, **kwargs: Any) -> ChatReply:
        """The async twin of `generate_response`."""
        return await self._chain.aask(Request(check_prompt(prompt), kwargs))

    def stream_response(self, prompt: Prompt, **kwargs: Any) -> ReplyStream:
        """Answer a prompt in pieces of text."""
        return self._chain.stream(Request(check_prompt(prompt), kwargs))

    def astream_response(self, prompt: Prompt, **kwargs: Any) -> AsyncReplyStream:
        """The async twin of `stream_response`."""
        return self._chain.astream(Request(check_prompt(prompt), kwargs))

    def clone(self) -> FallbackClient:
        """Return a chain of clones with no conversation; a client that keeps none is shared.

        Raises:
            ArgumentTypeError: a client keeps a conversation, and can't be cloned.
        """
        clone = FallbackClient([cloned(client) for client in self.clients])
        clone.clear_conversation()
        return clone
