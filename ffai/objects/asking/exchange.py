"""One conversation with a model about one record: what is asked, what the model calls, what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ffai.chat.conversation import Message
from ffai.chat.flow import Flow
from ffai.chat.reply import ChatReply, TokenUsage
from ffai.errors import ToolLoopLimit
from ffai.objects.asking.messages import GO_ON, Asked
from ffai.objects.asking.reply_text import ReplyText
from ffai.objects.asking.toolbox import Toolbox, ToolRun
from ffai.objects.steps import Step, given


@dataclass
class Exchange:
    """A conversation of its own, beside the one that the client keeps. Between two steps nothing is held.

    Args:
        client: who is asked.
        toolbox: what the model may call.
        options: what goes along with each question.
        rounds: how often the model may call before it answers.
        messages: what it is told first.
        told: called with each reply.

    Examples:
        >>> from ffai.objects.asking.scrubber import Scrubber
        >>> from ffai.objects.steps import Place
        >>> from ffai.testing import FakeClient
        >>> exchange = Exchange(FakeClient(["Tea."]), Toolbox({}, "none", Scrubber()), {}, 5, [], print)
        >>> Place(None).run(exchange.ask("Name the topic.")).text
        ChatReply(text='Tea.', ...)
        'Tea.'
    """

    client: Any
    toolbox: Toolbox
    options: Mapping[str, Any]
    rounds: int
    messages: list[Message]
    told: Callable[[ChatReply], None]
    replies: list[ChatReply] = field(default_factory=list)
    calls: list[ToolRun] = field(default_factory=list)
    _round: int = 0

    def ask(self, prompt: str) -> Flow[Step, ChatReply]:
        """Ask, make the calls that the model asks for, and return its answer.

        Raises:
            ToolLoopLimit: it went on calling.
            Exception: whatever the client raises.
        """
        offered = self.toolbox.definitions
        options = {**self.options, **({"tools": offered} if offered else {})}
        while True:
            asked = Asked(self.client, tuple(self.messages), prompt, options)
            reply: ChatReply = yield from given(asked)
            self.replies.append(reply)
            self.told(reply)
            self.messages.append({"role": "user", "content": prompt})
            if not reply.tool_calls:
                if reply.text.strip():  # not every provider takes an empty message
                    self.messages.append(reply.as_message())
                return reply
            yield from self._called(reply)
            prompt = GO_ON

    def text(self) -> ReplyText:
        """Return the last answer, with what all of them took."""
        last, usage, cost = self.replies[-1], self.replies[0].usage, self.replies[0].cost_usd
        for reply in self.replies[1:]:
            usage = _sum(usage, reply.usage)
            cost = None if cost is None or reply.cost_usd is None else cost + reply.cost_usd
        return ReplyText(last.text, usage=usage, cost_usd=cost, model=last.model, calls=tuple(self.calls))

    def _called(self, reply: ChatReply) -> Flow[Step, None]:
        self._round += 1
        if self._round > self.rounds:
            raise ToolLoopLimit(self.rounds, [call.name for call in self.calls])
        calls = tuple(
            call if call.id else replace(call, id=f"call_{self._round}_{at}")
            for at, call in enumerate(reply.tool_calls, start=1)
        )
        self.messages.append(replace(reply, tool_calls=calls).as_message())
        for call in calls:
            run = yield from self.toolbox.run(call)
            self.calls.append(run)
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": run.content})


def _sum(a: TokenUsage | None, b: TokenUsage | None) -> TokenUsage | None:
    return None if a is None or b is None else a + b
