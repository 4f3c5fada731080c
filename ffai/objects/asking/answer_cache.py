"""Answers of a model that are kept: the same question about the same data costs one call."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

from ffai.chat.flow import Flow
from ffai.chat.reply import TokenUsage
from ffai.errors import ArgumentTypeError
from ffai.objects.asking.question import Question
from ffai.objects.asking.reply_text import ReplyText
from ffai.objects.steps import Step


class AnswerCache:
    """Keeps answers in a mapping, as values that JSON has. Only where the model could call nothing.

    Args:
        kept: where they are kept; ``None`` keeps nothing.

    Raises:
        ArgumentTypeError: it is no mapping that can be written to.

    Examples:
        >>> AnswerCache([])
        Traceback (most recent call last):
        ffai.errors.ArgumentTypeError: cache must be a mapping that can be written to, not list.
    """

    def __init__(self, kept: MutableMapping[str, Any] | None) -> None:
        if kept is not None and not isinstance(kept, MutableMapping):
            raise ArgumentTypeError(f"cache must be a mapping that can be written to, not {type(kept).__name__}.")
        self._kept = kept

    def verdict(self, client: object, question: Question, ask: Callable[[], Flow[Step, bool]]) -> Flow[Step, bool]:
        """Return a verdict that was kept, or ask and keep it."""
        if self._kept is None or question.toolbox.offered:
            return (yield from ask())
        key = question.key("is", client)
        kept = self._kept.get(key)
        if isinstance(kept, bool):
            return kept
        verdict = yield from ask()
        self._kept[key] = verdict
        return verdict

    def text(
        self, method: str, client: object, question: Question, ask: Callable[[], Flow[Step, ReplyText]]
    ) -> Flow[Step, ReplyText]:
        """Return a text that was kept, or ask and keep it. A kept one used no tokens and cost nothing."""
        if self._kept is None or question.toolbox.offered:
            return (yield from ask())
        key = question.key(method, client)
        kept = self._kept.get(key)
        if isinstance(kept, dict) and isinstance(kept.get("text"), str):
            return ReplyText(kept["text"], usage=TokenUsage(0, 0, 0), cost_usd=0.0, model=str(kept.get("model", "")))
        text = yield from ask()
        self._kept[key] = {"text": str(text), "model": text.model}
        return text
