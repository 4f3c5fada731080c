"""Another embedder: by reindex, and by opening files with one."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ffai.core.memory import FlushResult, Memory, TurnVectorStore, load_store, persist_store
from ffai.core.memory.opening import remembered_model
from ffai.core.memory.place import Place
from ffai.errors import ArgumentTypeError, BadVectorError, EmbeddingError, InvalidArgumentError, ModelChangedError
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener
from tests.doubles.embedders import Letters, Table, WatchedEmbedder

OTHER = "fake/other"


class FailsAfter(FakeEmbedder):
    """Works for a number of calls, then raises."""

    def __init__(self, calls: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.good = calls

    def embed(self, texts: list[str]) -> Any:
        if len(self.calls) >= self.good:
            raise RuntimeError("the network is gone")
        return super().embed(texts)


def entries(memory: Memory) -> list[tuple[str, Any, Any]]:
    return [(entry.text, entry.turn, entry.metadata) for entry in memory.store.iter_entries()]


def filled(memory: Memory, count: int = 5) -> Memory:
    for number in range(count):
        memory.index_turn_text(f"turn {number}", {"role": "user", "n": number}, {"n": number})
    return memory


# Reindex


def test_all_turns_get_vectors_of_the_new_embedder_and_nothing_else_changes(opened: Opener) -> None:
    memory = filled(opened(embedder=FakeEmbedder(8)))
    before = entries(memory)
    new = FakeEmbedder(16)
    memory.reindex(new)
    assert entries(memory) == before
    assert memory.embeddings is new
    assert {len(entry.embedding) for entry in memory.store.iter_entries()} == {16}
    assert memory.search("turn 3", top_k=1)[0].score == pytest.approx(1.0)
    memory.index_turn_text("later", {})
    memory.remember("even", "later")
    assert memory.flush() == FlushResult(7, 0, 0)
    assert [call for call in new.calls if "later" in call] == [["later"]]


def test_an_empty_memory_only_changes_its_embedder(opened: Opener) -> None:
    memory = opened(embedder=FakeEmbedder(8))
    new = FakeEmbedder(16)
    memory.reindex(new)
    assert (memory.embeddings, new.calls) == (new, [])
    memory.index_turn_text("a", {})
    assert memory.store.dimensions == 16


@pytest.mark.parametrize("embedder", [None, object(), "local/all-MiniLM-L6-v2"])
async def test_what_embeds_nothing_is_refused(opened: Opener, embedder: Any) -> None:
    memory = opened()
    with pytest.raises(ArgumentTypeError, match="embed"):
        memory.reindex(embedder)
    with pytest.raises(ArgumentTypeError, match="embed"):
        await memory.areindex(embedder)
    filled(memory)


@pytest.mark.parametrize(
    ("new", "error"),
    [
        (Table({f"turn {number}": [1.0, 2.0] for number in range(4)}), KeyError),
        (Table({f"turn {number}": [1.0, 2.0] if number < 4 else [0.0, 0.0] for number in range(5)}), BadVectorError),
        (Table({f"turn {number}": [1.0] * (2 + number // 4) for number in range(5)}), BadVectorError),
        (Table({f"turn {number}": [float("nan"), 1.0] for number in range(5)}), BadVectorError),
    ],
)
def test_a_failure_leaves_the_store_whole_and_usable(
    opened: Opener, tmp_path: Path, new: Any, error: type[Exception]
) -> None:
    old = FakeEmbedder()
    memory = filled(opened(tmp_path, old))
    before = list(memory.store.iter_entries())
    with pytest.raises(error):
        memory.reindex(new)
    assert memory.embeddings is old
    assert list(memory.store.iter_entries()) == before
    assert memory.search("turn 2", top_k=1)[0].text == "turn 2"
    memory.remember("go", "on")
    assert memory.close() == FlushResult(6, 0, 0)
    assert opened(tmp_path).count() == 6


def test_too_few_vectors_leave_the_store_whole(opened: Opener) -> None:
    class TooFew(FakeEmbedder):
        def embed(self, texts: list[str]) -> Any:
            return super().embed(texts)[:2]

    memory = filled(opened())
    with pytest.raises(EmbeddingError, match="2 vectors for 5 texts"):
        memory.reindex(TooFew())
    assert (memory.count(), memory.search("turn 4", top_k=1)[0].text) == (5, "turn 4")


def test_a_failure_in_a_later_batch_leaves_the_store_whole(opened: Opener) -> None:
    memory = filled(opened(), 100)
    before = list(memory.store.iter_entries())
    with pytest.raises(RuntimeError, match="network"):
        memory.reindex(FailsAfter(2, dimensions=16))
    assert list(memory.store.iter_entries()) == before
    memory.reindex(FakeEmbedder(16))
    assert memory.search("turn 77", top_k=1)[0].text == "turn 77"


def test_turns_that_come_meanwhile_are_embedded_by_the_new_one_too(opened: Opener, tmp_path: Path) -> None:
    memory = filled(opened(tmp_path))
    new = WatchedEmbedder(32, model=OTHER)
    with new.held():
        working = threading.Thread(target=memory.reindex, args=(new,))
        working.start()
        assert new.entered.wait(10)
        memory.remember("during", "x")
        assert memory.flush() == FlushResult(6, 0, 0), "the old one still works"
        memory.index_turn_text("during too", {})
        assert memory.search("during too", top_k=1)[0].text == "during too"
    working.join(10)
    memory.remember("after", "x")
    assert memory.flush() == FlushResult(8, 0, 0)
    assert {len(entry.embedding) for entry in memory.store.iter_entries()} == {32}
    assert memory.search("during x", top_k=1)[0].text == "during\nx"
    memory.close()
    again = opened(tmp_path, asked := FakeEmbedder(32, model=OTHER))
    assert (again.count(), asked.calls) == (8, [])


def test_what_the_old_one_was_doing_meanwhile_is_done_again_by_the_new_one(opened: Opener, tmp_path: Path) -> None:
    old = WatchedEmbedder(16, model="fake/old")
    memory = filled(opened(tmp_path, old))
    memory.flush()
    old.entered.clear()
    with old.held():
        memory.remember("half", "done")
        assert old.entered.wait(10)
        memory.reindex(FakeEmbedder(32, model=OTHER))
    assert memory.flush() == FlushResult(6, 0, 0)
    assert {len(entry.embedding) for entry in memory.store.iter_entries()} == {32}
    memory.close()
    assert remembered_model(Place(tmp_path, "ffai_turns")) == OTHER
    again = opened(tmp_path, asked := FakeEmbedder(32, model=OTHER))
    assert (again.count(), asked.calls) == (6, [])


def test_searching_while_the_size_changes_never_fails(opened: Opener) -> None:
    memory = filled(opened(embedder=FakeEmbedder(8)))
    failures: list[Exception] = []
    done = threading.Event()

    def search() -> None:
        try:
            while not done.is_set():
                assert len(memory.search("turn 1", wait=0)) == 5
        except Exception as error:
            failures.append(error)

    def index() -> None:
        try:
            for number in range(40):
                memory.index_turn_text(f"more {number}", {})
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=search), threading.Thread(target=search), threading.Thread(target=index)]
    for thread in threads:
        thread.start()
    for size in (16, 32, 8) * 10:
        memory.reindex(FakeEmbedder(size))
    threads[2].join()
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert memory.count() == 45


@pytest.mark.parametrize("same", [False, True], ids=["another size", "the same size"])
def test_after_a_restart_the_files_are_those_of_the_new_one(opened: Opener, tmp_path: Path, same: bool) -> None:
    size = 64 if same else 32
    memory = filled(opened(tmp_path))
    memory.remember("prompt", "reply")
    memory.flush()
    ids = {hit.turn_id for hit in memory.search("turn", top_k=10)}
    memory.reindex(FakeEmbedder(size, model=OTHER))
    memory.close()
    assert remembered_model(Place(tmp_path, "ffai_turns")) == OTHER
    again = opened(tmp_path, asked := FakeEmbedder(size, model=OTHER))
    assert asked.calls == []
    assert {hit.turn_id for hit in again.search("turn", top_k=10)} == ids
    assert {len(vector) for vector in pl.read_parquet(tmp_path / "ffai_turns.parquet")["embedding"]} == {size}


def test_two_turns_of_one_content_are_reindexed_as_two(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    for _ in range(2):
        memory.index_turn_text("same", {"role": "user"}, {"n": 1})
    hit = memory.search("same")[0]
    memory.remember("a", "b")
    mine = memory.search("a b", top_k=1)[0]
    memory.store.add(mine.text, FakeEmbedder().embed([mine.text])[0], mine.turn, mine.metadata)
    memory.reindex(FakeEmbedder(32, model=OTHER))
    assert memory.count() == 3, "a turn with an id of its own is there once"
    assert {len(entry.embedding) for entry in memory.store.iter_entries()} == {32}
    assert memory.search("same")[0].text == hit.text


# The same content twice


def test_a_turn_indexed_twice_is_there_twice_after_a_restart(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    assert [memory.index_turn_text("same", {"b": 1, "a": 2}, {"n": 1}) for _ in range(2)] == [0, 1]
    assert memory.index_turn_text("same", {"a": 2, "b": 1}, {"n": 1}) == 2
    memory.close()
    again = opened(tmp_path)
    assert again.count() == 3
    assert again.index_turn_text("same", {"b": 1, "a": 2}, {"n": 1}) == 3
    again.close()
    assert opened(tmp_path).count() == 4


# Opening with another model


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize("size", [64, 32], ids=["the same size", "another size"])
def test_a_collection_of_another_model_is_embedded_again(
    opened: Opener, tmp_path: Path, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    memory = filled(opened(tmp_path))
    memory.remember("prompt", "reply")
    before = sorted(map(str, entries(memory) if memory.flush() else []))
    memory.close()
    again = opened(tmp_path, new := FakeEmbedder(size, model=OTHER))
    assert any(OTHER in text and "fake/hashed-words" in text for text in warnings(caplog))
    assert again.flush() == FlushResult(6, 0, 0)
    assert sorted(text for call in new.calls for text in call) == sorted(entry[0] for entry in entries(again))
    assert sorted(map(str, entries(again))) == before
    assert {len(entry.embedding) for entry in again.store.iter_entries()} == {size}
    again.close()
    last = opened(tmp_path, asked := FakeEmbedder(size, model=OTHER))
    assert (last.flush(), asked.calls) == (FlushResult(6, 0, 0), [])


def test_a_model_known_by_its_name_is_not_asked_again(opened: Opener, tmp_path: Path) -> None:
    filled(opened(tmp_path)).close()
    again = opened(tmp_path, asked := FakeEmbedder())
    assert (again.flush(), asked.calls) == (FlushResult(5, 0, 0), [])


def test_a_file_that_names_no_model_is_told_by_the_size_of_its_vectors(opened: Opener, tmp_path: Path) -> None:
    store = TurnVectorStore()
    for number in range(3):
        store.add(f"turn {number}", [float(number), 1.0], {"n": number})
    persist_store(store, tmp_path / "same.parquet")
    persist_store(store, tmp_path / "another.parquet")
    same = opened(tmp_path, asked := FakeEmbedder(2), name="same")
    assert (same.flush(), asked.calls) == (FlushResult(3, 0, 0), [])
    another = opened(tmp_path, new := FakeEmbedder(8), name="another")
    assert another.flush() == FlushResult(3, 0, 0)
    assert sorted(text for call in new.calls for text in call) == ["turn 0", "turn 1", "turn 2"]
    assert another.store.dimensions == 8


class Unsized(FakeEmbedder):
    """Does not say how many numbers its vectors have."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size
        del self.dimensions

    def _vector(self, words: Any) -> Any:
        return FakeEmbedder(self.size)._vector(words)


