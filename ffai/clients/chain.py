"""Several models behind one conversation: the first that answers wins, and all failing waits and tries again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ffai.chat.conversation import Conversation, Message
from ffai.chat.flow import Failed, Flow, arun, run
from ffai.chat.reply import ChatReply, TokenUsage
from ffai.chat.streaming import AsyncReplyStream, ReplyStream
from ffai.clients.member import Member, Request
from ffai.clients.retry import RetryPolicy, ataking, retried, taking
from ffai.errors import AllClientsFailedError, ArgumentTypeError, InvalidArgumentError


class Chain:
    """Members asked in order, with one conversation.

    A turn is added to the conversation, prompt and reply together, when it succeeded; whichever member answered.

    Args:
        members: asked in this order.
        conversation: what was said so far.
        policy: when to begin again after all have failed.

    Attributes:
        last: the reply of the last call that succeeded.

    Examples:
        >>> from ffai.clients.member import Guest
        >>> from ffai.testing import FakeClient
        >>> members = [Guest(FakeClient([ConnectionError("down")])), Guest(FakeClient(["Under the mat."]))]
        >>> chain = Chain(members, Conversation(), RetryPolicy())
        >>> chain.ask(Request("Where is the key?")).text
        'Under the mat.'
    """

    def __init__(self, members: Sequence[Member], conversation: Conversation, policy: RetryPolicy) -> None:
        self.members, self.conversation, self.policy = tuple(members), conversation, policy
        self.last: ChatReply | None = None

    def ask(self, request: Request) -> ChatReply:
        """Return the first reply.

        Raises:
            AllClientsFailedError: several members, and all failed.
            Exception: the error of the only member.
        """

        def ask(member: Member) -> ChatReply:
            reply = member.ask(self._request(request, member), self.conversation)
            return self._keep(request, reply, member)

        reply: ChatReply = run(self._flow(), taking(self.policy, ask))
        return reply

    async def aask(self, request: Request) -> ChatReply:
        """The async twin of `ask`."""

        async def ask(member: Member) -> ChatReply:
            reply = await member.aask(self._request(request, member), self.conversation)
            return self._keep(request, reply, member)

        reply: ChatReply = await arun(self._flow(), ataking(self.policy, ask))
        return reply

    def stream(self, request: Request) -> ReplyStream:
        """Return the pieces of the first reply; once a piece has come, no other member is asked."""

        def begin(member: Member) -> ReplyStream:
            pieces = member.stream(self._request(request, member), self.conversation)
            return ReplyStream(pieces, lambda _: self._keep(request, pieces.reply, member)).start()

        return ReplyStream.opened_by(lambda: run(self._flow(), taking(self.policy, begin)))

    def astream(self, request: Request) -> AsyncReplyStream:
        """The async twin of `stream`."""

        async def begin(member: Member) -> AsyncReplyStream:
            pieces = member.astream(self._request(request, member), self.conversation)
            return await AsyncReplyStream(pieces, lambda _: self._keep(request, pieces.reply, member)).start()

        return AsyncReplyStream.opened_by(lambda: arun(self._flow(), ataking(self.policy, begin)))

    def _request(self, request: Request, member: Member) -> Request:
        return request if member is self.members[0] else request.for_fallback()

    def _keep(self, request: Request, reply: ChatReply, member: Member) -> ChatReply:
        member.answered(*self.conversation.add_turn(request.prompt, reply))
        self.last = reply
        return reply

    def _flow(self) -> Flow[Any, Any]:
        return retried(self.policy, lambda: first_answer(self.members))


def first_answer(members: Sequence[Member]) -> Flow[Member, Any]:
    """Make a flow that asks one member after the other.

    Returns:
        What the first one that did not fail gave; else `Failed` with the error of the only member, or of all.

    Raises:
        ArgumentTypeError, InvalidArgumentError: an argument is wrong; another model would not change that.

    Examples:
        >>> from ffai.clients.member import Guest
        >>> from ffai.testing import FakeClient
        >>> flow = first_answer([Guest(FakeClient(model="a")), Guest(FakeClient(model="b"))])
        >>> next(flow).model, flow.send(Failed(ConnectionError("down"))).model
        ('a', 'b')
    """
    errors: list[tuple[str, Exception]] = []
    for member in members:
        outcome = yield member
        if not isinstance(outcome, Failed):
            return outcome
        if isinstance(outcome.error, (ArgumentTypeError, InvalidArgumentError)):
            raise outcome.error
        errors.append((member.model, outcome.error))
    if len(errors) == 1:
        return Failed(errors[0][1])
    failed = AllClientsFailedError(errors)
    failed.__cause__ = errors[0][1]
    return Failed(failed)


class ChainClient:
    """What every client that is a chain has: the conversation, and what the last call used."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    @property
    def model(self) -> str:
        """The name of the first model; a reply says which one answered."""
        return self._chain.members[0].model

    @property
    def last_usage(self) -> TokenUsage | None:
        """Tokens of the last call that succeeded, whichever thread made it; the reply of a call has its own."""
        return self._chain.last.usage if self._chain.last else None

    @property
    def last_cost_usd(self) -> float | None:
        """Price of the last call that succeeded, in US dollars; ``None`` where it is unknown."""
        return self._chain.last.cost_usd if self._chain.last else None

    @property
    def takes_messages(self) -> bool:
        """Whether every model is told the conversation so far; a client that keeps none sees the prompt alone."""
        return all(member.takes_messages for member in self._chain.members)

    def get_conversation_history(self) -> list[Message]:
        """Return a copy of the messages exchanged so far, whichever model answered."""
        return self._chain.conversation.messages()

    def set_conversation_history(self, messages: Iterable[Mapping[str, Any]]) -> None:
        """Put other messages in the place of those exchanged so far."""
        self._chain.conversation.replace(messages)

    def clear_conversation(self) -> None:
        """Forget the messages exchanged so far."""
        self._chain.conversation.replace(())

    def add_tool_result(self, tool_call_id: str, content: str) -> None:
        """Tell the model what a tool gave that it asked for."""
        self._chain.conversation.add_tool_result(tool_call_id, content)
