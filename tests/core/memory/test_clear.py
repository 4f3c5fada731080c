"""Forgetting everything."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from ffai.core.memory import FlushResult, Memory
from ffai.errors import JournalError
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener
from tests.doubles.embedders import WatchedEmbedder

SECRET = "xyzzy-the-secret-word"


@pytest.fixture(params=["in memory", "in files"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    """A folder, or none."""
    return tmp_path if request.param == "in files" else None


def told_in_files(folder: Path) -> list[str]:
    """Names of the files that still tell the secret."""
    return [path.name for path in folder.iterdir() if SECRET.encode() in path.read_bytes()]


def test_nothing_is_left(opened: Opener, place: Path | None) -> None:
    memory = opened(place)
    memory.remember("a", "b")
    memory.flush()
    memory.remember("c", "d")
    memory.clear()
    assert memory.count() == 0
    assert memory.search("a") == []
    assert memory.flush() == FlushResult(0, 0, 0)


def test_the_files_are_gone_and_nothing_comes_back(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    for _ in range(3):
        memory.remember(SECRET, "x")
        memory.flush()
    assert (tmp_path / "ffai_turns.parquet").exists()
    memory.clear()
    assert not (tmp_path / "ffai_turns.parquet").exists()
    assert not (tmp_path / "ffai_turns.bak").exists()
    memory.close()
    assert told_in_files(tmp_path) == []
    again = opened(tmp_path)
    assert again.flush() == FlushResult(0, 0, 0)


def test_it_goes_on_from_nothing_with_vectors_of_any_size(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("old", "x")
    memory.flush()
    memory.clear()
    memory.reindex(FakeEmbedder(16, model="another"))
    memory.remember("new", "x")
    assert memory.flush() == FlushResult(1, 0, 0)
    memory.close()
    again = opened(tmp_path, FakeEmbedder(16, model="another"))
    assert [entry.text for entry in again.store.iter_entries()] == ["new\nx"]


def test_a_batch_that_is_just_being_embedded_does_not_come_back(opened: Opener, place: Path | None) -> None:
    embedder = WatchedEmbedder()
    memory = opened(place, embedder)
    memory.remember("indexed", "x")
    memory.flush()
    embedder.entered.clear()
    with embedder.held():
        for number in range(5):
            memory.remember(f"half done {number}", "x")
        assert embedder.entered.wait(10)
        memory.clear()
        assert memory.flush() == FlushResult(0, 0, 0), "nothing is waited for"
        memory.remember("after", "x")
    assert memory.flush() == FlushResult(1, 0, 0)
    assert [entry.text for entry in memory.store.iter_entries()] == ["after\nx"]
    memory.close()
    if place is not None:
        assert [entry.text for entry in opened(place).store.iter_entries()] == ["after\nx"]


def test_a_batch_that_is_refused_after_clearing_is_not_listed(opened: Opener) -> None:
    embedder = WatchedEmbedder(fail=lambda text: RuntimeError("no"))
    memory = opened(embedder=embedder)
    with embedder.held():
        memory.remember("half", "done")
        assert embedder.entered.wait(10)
        memory.clear()
    assert memory.close() == FlushResult(0, 0, 0)
    assert memory.status().failed == ()


def test_failed_and_waiting_turns_are_forgotten_too(opened: Opener, place: Path | None) -> None:
    memory = opened(place, FakeEmbedder(fail=lambda text: RuntimeError("no") if "bad" in text else None))
    memory.remember("bad", "x")
    memory.flush()
    memory.clear()
    assert memory.status().failed == ()
    assert memory.retry_failed() == 0
    assert memory.flush() == FlushResult(0, 0, 0)


def test_clearing_while_others_search_never_fails(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    failures: list[Exception] = []
    done = threading.Event()

    def search() -> None:
        try:
            while not done.is_set():
                for hit in memory.search("turn", wait=0):
                    assert hit.text.startswith("turn")
                list(memory.store.iter_entries())
        except Exception as error:
            failures.append(error)

    searchers = [threading.Thread(target=search) for _ in range(2)]
    for searcher in searchers:
        searcher.start()
    for round_ in range(20):
        for number in range(5):
            memory.remember(f"turn {round_} {number}", "x")
        if round_ % 2:
            memory.flush()
        memory.clear()
    done.set()
    for searcher in searchers:
        searcher.join()
    assert failures == []
    assert memory.flush() == FlushResult(0, 0, 0)
    memory.close()
    assert opened(tmp_path).flush() == FlushResult(0, 0, 0)


def test_clearing_while_the_file_is_being_written_leaves_no_file(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    for number in range(150):
        memory.index_turn_text(f"{SECRET} {number}", {"role": "user", "text": "x" * 2000})
    for round_ in range(8):
        flushing = threading.Thread(target=memory.flush)
        memory.index_turn_text(f"{SECRET} {round_}", {})
        flushing.start()
        if round_ % 3:
            flushing.join(0.006 * round_)
        memory.clear()
        flushing.join()
        assert memory.flush() == FlushResult(0, 0, 0)
        assert not (tmp_path / "ffai_turns.parquet").exists()
        for number in range(50):
            memory.index_turn_text(f"{SECRET} {number}", {"role": "user", "text": "x" * 2000})
    memory.clear()
    memory.close()
    assert opened(tmp_path).count() == 0
    assert told_in_files(tmp_path) == []


def test_where_the_journal_can_not_be_written_nothing_is_dropped(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("a", "b")
    memory.flush()
    other = sqlite3.connect(tmp_path / "ffai_turns.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalError, match="Nothing was forgotten"):
        memory.clear()
    assert memory.count() == 1
    assert (tmp_path / "ffai_turns.parquet").exists()
    with pytest.raises(JournalError, match="Nothing was forgotten"):
        memory.clear()
    other.execute("ROLLBACK")
    other.close()
    memory.clear()
    assert memory.count() == 0
    memory.close()
    assert opened(tmp_path).flush() == FlushResult(0, 0, 0)


def test_two_who_share_a_folder_forget_together(opened: Opener, tmp_path: Path) -> None:
    first: Memory = opened(tmp_path)
    second: Any = opened(tmp_path)
    first.remember("a", "b")
    second.flush()
    second.clear()
    assert first.count() == 0
    assert first.search("a") == []