@pytest.mark.parametrize("first", ["a turn", "a turn at once", "a query", "an async query"])
async def test_a_file_that_names_no_model_is_told_by_the_first_vector_that_comes(
    opened: Opener, tmp_path: Path, first: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = TurnVectorStore()
    for number in range(3):
        store.add(f"turn {number}", [float(number), 1.0], {"n": number})
    persist_store(store, tmp_path / "ffai_turns.parquet")
    memory = opened(tmp_path, Unsized(8))
    assert memory.count() == 3
    if first == "a turn":
        memory.remember("turn 3", "x")
    elif first == "a turn at once":
        memory.index_turn_text("turn 3", {})
    elif first == "a query":
        memory.search("turn")
    else:
        await memory.asearch("turn")
    added = int(first.startswith("a turn"))
    assert memory.flush() == FlushResult(3 + added, 0, 0)
    assert [text for text in warnings(caplog) if "2 numbers" in text and "have 8" in text] != []
    assert {len(entry.embedding) for entry in memory.store.iter_entries()} == {8}
    assert memory.search("turn 2", top_k=1)[0].text == "turn 2"
    memory.close()
    again = opened(tmp_path, asked := Unsized(8))
    assert (again.flush(), asked.calls) == (FlushResult(3 + added, 0, 0), [])


def test_a_wrong_vector_of_a_model_that_is_known_changes_nothing(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path, Unsized(8))
    memory.remember("a", "b")
    memory.close()
    again = opened(tmp_path, Unsized(16))
    again.remember("c", "d")
    assert again.flush() == FlushResult(1, 0, 1)
    assert "16 dimensions" in again.status().failed[0].reason
    with pytest.raises(BadVectorError):
        again.search("a")
    assert [entry.text for entry in again.store.iter_entries()] == ["a\nb"]


def test_the_old_file_stays_whole_until_every_turn_has_its_new_vector(opened: Opener, tmp_path: Path) -> None:
    filled(opened(tmp_path)).close()
    whole = (tmp_path / "ffai_turns.parquet").read_bytes()
    with (new := WatchedEmbedder(32, model=OTHER)).held():
        memory = opened(tmp_path, new)
        assert new.entered.wait(10)
        assert (tmp_path / "ffai_turns.parquet").read_bytes() == whole
        memory.close(0)
    assert (tmp_path / "ffai_turns.parquet").read_bytes() == whole


def test_an_interrupted_change_is_resumed_by_the_next_start(opened: Opener, tmp_path: Path) -> None:
    filled(opened(tmp_path), 100).close()
    whole = (tmp_path / "ffai_turns.parquet").read_bytes()

    class StopsHalfWay(WatchedEmbedder):
        def embed(self, texts: list[str]) -> Any:
            if self.calls:
                self.gate.clear()
                half.set()
            return super().embed(texts)

    half = threading.Event()
    memory = opened(tmp_path, first := StopsHalfWay(32, model=OTHER))
    assert half.wait(10)
    assert memory.close(0).indexed == 32
    assert (tmp_path / "ffai_turns.parquet").read_bytes() == whole
    again = opened(tmp_path, new := FakeEmbedder(32, model=OTHER))
    assert again.flush() == FlushResult(100, 0, 0)
    assert sum(len(call) for call in new.calls) == 68, "what was done is not done again"
    first.gate.set()
    again.close()
    last = opened(tmp_path, asked := FakeEmbedder(32, model=OTHER))
    assert (last.flush(), asked.calls) == (FlushResult(100, 0, 0), [])
    assert len({entry.text for entry in last.store.iter_entries()}) == 100


def test_an_interrupted_change_can_be_taken_back(opened: Opener, tmp_path: Path) -> None:
    filled(opened(tmp_path), 50).close()
    with (new := WatchedEmbedder(32, model=OTHER)).held():
        memory = opened(tmp_path, new)
        assert new.entered.wait(10)
        memory.close(0)
    again = opened(tmp_path)
    assert again.flush() == FlushResult(50, 0, 0)
    assert {len(entry.embedding) for entry in again.store.iter_entries()} == {64}
    again.close()
    assert opened(tmp_path).flush() == FlushResult(50, 0, 0)


def test_a_turn_the_new_model_refuses_is_kept_with_its_reason(opened: Opener, tmp_path: Path) -> None:
    filled(opened(tmp_path)).close()
    refusing = FakeEmbedder(32, model=OTHER, fail=lambda text: ValueError("no") if text == "turn 3" else None)
    memory = opened(tmp_path, refusing)
    assert memory.flush() == FlushResult(4, 0, 1)
    assert [turn.text for turn in memory.status().failed] == ["turn 3"]
    memory.close()
    again = opened(tmp_path, FakeEmbedder(32, model=OTHER))
    assert again.flush() == FlushResult(4, 0, 1)
    assert again.retry_failed() == 1
    assert again.flush() == FlushResult(5, 0, 0)


def test_while_the_new_model_can_not_be_reached_nothing_is_lost(opened: Opener, tmp_path: Path) -> None:
    filled(opened(tmp_path)).close()
    whole = load_store(tmp_path / "ffai_turns.parquet").count()
    memory = opened(tmp_path, FakeEmbedder(32, model=OTHER, fail=lambda text: RuntimeError("down")))
    assert memory.flush() == FlushResult(0, 0, 5)
    memory.close()
    again = opened(tmp_path, FakeEmbedder(32, model=OTHER))
    again.retry_failed()
    assert again.flush() == FlushResult(whole, 0, 0)


def test_the_old_file_stays_whole_while_the_new_model_is_away(opened: Opener, tmp_path: Path) -> None:
    filled(opened(tmp_path), 50).close()
    whole = (tmp_path / "ffai_turns.parquet").read_bytes()

    class GoesAway(FakeEmbedder):
        def embed(self, texts: list[str]) -> Any:
            if self.calls:
                raise ConnectionError("away")
            return super().embed(texts)

    memory = opened(tmp_path, GoesAway(32, model=OTHER))
    assert memory.flush() == FlushResult(32, 0, 18)
    memory.close()
    assert (tmp_path / "ffai_turns.parquet").read_bytes() == whole
    again = opened(tmp_path, FakeEmbedder(32, model=OTHER))
    again.retry_failed()
    assert again.flush() == FlushResult(50, 0, 0)
    assert len(pl.read_parquet(tmp_path / "ffai_turns.parquet")) == 50


# Which model it was


def test_the_model_is_remembered_and_a_new_folder_has_none(opened: Opener, tmp_path: Path, monkeypatch: Any) -> None:
    assert remembered_model(Place(tmp_path / "none", "ffai_turns")) is None
    monkeypatch.chdir(tmp_path)
    assert remembered_model(Place(Path("none"), "ffai_turns")) is None
    memory = opened(tmp_path, WatchedEmbedder(model=OTHER))
    assert remembered_model(Place(tmp_path, "ffai_turns")) is None, "it has made no vector"
    memory.index_turn_text("a", {"role": "user"})
    assert remembered_model(Place(tmp_path, "ffai_turns")) == OTHER
    assert remembered_model(Place(Path(), "ffai_turns")) == OTHER
    memory.remember("a", "b")
    memory.close()
    assert remembered_model(Place(tmp_path, "ffai_turns")) == OTHER


def test_a_file_of_another_program_names_no_model(tmp_path: Path) -> None:
    data = Path(__file__).parents[2] / "data" / "ffai-0.1.8.parquet"
    (tmp_path / "ffai_turns.parquet").write_bytes(data.read_bytes())
    assert remembered_model(Place(tmp_path, "ffai_turns")) is None
    (tmp_path / "ffai_turns.parquet").write_bytes(b"garbage")
    assert remembered_model(Place(tmp_path, "ffai_turns")) is None


def test_an_embedder_without_a_name_goes_by_its_class(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path, Letters())
    assert memory.status().model == "tests.doubles.embedders.Letters"
    memory.index_turn_text("abc", {})
    memory.close()
    assert opened(tmp_path, Letters()).count() == 1


def test_a_changed_model_can_be_an_error(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path, FakeEmbedder(model="fake/old"))
    memory.remember("Where is the red key?", "Under the mat.")
    memory.close()
    before = (tmp_path / "ffai_turns.parquet").read_bytes()
    with pytest.raises(ModelChangedError, match="'fake/old', 64 numbers a vector, not by 'fake/new'") as caught:
        opened(tmp_path, FakeEmbedder(model="fake/new"), on_model_change="error")
    assert (caught.value.stored, caught.value.asked) == ("fake/old", "fake/new")
    assert (tmp_path / "ffai_turns.parquet").read_bytes() == before
    assert opened(tmp_path, FakeEmbedder(model="fake/old"), on_model_change="error").count() == 1


@pytest.mark.parametrize("choice", ["ignore", None, True])
def test_what_happens_to_a_changed_model_is_one_of_two(opened: Opener, tmp_path: Path, choice: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="on_model_change"):
        opened().persist_to(tmp_path, on_model_change=choice)


def test_progress_is_told(opened: Opener) -> None:
    memory = opened()
    for number in range(70):
        memory.remember(f"Question {number}?", "Yes.")
    memory.flush()
    told: list[tuple[int, int]] = []
    memory.reindex(FakeEmbedder(16, model="fake/new"), progress=lambda done, all_: told.append((done, all_)))
    assert told == [(32, 70), (64, 70), (70, 70)]
