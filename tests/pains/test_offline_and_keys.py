"""Models that are away, keys that are missing: what users of such libraries report, kind 7."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from ffai import FFAI, Memory
from ffai.core.memory import FlushResult
from ffai.errors import ModelUnavailableError
from ffai.testing import FakeClient, FakeEmbedder


def test_stored_turns_wait_for_their_model_and_are_never_sent_to_a_paid_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody")
    config = {"memory": {"persist_dir": str(tmp_path)}}
    with FFAI(FakeClient(), memory=Memory(FakeEmbedder()), memory_persist=True, config=config) as ffai:
        ffai.generate_response("Where is the key?")

    with FFAI(FakeClient(["In the box."]), memory_enabled=True, memory_persist=True, config=config) as ffai:
        (told,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
        assert "'fake/hashed-words'" in told
        assert "memory.embedding_model" in told
        assert ffai.generate_response("Where is the cat?").response == "In the box."
        assert ffai.memory is not None
        assert "fake/hashed-words" in str(ffai.memory.status().problem)
        with pytest.raises(ModelUnavailableError, match="fake/hashed-words"):
            ffai.history.search("the cat")
        assert ffai.flush() == FlushResult(indexed=1, pending=1, failed=0)

    embedder = FakeEmbedder()
    with FFAI(FakeClient(), memory=Memory(embedder), memory_persist=True, config=config) as ffai:
        assert ffai.history.search("the cat", top_k=1)[0].response == "In the box."
        assert [len(texts) for texts in embedder.calls] == [1, 1]  # the turn that waited, and the query


def test_without_a_model_memory_can_still_be_read_and_cleared(tmp_path: Path) -> None:
    config = {"memory": {"persist_dir": str(tmp_path)}}
    with FFAI(FakeClient(), memory=Memory(FakeEmbedder()), memory_persist=True, config=config) as ffai:
        ffai.generate_response("Where is the key?")

    with FFAI(FakeClient(), memory_enabled=True, memory_persist=True, config=config) as ffai:
        memory = ffai.memory
        assert memory is not None
        assert [entry.text for entry in memory.store.iter_entries()] == [
            "Where is the key?\nReply to: Where is the key?"
        ]
        assert memory.status().indexed == memory.count() == 1
        memory.clear()
        assert memory.count() == 0
