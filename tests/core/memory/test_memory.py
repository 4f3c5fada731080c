"""A memory on its own: adding, searching, and its twins for async code."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import numpy as np
import pytest

from ffai.core.memory import FlushResult, Memory, TurnVectorStore
from ffai.core.scope import MemoryScope
from ffai.errors import ArgumentTypeError, BadVectorError, ClosedError, EmbeddingError, InvalidArgumentError
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener
from tests.doubles.embedders import Table, WatchedEmbedder

TURN: dict[str, Any] = {
    "role": "user",
    "content": [{"type": "text", "text": "red house"}],
    "timestamp": 1.5,
    "metadata": {},
}


class AsyncTable(Table):
    """A Table that is asked both ways.

    Attributes:
        awaited: the lists of texts that were awaited.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.awaited: list[list[str]] = []

    async def aembed(self, texts: list[str]) -> list[Any]:
        await asyncio.sleep(0)
        self.awaited.append(texts)
        return [self.vectors[text] for text in texts]


# What it is made of


def test_the_store_it_is_given_is_the_store_it_uses(opened: Opener) -> None:
    store = TurnVectorStore()
    memory = opened(store=store)
    assert memory.store is store
    assert opened().store is not opened().store
    memory.store = other = TurnVectorStore()
    memory.index_turn(TURN)
    assert memory.store is other
    assert (store.count(), other.count(), memory.count()) == (0, 1, 1)


def test_an_object_that_embeds_nothing_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="embed"):
        Memory(object())  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="embed"):
        Memory("local/all-MiniLM-L6-v2")  # type: ignore[arg-type]


def test_an_embedder_needs_no_more_than_one_method(opened: Opener) -> None:
    memory = opened(embedder=Table({"red house": (3, 4), "house": np.array([3, 4], dtype=np.float32)}))
    memory.index_turn(TURN)
    assert memory.search("house")[0].score == pytest.approx(1.0)


# Adding at once


def test_a_turn_is_indexed_when_the_call_returns(opened: Opener) -> None:
    embedder = FakeEmbedder()
    memory = opened(embedder=embedder)
    assert memory.index_turn(TURN, {"prompt_name": "p"}) == 0
    assert memory.index_turn_text("blue boat", TURN) == 1
    assert embedder.calls == [["red house"], ["blue boat"]]
    assert memory.count() == 2
    first, second = memory.store.iter_entries()
    assert (first.text, first.turn, first.metadata) == ("red house", TURN, {"prompt_name": "p"})
    assert (second.text, second.turn, second.metadata) == ("blue boat", TURN, {})


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain text", "plain text"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        (
            [{"type": "image_url", "image_url": {"url": "data:AAAA"}}, {"type": "text", "text": "what is it"}],
            "[image_url]\nwhat is it",
        ),
        ([{"type": "image_url", "image_url": {}}], "[image_url]"),
        ({"type": "text", "text": "one part"}, "one part"),
        (["one", "two"], "one\ntwo"),
    ],
)
def test_every_text_of_a_turn_is_embedded_and_other_parts_are_named(opened: Opener, content: Any, text: str) -> None:
    memory = opened()
    memory.index_turn({"role": "user", "content": content})
    assert next(memory.store.iter_entries()).text == text


@pytest.mark.parametrize("turn", [{}, {"content": None}, {"content": 5}, None, "text", [TURN]])
def test_what_is_no_turn_is_refused(opened: Opener, turn: Any) -> None:
    memory = opened()
    with pytest.raises(ArgumentTypeError, match="turn"):
        memory.index_turn(turn)
    assert memory.count() == 0


@pytest.mark.parametrize("vector", [[float("nan"), 1.0], [0.0, 0.0], [1.0, 2.0, 3.0], [], None, "text"])
def test_a_vector_that_can_not_be_used_is_refused_and_nothing_is_stored(opened: Opener, vector: Any) -> None:
    memory = opened(embedder=Table({"good": [1.0, 2.0], "bad": vector}))
    memory.index_turn_text("good", TURN)
    with pytest.raises(BadVectorError):
        memory.index_turn_text("bad", TURN)
    with pytest.raises(BadVectorError):
        memory.search("bad")
    assert [hit.text for hit in memory.search("good")] == ["good"]


