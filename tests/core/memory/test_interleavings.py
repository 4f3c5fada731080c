"""What happens between two steps of something: nothing is lost, doubled or brought back."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ffai.core.memory import TurnVectorStore, load_store
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener
from tests.doubles.embedders import WatchedEmbedder


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    pause = threading.Event()
    for _ in range(2000):
        if condition():
            return
        pause.wait(0.005)
    raise AssertionError("it never came to that")


class ReportingEmbedder(FakeEmbedder):
    """Tells when it is asked for its name."""

    def __init__(self, asked: Callable[[], None]) -> None:
        super().__init__()
        self._asked = asked

    @property
    def model(self) -> str:
        self._asked()
        return "fake/reporting"

    @model.setter
    def model(self, name: str) -> None: ...


def test_a_turn_that_is_embedded_while_files_are_opened_gets_into_them(opened: Opener, tmp_path: Path) -> None:
    def asked() -> None:
        """Let the turn be embedded when most of the opening is done."""
        if embedder.calls and threading.current_thread() is threading.main_thread():
            embedder.gate.set()
            threading.Event().wait(0.3)

    embedder = ReportingEmbedder(asked)
    memory = opened(embedder=embedder)
    embedder.gate.clear()
    memory.remember("Where is the red key?", "Under the mat.")
    until(lambda: bool(embedder.calls))
    memory.persist_to(tmp_path)
    memory.close()
    assert memory.count() == 1
    assert load_store(tmp_path / "ffai_turns.parquet").count() == 1


def test_a_file_that_is_being_written_is_forgotten_too(opened: Opener, tmp_path: Path) -> None:
    store = TurnVectorStore()
    for number in range(200):  # enough for the writing to take a moment
        store.add(random.randbytes(100_000).hex(), [1.0] * 64, {"number": number})
    memory = opened(tmp_path, store=store)
    until(lambda: any(tmp_path.glob(".*.tmp")))
    memory.clear()
    memory.remember("Where is the red key?", "Under the mat.")
    memory.close()
    assert [entry.text for entry in load_store(tmp_path / "ffai_turns.parquet").iter_entries()] == [
        "Where is the red key?\nUnder the mat."
    ]


def test_a_flush_ends_while_turns_keep_coming(opened: Opener, tmp_path: Path) -> None:
    class Busy(FakeEmbedder):
        """Another turn has come whenever one is embedded."""

        def embed(self, texts: list[str]) -> Any:
            if going.is_set():
                memory.remember("And another?", "Yes.")
            return super().embed(texts)

    going = threading.Event()
    memory = opened(tmp_path, Busy(delay=0.02))
    going.set()
    memory.remember("Where is the red key?", "Under the mat.")
    flushed = threading.Thread(target=memory.flush, daemon=True)
    flushed.start()
    flushed.join(5)
    ended = not flushed.is_alive()
    going.clear()
    assert ended
    assert load_store(tmp_path / "ffai_turns.parquet").count() >= 1


def test_an_embedder_that_ends_its_thread_fails_its_turns(opened: Opener) -> None:
    memory = opened(embedder=FakeEmbedder(fail=lambda text: SystemExit("no licence") if "banana" in text else None))
    memory.remember("banana?", "Yes.")
    memory.remember("apple?", "Yes.")
    result = memory.flush(timeout=5)
    assert (result.indexed, result.pending, result.failed) == (1, 0, 1)
    assert memory.status().failed[0].reason == "SystemExit: no licence"


def test_a_turn_that_is_stored_twice_can_be_reindexed(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("Where is the red key?", "Under the mat.")
    hit = memory.search("the red key")[0]
    memory.index_turn_text(hit.text, hit.turn, hit.metadata)
    memory.reindex(FakeEmbedder(16, model="fake/other"))
    memory.close()
    again = opened(tmp_path, FakeEmbedder(16, model="fake/other"))
    assert again.status().dimensions == 16
    assert again.count() == 1


def test_the_file_tells_the_model_whose_vectors_it_holds(opened: Opener, tmp_path: Path) -> None:
    def asked() -> None:
        if threading.current_thread().name == "ffai-memory" and memory.store.count():
            changed.set()
            changing.join(5)

    changed = threading.Event()
    memory = opened(tmp_path, ReportingEmbedder(asked))
    changing = threading.Thread(target=lambda: changed.wait(5) and memory.reindex(FakeEmbedder(model="fake/new")))
    changing.start()
    memory.remember("Where is the red key?", "Under the mat.")
    memory.flush()
    changed.set()
    changing.join(5)
    memory.close()
    again = opened(tmp_path, FakeEmbedder(model="fake/new"))
    again.flush()
    assert again.embeddings.calls == []  # type: ignore[attr-defined]


def test_a_memory_can_be_tied_to_its_own_files_again(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.persist_to(tmp_path)
    memory.remember("Where is the red key?", "Under the mat.")
    memory.close()
    assert load_store(tmp_path / "ffai_turns.parquet").count() == 1
    assert opened(tmp_path).count() == 1


def test_turns_of_another_model_are_embedded_again_where_files_are_shared(
    opened: Opener, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = opened(tmp_path, FakeEmbedder(model="fake/first"))
    first.remember("Where is the red key?", "Under the mat.")
    first.flush()
    second = opened(embedder=FakeEmbedder(16, model="fake/second"))
    second.remember("Where is the blue boat?", "In the harbour.")
    second.flush()
    second.persist_to(tmp_path)
    assert "'fake/second'" in caplog.text
    second.flush()
    for memory in (first, second):
        assert memory.search("the blue boat", top_k=1)[0].response == "In the harbour."
    second.close()
    first.close()
    assert load_store(tmp_path / "ffai_turns.parquet").count() == 2


class SwitchingEmbedder(FakeEmbedder):
    """Is replaced while it embeds a query."""

    def __init__(self, replace: Callable[[], None]) -> None:
        super().__init__()
        self._replace = replace

    def embed(self, texts: list[str]) -> Any:
        if texts == ["the red key"]:
            self._replace()
        return super().embed(texts)


@pytest.mark.parametrize("dimensions", [16, 64])
async def test_a_query_is_embedded_again_where_the_model_changed_meanwhile(opened: Opener, dimensions: int) -> None:
    other = FakeEmbedder(dimensions, model="fake/other")
    for _ in ("search", "asearch"):
        memory = opened(embedder=SwitchingEmbedder(lambda: memory.reindex(other)))  # noqa: B023
        memory.remember("Where is the red key?", "Under the mat.")
        memory.flush()
        hits = memory.search("the red key") if _ == "search" else await memory.asearch("the red key")
        assert [hit.response for hit in hits] == ["Under the mat."]
        assert other.calls[-1] == ["the red key"]


async def test_an_async_call_does_not_hold_the_loop_up_while_files_are_opened(opened: Opener, tmp_path: Path) -> None:
    loop_went_on = threading.Event()
    opening = threading.Event()

    def asked() -> None:
        if threading.current_thread().name == "opening":
            opening.set()
            loop_went_on.wait(5)

    memory = opened(embedder=ReportingEmbedder(asked))
    thread = threading.Thread(target=memory.persist_to, args=(tmp_path,), name="opening")
    thread.start()
    assert opening.wait(5)
    turn = {"role": "user", "content": "red house", "timestamp": 0.0, "metadata": {}}
    indexing = asyncio.create_task(memory.aindex_turn(turn))
    await asyncio.sleep(0.1)
    loop_went_on.set()
    await indexing
    thread.join(5)
    assert memory.count() == 1
    memory.close()
    assert load_store(tmp_path / "ffai_turns.parquet").count() == 1


def test_what_is_forgotten_while_all_is_embedded_again_shifts_no_vector_to_another_turn(opened: Opener) -> None:
    memory = opened()
    ids = [memory.remember(f"old {number}", "x") for number in range(5)]
    memory.flush()
    new = WatchedEmbedder(16, model="fake/new")
    with new.held():
        thread = threading.Thread(target=memory.reindex, args=(new,))
        thread.start()
        assert new.entered.wait(10)
        memory.forget(ids[0])
        memory.remember("late", "x")
        memory.flush()
    thread.join(10)
    assert not thread.is_alive()
    right = FakeEmbedder(16)
    texts = [*(f"old {number}\nx" for number in range(1, 5)), "late\nx"]
    assert {entry.text: entry.embedding for entry in memory.store.iter_entries()} == {
        text: right.embed([text])[0].tolist() for text in texts
    }
