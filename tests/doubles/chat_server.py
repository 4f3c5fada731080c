"""Where the real chat model of a test run is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChatServer:
    """An OpenAI-compatible server on the loopback, with SmolLM2 of 135 M parameters behind it."""

    api_base: str
    model: str = "openai/smollm2"
    api_key: str = "none-needed"