def test_a_wrong_number_of_vectors_is_refused(opened: Opener) -> None:
    class TooMany:
        def embed(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, 2.0], [3.0, 4.0]]

    memory = opened(embedder=TooMany())
    with pytest.raises(EmbeddingError, match="2 vectors for 1 texts"):
        memory.index_turn(TURN)
    assert memory.count() == 0


def test_what_an_embedder_raises_reaches_the_one_who_asked(opened: Opener) -> None:
    class BrokenError(Exception):
        pass

    embedder = FakeEmbedder(fail=lambda text: BrokenError("no") if "bad" in text else None)
    memory = opened(embedder=embedder)
    memory.index_turn(TURN)
    for ask in (lambda: memory.index_turn_text("bad", TURN), lambda: memory.search("bad")):
        with pytest.raises(BrokenError):
            ask()
    assert memory.count() == 1


# Remembering in the background


def test_a_remembered_turn_has_the_shape_of_the_source_document(opened: Opener) -> None:
    memory = opened()
    turn_id = memory.remember("Where is the key?", "Under the mat.", timestamp=12.5, metadata={"prompt_name": "key"})
    (hit,) = memory.search("key")
    assert hit.text == "Where is the key?\nUnder the mat."
    assert hit.metadata == {"prompt_name": "key"}
    assert hit.turn["role"] == "assistant"
    assert hit.turn["content"] == [{"type": "text", "text": hit.text}]
    assert hit.turn["timestamp"] == 12.5
    assert hit.turn["metadata"]["prompt_name"] == "key"
    assert (hit.turn_id, hit.prompt, hit.response, hit.scope) == (
        turn_id,
        "Where is the key?",
        "Under the mat.",
        MemoryScope(source_type="api"),
    )


def test_a_turn_keeps_whose_it_is(opened: Opener) -> None:
    memory = opened()
    memory.remember("a", "b", scope=MemoryScope(actor_id="u1", actor_type="user", participant_ids=("u1", "u2")))
    (hit,) = memory.search("a")
    assert hit.scope == MemoryScope(actor_id="u1", actor_type="user", source_type="api")
    assert hit.metadata == {}


def test_a_turn_from_elsewhere_has_an_id_and_does_not_guess_what_was_asked(opened: Opener) -> None:
    memory = opened()
    memory.index_turn(TURN)
    first, again = memory.search("house")[0], memory.search("red")[0]
    assert first.turn_id == again.turn_id != ""
    assert (first.prompt, first.response, first.scope) == (None, None, MemoryScope())


def test_every_remembered_turn_has_an_id_of_its_own(opened: Opener) -> None:
    memory = opened()
    assert len({memory.remember("same", "same", timestamp=1.0) for _ in range(50)}) == 50


def test_a_search_finds_what_was_remembered_before_it(opened: Opener) -> None:
    memory = opened()
    for number in range(40):
        memory.remember(f"question {number}", f"answer {number}")
        assert (
            memory.search(f"question {number} answer {number}", top_k=1)[0].text
            == f"question {number}\nanswer {number}"
        )


def test_a_search_that_may_not_wait_gives_what_there_is(opened: Opener) -> None:
    embedder = WatchedEmbedder()
    memory = opened(embedder=embedder)
    memory.index_turn(TURN)

    class Held(FakeEmbedder):
        def embed(self, texts: list[str]) -> Any:
            if any("late" in text for text in texts):
                self.gate.wait()
            return FakeEmbedder().embed(texts)

    memory.reindex(held := Held())
    held.gate.clear()
    memory.remember("late", "turn")
    assert [hit.text for hit in memory.search("house", wait=0)] == ["red house"]
    assert [hit.text for hit in memory.search("house", wait=0.05)] == ["red house"]
    held.gate.set()
    assert len(memory.search("house", wait=float("inf"))) == 2


@pytest.mark.parametrize("arguments", [(None, "b"), ("a", None), (1, "b"), ("a", b"b"), (["a"], "b")])
def test_a_prompt_and_a_response_are_texts(opened: Opener, arguments: Any) -> None:
    with pytest.raises(ArgumentTypeError, match=r"^(prompt|response) must be text"):
        opened().remember(*arguments)


