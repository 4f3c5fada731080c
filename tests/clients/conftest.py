"""The four ways to ask a client, as one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ffai.chat import ChatReply

Ask = Callable[..., ChatReply]


def ask_sync(client: Any, prompt: Any, **options: Any) -> ChatReply:
    reply: ChatReply = client.generate_response(prompt, **options)
    return reply


def ask_async(client: Any, prompt: Any, **options: Any) -> ChatReply:
    return asyncio.run(client.agenerate_response(prompt, **options))


def ask_stream(client: Any, prompt: Any, **options: Any) -> ChatReply:
    pieces = client.stream_response(prompt, **options)
    assert "".join(pieces) == pieces.reply.text
    reply: ChatReply = pieces.reply
    return reply


def ask_astream(client: Any, prompt: Any, **options: Any) -> ChatReply:
    async def read() -> ChatReply:
        pieces = client.astream_response(prompt, **options)
        assert "".join([piece async for piece in pieces]) == pieces.reply.text
        reply: ChatReply = pieces.reply
        return reply

    return asyncio.run(read())


@pytest.fixture(params=[ask_sync, ask_async, ask_stream, ask_astream])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Asks a client and gives the whole reply: each test runs once for every way to ask."""
    way: Ask = request.param
    return way
