"""Cutting a conversation into exchanges: what one said, and what the other answered."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, zip_longest

from benchmarks.recall.locomo import Conversation, Message


@dataclass(frozen=True)
class Exchange:
    """What is remembered as one turn."""

    prompt: str
    response: str
    """Empty where a session ends without an answer."""
    asker: int
    """Which of the two speakers said the prompt: 0 or 1."""
    session: int
    said_at: float
    ids: tuple[str, ...]
    """The messages in it."""

    @property
    def text(self) -> str:
        """The whole, as a memory embeds it."""
        return f"{self.prompt}\n{self.response}" if self.response else self.prompt


def exchanges(conversation: Conversation) -> list[Exchange]:
    """Cut a conversation, each session for itself: who speaks first in it asks, the other answers.

    Messages by the same one in a row belong together.
    """
    cut = []
    for _, session in groupby(conversation.messages, key=lambda message: message.session):
        runs = [list(run) for _, run in groupby(session, key=lambda message: message.speaker)]
        cut += [_exchange(asked, answered) for asked, answered in zip_longest(runs[::2], runs[1::2], fillvalue=[])]
    return cut


def _exchange(asked: list[Message], answered: list[Message]) -> Exchange:
    return Exchange(
        prompt="\n".join(message.text for message in asked),
        response="\n".join(message.text for message in answered),
        asker=asked[0].speaker,
        session=asked[0].session,
        said_at=asked[0].said_at,
        ids=tuple(message.id for message in asked + answered),
    )