@pytest.mark.parametrize(
    "keywords",
    [
        {"timestamp": "now"},
        {"timestamp": float("nan")},
        {"timestamp": float("inf")},
        {"timestamp": True},
        {"metadata": ["a"]},
        {"metadata": "a"},
        {"metadata": {"k": object()}},
        {"scope": "u1"},
        {"agent_actor_id": 5},
    ],
)
def test_a_wrong_argument_is_named_at_the_call(opened: Opener, keywords: Any) -> None:
    memory = opened()
    with pytest.raises((ArgumentTypeError, InvalidArgumentError), match=next(iter(keywords))):
        memory.remember("a", "b", **keywords)
    assert memory.flush() == FlushResult(0, 0, 0)


# Searching


@pytest.mark.parametrize("query", ["", "  \n", None, 5, b"key", ["key"]])
def test_a_query_is_text_that_says_something(opened: Opener, query: Any) -> None:
    embedder = FakeEmbedder()
    memory = opened(embedder=embedder)
    with pytest.raises((ArgumentTypeError, InvalidArgumentError), match="query"):
        memory.search(query)
    assert embedder.calls == []


@pytest.mark.parametrize(
    "keywords",
    [
        {"top_k": "5"},
        {"top_k": 2.0},
        {"top_k": None},
        {"top_k": True},
        {"threshold": float("nan")},
        {"threshold": "0.5"},
        {"threshold": True},
        {"wait": -1},
        {"wait": "2"},
        {"wait": float("nan")},
    ],
)
async def test_a_wrong_argument_of_a_search_is_named_before_anything_is_embedded(opened: Opener, keywords: Any) -> None:
    embedder = FakeEmbedder()
    memory = opened(embedder=embedder)
    name = next(iter(keywords))
    with pytest.raises((TypeError, ValueError), match=name):
        memory.search("key", **keywords)
    with pytest.raises((TypeError, ValueError), match=name):
        await memory.asearch("key", **keywords)
    assert embedder.calls == []


def test_an_empty_memory_finds_nothing_and_asks_no_embedder(opened: Opener) -> None:
    embedder = FakeEmbedder(fail=lambda text: RuntimeError("asked"))
    assert opened(embedder=embedder).search("anything") == []


def test_one_search_embeds_its_query_once(opened: Opener) -> None:
    embedder = FakeEmbedder()
    memory = opened(embedder=embedder)
    memory.index_turn(TURN)
    memory.search("house")
    assert embedder.calls == [["red house"], ["house"]]


