"""Turns that could not be embedded are found by their words."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ffai import Memory, MemoryScope
from ffai.core.embeddings.protocol import AbsentEmbedder
from ffai.testing import FakeEmbedder


def refusing(text: str) -> FakeEmbedder:
    """An embedder that takes questions, and no turn with a text."""
    return FakeEmbedder(fail=lambda given: ValueError("refused") if text in given else None)


def test_a_failed_turn_is_found_by_keyword_beside_the_others() -> None:
    memory = Memory(refusing("the volcano?"))
    memory.remember("Where is the volcano?", "On the island.")
    memory.remember("Where is the harbour?", "On the island too.")
    memory.flush()
    hits = memory.search("volcano island", mode="keyword")
    assert [hit.prompt for hit in hits] == ["Where is the volcano?", "Where is the harbour?"]
    assert [hit.turn_index for hit in hits] == [-1, 0]
    assert [hit.explained for hit in hits] == [{}, {}]
    assert memory.search("volcano island", mode="keyword", explain=True)[0].explained["coverage"] > 0.5


def test_it_is_found_where_it_is_the_only_one_and_awaited() -> None:
    memory = Memory(refusing("the volcano?"))
    memory.remember("Where is the volcano?", "On the island.")
    memory.flush()
    assert len(memory.search("volcano", mode="keyword")) == 1
    assert len(asyncio.run(memory.asearch("volcano", mode="keyword"))) == 1
    assert memory.search("volcano", mode="keyword", threshold=0.1) == []


def test_it_is_found_once_when_it_is_embedded_after_all() -> None:
    embedder = refusing("the volcano?")
    memory = Memory(embedder)
    memory.remember("Where is the volcano?", "On the island.")
    memory.flush()
    assert memory.search("volcano", mode="keyword")[0].turn_index == -1
    embedder.fail = None
    memory.retry_failed()
    memory.flush()
    assert [hit.turn_index for hit in memory.search("volcano", mode="keyword")] == [0]


def test_it_is_seen_by_its_scope_alone_and_not_after_it_was_forgotten() -> None:
    memory, alice = Memory(refusing("the volcano?")), MemoryScope.user("alice")
    turn_id = memory.remember("Where is the volcano?", "On the island.", scope=alice)
    memory.flush()
    found = [len(memory.search("volcano", mode="keyword", scope=who)) for who in (alice, MemoryScope.user("bob"))]
    assert found == [1, 0]
    memory.forget(turn_id)
    assert memory.search("volcano", mode="keyword", scope=alice) == []


def test_without_a_model_turns_that_wait_are_found_by_their_words(tmp_path: Path) -> None:
    with_model = Memory(FakeEmbedder())
    with_model.persist_to(tmp_path)
    with_model.remember("Where is the harbour?", "On the island.")
    with_model.close()
    memory = Memory(AbsentEmbedder(FakeEmbedder().model, "no model on this machine"))
    memory.persist_to(tmp_path)
    memory.remember("Where is the volcano?", "On the island too.")
    for mode in ("keyword", "hybrid"):
        prompts = {hit.prompt for hit in memory.search("the island", mode=mode, wait=0.0)}
        assert prompts == {"Where is the harbour?", "Where is the volcano?"}
    memory.close()


def test_words_are_looked_for_while_the_embedder_is_down() -> None:
    embedder = FakeEmbedder()
    memory = Memory(embedder)
    memory.remember("Where is the volcano?", "On the island.")
    memory.flush()
    embedder.fail = lambda _: ConnectionError("down")
    assert [hit.score for hit in memory.search("volcano", mode="keyword")] == [0.0]
    assert len(asyncio.run(memory.asearch("volcano", mode="keyword"))) == 1
    for mode in ("vector", "hybrid"):
        with pytest.raises(ConnectionError, match="down"):
            memory.search("volcano", mode=mode)
    memory.close(0.0)
