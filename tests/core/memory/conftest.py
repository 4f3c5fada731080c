"""Memories that are closed at the end of a test, whatever happened in it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from ffai.core.memory import Memory
from ffai.testing import FakeEmbedder


class Opener(Protocol):
    """Opens a memory, in a folder where one is given."""

    def __call__(self, folder: Path | None = None, embedder: Any = None, **kwargs: Any) -> Memory: ...


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Opens memories on a folder, or none; all are closed at the end."""
    memories: list[Memory] = []

    def open_it(folder: Path | None = None, embedder: Any = None, store: Any = None, **kwargs: Any) -> Memory:
        memory = Memory(embedder if embedder is not None else FakeEmbedder(), store)
        memories.append(memory)
        if folder is not None:
            memory.persist_to(folder, **kwargs)
        return memory

    yield open_it
    for memory in memories:
        if isinstance(memory.embeddings, FakeEmbedder):
            memory.embeddings.gate.set()
        memory.close(timeout=10)


class Logged(Protocol):
    """Tells what was logged at a level since the last look."""

    def __call__(self, level: int = logging.ERROR) -> list[str]: ...


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Logged:
    """What was logged at a level since the last look."""

    def look(level: int = logging.ERROR) -> list[str]:
        found = [record.getMessage() for record in caplog.records if record.levelno == level]
        caplog.clear()
        return found

    return look
