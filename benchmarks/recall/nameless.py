"""The same conversation, where nothing tells who spoke or when."""

from __future__ import annotations

import re
from dataclasses import replace

from benchmarks.recall.locomo import Conversation

_SOME_DAY = 946_684_800.0
"""When everything was said: 2000-01-01."""


def without_names_and_dates(conversation: Conversation) -> Conversation:
    """Take the speakers' names out of messages and questions, and let everything be said at the same time."""
    if conversation.speakers is None:
        return conversation
    names = "|".join(re.escape(name) for name in conversation.speakers)
    pattern = re.compile(rf"\b(?:{names})\b(?:['’]s\b)?", re.IGNORECASE)

    def nameless(text: str) -> str:
        return " ".join(pattern.sub(" ", text).split()) or "…"

    return replace(
        conversation,
        speakers=None,
        messages=tuple(
            replace(message, text=nameless(message.text), said_at=_SOME_DAY) for message in conversation.messages
        ),
        questions=tuple(replace(question, text=nameless(question.text)) for question in conversation.questions),
    )
