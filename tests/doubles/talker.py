"""A client whose conversation can only be put away."""

from __future__ import annotations

import threading
from typing import Any

from ffai.chat.reply import TokenUsage

SAID = [{"role": "user", "content": "My name is Ann."}, {"role": "assistant", "content": "Hello Ann."}]


class Talker:
    """A client that keeps a conversation, sends it along, and can't be cloned."""

    model = "talker"
    last_usage: TokenUsage | None = None
    last_cost_usd: float | None = None

    def __init__(self) -> None:
        self.messages = list(SAID)
        self.heard: list[int] = []
        self.together = self.most_together = 0
        self.gate = threading.Event()
        self.gate.set()
        self.asked = threading.Event()

    def get_conversation_history(self) -> list[dict[str, Any]]:
        return self.messages

    def set_conversation_history(self, messages: list[dict[str, Any]]) -> None:
        self.messages = list(messages)

    def generate_response(self, prompt: Any, **kwargs: Any) -> str:
        self.together += 1
        self.most_together = max(self.most_together, self.together)
        self.asked.set()
        try:
            assert self.gate.wait(10)
            if prompt == "fail":
                raise ConnectionError("down")
            self.heard.append(len(self.messages))
            self.messages += [{"role": "user", "content": prompt}, {"role": "assistant", "content": "yes"}]
            self.last_usage, self.last_cost_usd = TokenUsage(len(prompt), 1, len(prompt) + 1), 0.5
            return "yes"
        finally:
            self.together -= 1