def test_top_k_and_threshold_reach_the_store(opened: Opener) -> None:
    memory = opened(embedder=Table({"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0]}))
    for text in "abc":
        memory.index_turn_text(text, TURN)
    assert [hit.text for hit in memory.search("a")] == ["a", "c", "b"]
    assert [hit.text for hit in memory.search("a", 1)] == ["a"]
    assert [hit.text for hit in memory.search("a", threshold=0.5)] == ["a", "c"]
    assert [hit.text for hit in memory.search("a", threshold=0.0)] == ["a", "c", "b"]
    assert memory.search("a", 0) == memory.search("a", -1) == memory.search("a", threshold=2.0) == []


# Async twins


async def test_the_async_twins_do_the_same_and_await_the_embedder(opened: Opener) -> None:
    vectors = {"red house": [1.0, 0.0], "boat": [0.0, 1.0], "query": [1.0, 1.0]}
    embedder = AsyncTable(vectors)
    memory, twin = opened(embedder=embedder), opened(embedder=Table(vectors))
    assert await memory.aindex_turn(TURN, {"n": 1}) == twin.index_turn(TURN, {"n": 1}) == 0
    assert await memory.aindex_turn_text("boat", TURN) == twin.index_turn_text("boat", TURN) == 1
    assert await memory.asearch("query", 2, 0.1) == twin.search("query", 2, 0.1)
    assert (embedder.calls, embedder.awaited) == ([], [["red house"], ["boat"], ["query"]])
    assert list(memory.store.iter_entries()) == list(twin.store.iter_entries())


async def test_the_async_twins_work_without_an_async_embedder(opened: Opener) -> None:
    memory = opened()
    await memory.aindex_turn(TURN)
    memory.remember("blue boat", "yes")
    assert [hit.text for hit in await memory.asearch("house")] == ["red house", "blue boat\nyes"]
    assert await memory.asearch("house", 0) == []
    await memory.areindex(FakeEmbedder(16))
    assert await memory.aflush() == FlushResult(2, 0, 0)
    assert await memory.aclose() == FlushResult(2, 0, 0)


async def test_an_async_search_does_not_hold_the_loop_up(opened: Opener) -> None:
    embedder = WatchedEmbedder()
    memory = opened(embedder=embedder)
    with embedder.held():
        memory.remember("slow", "turn")
        search = asyncio.create_task(memory.asearch("slow", wait=float("inf")))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not search.done()
    assert [hit.text for hit in await search] == ["slow\nturn"]


def test_every_method_that_embeds_or_waits_has_its_twin_with_the_same_signature() -> None:
    for name in ("index_turn", "index_turn_text", "search", "reindex", "flush", "close"):
        plain, twin = getattr(Memory, name), getattr(Memory, f"a{name}")
        assert inspect.signature(plain) == inspect.signature(twin)
        assert inspect.iscoroutinefunction(inspect.unwrap(twin))


# Loops that come and go


def test_it_works_wherever_there_is_a_loop_none_or_a_closed_one(opened: Opener) -> None:
    memory = opened()

    def remember_and_search(word: str) -> None:
        memory.remember(word, "x")
        assert memory.search(word, top_k=1)[0].text == f"{word}\nx"

    async def in_a_loop() -> None:
        remember_and_search("loop")
        assert len(await memory.asearch("loop")) == 2

    remember_and_search("plain")
    asyncio.run(in_a_loop())
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.close()
    try:
        remember_and_search("closed")
    finally:
        asyncio.set_event_loop(None)
    assert memory.count() == 3


def test_an_async_client_of_one_loop_is_used_in_that_loop_only(opened: Opener) -> None:
    class OneLoop(FakeEmbedder):
        loop: Any = None

        async def aembed(self, texts: list[str]) -> Any:
            current = asyncio.get_running_loop()
            self.loop = self.loop or current
            assert self.loop is current, "a client of another loop is used"
            await asyncio.sleep(0)
            return self.embed(texts)

    memory = opened(embedder=OneLoop())

    async def talk() -> None:
        for number in range(5):
            memory.remember(f"turn {number}", "x")
            await memory.asearch("turn", wait=float("inf"))
            await asyncio.to_thread(memory.search, "turn")

    asyncio.run(talk())
    assert memory.flush() == FlushResult(5, 0, 0)


# The end


def test_after_close_nothing_is_added_and_all_is_found(opened: Opener) -> None:
    memory = opened()
    memory.remember("red house", "yes")
    memory.close()
    for add in (
        lambda: memory.remember("a", "b"),
        lambda: memory.index_turn(TURN),
        lambda: memory.index_turn_text("a", TURN),
        lambda: memory.reindex(FakeEmbedder()),
        memory.clear,
        memory.retry_failed,
        lambda: asyncio.run(memory.aindex_turn(TURN)),
    ):
        with pytest.raises(ClosedError, match="closed"):
            add()
    assert [hit.text for hit in memory.search("house")] == ["red house\nyes"]
    assert [hit.text for hit in asyncio.run(memory.asearch("house"))] == ["red house\nyes"]
    assert memory.count() == 1
    assert memory.status().closed


def test_the_status_of_a_memory_in_memory(opened: Opener) -> None:
    memory = opened(embedder=FakeEmbedder(16, model="some/model"))
    assert not memory.status().closed
    assert memory.status().dimensions == 16
    memory.remember("a", "b")
    memory.flush()
    status = memory.status()
    assert (status.backend, status.model, status.dimensions) == ("FakeEmbedder", "some/model", 16)
    assert (status.indexed, status.pending, status.failed, status.not_durable) == (1, 0, (), 0)
    assert (status.problem, dict(status.files), status.notes) == (None, {}, ())


def test_a_memory_without_a_place_writes_no_file(
    opened: Opener, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    memory = opened()
    memory.remember("a", "b")
    memory.close()
    assert list(tmp_path.iterdir()) == []
