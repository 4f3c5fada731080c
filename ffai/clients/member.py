"""The members of a chain: a model that litellm calls, or any client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ffai.chat.calling import acall, astream, call, method, stream, takes_messages
from ffai.chat.conversation import Conversation
from ffai.chat.reply import ChatReply
from ffai.chat.streaming import AsyncReplyStream, ReplyStream
from ffai.clients.endpoint import Endpoint, portable
from ffai.typing import Prompt


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt and the options of one call.

    Examples:
        >>> Request("Hi", {"model": "large", "api_key": "secret", "top_p": 1}).for_fallback()
        Request(prompt='Hi', options={'top_p': 1})
    """

    prompt: Prompt
    options: Mapping[str, Any] = field(default_factory=dict)

    def for_fallback(self) -> Request:
        """The request for another model: the same without what belongs to the first one."""
        return Request(self.prompt, portable(self.options))


class Member(Protocol):
    """One of the models of a chain."""

    @property
    def model(self) -> str:
        """The name of its model."""
        ...

    @property
    def takes_messages(self) -> bool:
        """Whether it is told the conversation so far."""
        ...

    def ask(self, request: Request, conversation: Conversation) -> ChatReply:
        """Answer, knowing the conversation so far; the conversation itself is left alone."""
        ...

    async def aask(self, request: Request, conversation: Conversation) -> ChatReply:
        """The async twin of `ask`."""
        ...

    def stream(self, request: Request, conversation: Conversation) -> ReplyStream:
        """Answer in pieces."""
        ...

    def astream(self, request: Request, conversation: Conversation) -> AsyncReplyStream:
        """The async twin of `stream`."""
        ...

    def answered(self, before: int, after: int) -> None:
        """Note that its turn took the conversation from one version to another."""
        ...


class Model:
    """A member that litellm calls: it is sent the conversation each time.

    Args:
        endpoint: the model, and how it is reached.
        system_instructions: what it is told first.

    Examples:
        >>> Model(Endpoint(model_string="openai/gpt-4o-mini"), "Be brief.").model
        'gpt-4o-mini'
    """

    def __init__(self, endpoint: Endpoint, system_instructions: str | None) -> None:
        self.endpoint, self.system_instructions = endpoint, system_instructions

    @property
    def model(self) -> str:
        """The name of its model."""
        return self.endpoint.model

    @property
    def takes_messages(self) -> bool:
        """It is sent the conversation each time."""
        return True

    def ask(self, request: Request, conversation: Conversation) -> ChatReply:
        """Answer through litellm."""
        return self._endpoint(request).ask(*self._sent(request, conversation))

    async def aask(self, request: Request, conversation: Conversation) -> ChatReply:
        """The async twin of `ask`."""
        return await self._endpoint(request).aask(*self._sent(request, conversation))

    def stream(self, request: Request, conversation: Conversation) -> ReplyStream:
        """Answer through litellm, in pieces."""
        return self._endpoint(request).stream(*self._sent(request, conversation))

    def astream(self, request: Request, conversation: Conversation) -> AsyncReplyStream:
        """The async twin of `stream`."""
        return self._endpoint(request).astream(*self._sent(request, conversation))

    def answered(self, before: int, after: int) -> None:
        """It keeps no conversation of its own."""

    def _endpoint(self, request: Request) -> Endpoint:
        return self.endpoint.named(request.options.get("model"))

    def _sent(self, request: Request, conversation: Conversation) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        options = {
            name: value for name, value in request.options.items() if name not in ("model", "system_instructions")
        }
        system = request.options.get("system_instructions", self.system_instructions)
        opening = [{"role": "system", "content": system}] if system else []
        messages, _ = conversation.snapshot()
        return [*opening, *messages, {"role": "user", "content": request.prompt}], options


class Guest:
    """A member that is any client: where it keeps a conversation, that is brought into step with the chain's.

    Args:
        client: any chat client.
        in_step: whether its conversation is already the chain's.

    Examples:
        >>> from ffai.chat.reply import ChatReply
        >>> from ffai.testing import FakeClient
        >>> client, conversation = FakeClient(["Under the mat."]), Conversation()
        >>> _ = conversation.add_turn("I lost the key.", ChatReply(text="Where did you have it last?"))
        >>> Guest(client).ask(Request("Where is it?"), conversation).text
        'Under the mat.'
        >>> len(client.get_conversation_history())
        4
    """

    def __init__(self, client: Any, *, in_step: bool = False) -> None:
        self.client = client
        self._version = 0 if in_step else -1

    @property
    def model(self) -> str:
        """The name of its model."""
        return str(getattr(self.client, "model", type(self.client).__name__))

    @property
    def takes_messages(self) -> bool:
        """Whether it keeps a conversation, which can be brought into step."""
        return takes_messages(self.client)

    def ask(self, request: Request, conversation: Conversation) -> ChatReply:
        """Ask the client."""
        self._follow(conversation)
        return call(self.client, request.prompt, **request.options)

    async def aask(self, request: Request, conversation: Conversation) -> ChatReply:
        """The async twin of `ask`."""
        self._follow(conversation)
        return await acall(self.client, request.prompt, **request.options)

    def stream(self, request: Request, conversation: Conversation) -> ReplyStream:
        """Ask the client for pieces."""
        self._follow(conversation)
        return stream(self.client, request.prompt, **request.options)

    def astream(self, request: Request, conversation: Conversation) -> AsyncReplyStream:
        """The async twin of `stream`."""
        self._follow(conversation)
        return astream(self.client, request.prompt, **request.options)

    def answered(self, before: int, after: int) -> None:
        """The client has added the turn to its own conversation: it is in step if it was before."""
        if self._version == before:
            self._version = after

    def _follow(self, conversation: Conversation) -> None:
        take_over = method(self.client, "set_conversation_history")
        if self._version == conversation.version or take_over is None:
            return
        messages, version = conversation.snapshot()
        take_over(messages)
        self._version = version
