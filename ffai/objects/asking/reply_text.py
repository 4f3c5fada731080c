"""What a model wrote about a record, with what that took."""

from __future__ import annotations

from typing import Self

from ffai.chat.reply import TokenUsage
from ffai.objects.asking.toolbox import ToolRun


class ReplyText(str):
    """A text, and beside it what it took.

    Attributes:
        usage: tokens of all rounds together; ``None`` where the client did not say.
        cost_usd: their price in US dollars; ``None`` where it is unknown.
        model: the model that answered.
        calls: what it called before it answered, in order.

    Examples:
        >>> text = ReplyText("Tea, from leaf to cup.", model="gpt-4o")
        >>> text.upper(), text.model
        ('TEA, FROM LEAF TO CUP.', 'gpt-4o')
    """

    usage: TokenUsage | None
    cost_usd: float | None
    model: str
    calls: tuple[ToolRun, ...]

    def __new__(
        cls,
        text: str = "",
        *,
        usage: TokenUsage | None = None,
        cost_usd: float | None = None,
        model: str = "",
        calls: tuple[ToolRun, ...] = (),
    ) -> Self:
        """Make one."""
        reply = super().__new__(cls, text)
        reply.usage, reply.cost_usd, reply.model, reply.calls = usage, cost_usd, model, calls
        return reply
