"""A question is embedded once, whatever is looked up for it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ffai import FFAI, Memory, MemoryScope
from ffai.testing import FakeClient, FakeEmbedder

QUESTION = "Where is the key that Alice has?"


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
def ffai(embedder: FakeEmbedder) -> FFAI:
    ffai = FFAI(FakeClient(["On the board."] * 9), memory=Memory(embedder))
    assert ffai.memory is not None
    for number in range(5):
        scope = MemoryScope.user("alice", name="Alice", conversation="c1")
        ffai.memory.remember(f"The key number {number} is under the mat", "Noted.", scope=scope)
    ffai.rag.kb.learn("keys", "A key is on the board")
    ffai.rag.kb.add_node("person", "Alice")
    ffai.rag.kb.add_edge("person:alice", "thing:key", "has")
    ffai.flush()
    ffai.memory.search("keys", mode="hybrid")  # whatever is prepared once, is
    embedder.calls.clear()
    return ffai


OPTIONS: list[dict[str, Any]] = [
    {},
    {"framed": False},
    {"mode": "vector"},
    {"scope": MemoryScope.user("alice")},
    {"speaker_actor_id": "alice"},
    {"context_role": "system", "max_tokens": 500},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("awaited", [False, True])
def test_one_question_is_one_call_of_the_embedder(
    ffai: FFAI, embedder: FakeEmbedder, options: dict[str, Any], awaited: bool
) -> None:
    result = asyncio.run(ffai.aask(QUESTION, **options)) if awaited else ffai.ask(QUESTION, **options)
    assert result.grounded
    assert len(embedder.calls) == 1
    assert embedder.calls[0].count(QUESTION) == 1
    assert len(embedder.calls[0]) <= 2  # in hybrid mode the question without a name in it goes along


def test_contexts_are_one_call_each(ffai: FFAI, embedder: FakeEmbedder) -> None:
    for call in (ffai.rag.build_context, ffai.rag.build_context_safe, ffai.rag.build_hybrid_context, ffai.rag.explain):
        embedder.calls.clear()
        call(QUESTION)
        assert len(embedder.calls) == 1, call


def test_a_thread_is_one_call_too(ffai: FFAI, embedder: FakeEmbedder) -> None:
    thread = ffai.rag.thread("c1", "alice")
    thread.add("user", "Hello")
    thread.ask(QUESTION)
    assert sum(texts.count(QUESTION) for texts in embedder.calls) == len(embedder.calls) == 1


def test_remembering_embeds_the_turn_and_not_the_prompt(ffai: FFAI, embedder: FakeEmbedder) -> None:
    result = ffai.ask(QUESTION, remember=True)
    ffai.flush()
    texts = [text for texts in embedder.calls for text in texts]
    assert result.prompt not in texts
    assert not [text for text in texts if "Context from memory" in text]


def test_what_was_said_lately_needs_no_embedder(ffai: FFAI, embedder: FakeEmbedder) -> None:
    ffai.rag.recent_text()
    ffai.rag.summarize()
    assert embedder.calls == []
