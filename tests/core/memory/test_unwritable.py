"""A folder that can't be written: what is accepted meanwhile, what is said, and what happens when it works again."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ffai.core.memory import FlushResult, Memory
from ffai.errors import StoreError
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Logged, Opener
from tests.doubles.embedders import WatchedEmbedder

ROOT = Path(__file__).parents[3]
OTHER = "fake/other"


def texts(memory: Memory) -> list[str]:
    return [entry.text for entry in memory.store.iter_entries()]


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let another program write the journal, so that nobody else can."""
    other = sqlite3.connect(folder / "ffai_turns.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def until_durable(memory: Memory) -> None:
    deadline = time.monotonic() + 20
    while memory.status().problem:
        memory.flush(0.05)
        assert time.monotonic() < deadline


# Another process holds the journal


def test_a_turn_is_accepted_while_the_journal_is_locked_and_is_durable_later(
    opened: Opener, tmp_path: Path, logged: Logged
) -> None:
    memory = opened(tmp_path)
    memory.remember("before", "x")
    memory.flush()
    with locked(tmp_path):
        started = time.monotonic()
        ids = [memory.remember(f"locked {number}", "x") for number in range(5)]
        assert time.monotonic() - started < 1
        assert memory.search("locked", top_k=10) != []
        status = memory.status()
        assert status.not_durable == 5
        assert "locked" in str(status.problem)
        assert len(logged(logging.WARNING)) == 1
    until_durable(memory)
    assert (memory.status().not_durable, memory.status().problem) == (0, None)
    assert memory.flush() == FlushResult(6, 0, 0)
    assert sorted(texts(memory)) == ["before\nx", *(f"locked {number}\nx" for number in range(5))]
    memory.close()
    again = opened(tmp_path)
    assert sorted(texts(again)) == sorted(texts(memory))
    assert set(ids) <= {hit.turn_id for hit in again.search("x", top_k=10)}


def test_turns_that_wait_in_a_journal_that_is_locked_count_as_pending(opened: Opener, tmp_path: Path) -> None:
    embedder = WatchedEmbedder()
    memory = opened(tmp_path, embedder)
    with embedder.held():
        for number in range(3):
            memory.remember(f"before {number}", "x")
        assert embedder.entered.wait(10)
        with locked(tmp_path):
            memory.remember("locked", "x")
            assert memory.status().pending == 4
            assert memory.flush(0.1) == FlushResult(0, 4, 0)
    until_durable(memory)
    assert memory.flush() == FlushResult(4, 0, 0)


def test_a_batch_that_comes_back_to_a_locked_journal_costs_no_other_turn(opened: Opener, tmp_path: Path) -> None:
    embedder = WatchedEmbedder()
    memory = opened(tmp_path, embedder)
    with embedder.held():
        memory.remember("first", "x")
        assert embedder.entered.wait(10)
        for number in range(7):
            memory.remember(f"waiting {number}", "x")
    memory.flush()
    embedder.entered.clear()
    with embedder.held():
        for number in range(8):
            memory.remember(f"in hand {number}", "x")
        assert embedder.entered.wait(10)
        lock = locked(tmp_path)
        lock.__enter__()
        for number in range(20):
            memory.remember(f"accepted {number}", "x")
    memory.flush()
    lock.__exit__(None, None, None)
    until_durable(memory)
    assert memory.flush() == FlushResult(36, 0, 0)
    assert len(set(texts(memory))) == 36
    memory.close()
    again = opened(tmp_path)
    assert again.flush() == FlushResult(36, 0, 0)
    assert len(set(texts(again))) == 36


def test_a_failure_in_a_locked_journal_is_not_put_on_another_turn(opened: Opener, tmp_path: Path) -> None:
    embedder = WatchedEmbedder(fail=lambda text: RuntimeError("no") if "bad" in text else None)
    memory = opened(tmp_path, embedder)
    with embedder.held():
        memory.remember("bad", "x")
        assert embedder.entered.wait(10)
        lock = locked(tmp_path)
        lock.__enter__()
        for number in range(5):
            memory.remember(f"good {number}", "x")
    memory.flush()
    lock.__exit__(None, None, None)
    until_durable(memory)
    assert memory.flush() == FlushResult(5, 0, 1)
    assert [turn.text for turn in memory.status().failed] == ["bad\nx"]
    memory.close()
    assert opened(tmp_path).flush() == FlushResult(5, 0, 1)


def test_opening_does_not_wait_for_one_who_holds_the_journal(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    for number in range(5):
        memory.remember(f"old {number}", "x")
    memory.close()
    with locked(tmp_path):
        started = time.monotonic()
        again = opened(tmp_path)
        assert time.monotonic() - started < 2
        assert again.count() == 5
        again.remember("new", "x")
        assert again.search("new", top_k=1)[0].text == "new\nx"
    until_durable(again)
    assert again.close() == FlushResult(6, 0, 0)
    assert len(set(texts(opened(tmp_path)))) == 6


def test_turns_that_only_the_journal_has_are_found_though_it_was_locked_at_the_start(
    opened: Opener, tmp_path: Path
) -> None:
    embedder = WatchedEmbedder()
    memory = opened(tmp_path, embedder)
    with embedder.held():
        memory.remember("waiting", "x")
        memory.close(0)
    with locked(tmp_path):
        again = opened(tmp_path)
        again.remember("new", "x")
    until_durable(again)
    assert again.flush() == FlushResult(2, 0, 0)
    assert sorted(texts(again)) == ["new\nx", "waiting\nx"]


def test_turns_that_only_the_journal_has_are_found_as_soon_as_it_can_be_opened(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    (tmp_path / "ffai_turns.parquet").mkdir()
    memory.remember("only in the journal", "x")
    memory.close()
    (tmp_path / "ffai_turns.parquet").rmdir()
    journal = tmp_path / "ffai_turns.sqlite3"
    journal.rename(tmp_path / "away")
    journal.mkdir()
    again = opened(tmp_path)
    again.remember("new", "x")
    assert again.flush() == FlushResult(1, 0, 0)
    journal.rmdir()
    (tmp_path / "away").rename(journal)
    until_durable(again)
    assert again.flush() == FlushResult(2, 0, 0)
    assert sorted(texts(again)) == ["new\nx", "only in the journal\nx"]
    again.close()
    assert len(pl.read_parquet(tmp_path / "ffai_turns.parquet")) == 2
    assert opened(tmp_path).count() == 2


def test_the_model_is_known_though_the_journal_was_locked_at_the_start(opened: Opener, tmp_path: Path) -> None:
    opened(tmp_path, FakeEmbedder(model="fake/first")).close()
    with locked(tmp_path):
        memory = opened(tmp_path, FakeEmbedder(model=OTHER))
        memory.remember("a", "b")
    until_durable(memory)
    memory.close()
    again = opened(tmp_path, asked := FakeEmbedder(model=OTHER))
    assert (again.flush(), asked.calls) == (FlushResult(1, 0, 0), [])


# The folder can't be made


def test_a_file_in_the_place_of_the_folder(opened: Opener, tmp_path: Path, logged: Logged) -> None:
    folder = tmp_path / "data"
    folder.write_text("a file of somebody")
    memory = opened(folder)
    ids = [memory.remember(f"turn {number}", "x") for number in range(5)]
    assert memory.flush() == FlushResult(5, 0, 0)
    assert memory.search("turn 3 x", top_k=1)[0].turn_id == ids[3]
    status = memory.status()
    assert status.not_durable == 5
    assert status.problem
    assert len(logged(logging.WARNING)) == 1
    assert folder.read_text() == "a file of somebody"

    folder.unlink()
    until_durable(memory)
    assert memory.status().not_durable == 0
    memory.remember("later", "x")
    assert memory.close() == FlushResult(6, 0, 0)
    assert logged(logging.ERROR) == []
    again = opened(folder)
    assert len(set(texts(again))) == 6
    assert set(ids) <= {hit.turn_id for hit in again.search("x", top_k=10)}


def test_what_can_never_be_written_is_said_at_the_end(opened: Opener, tmp_path: Path, logged: Logged) -> None:
    (tmp_path / "data").write_text("a file")
    memory = opened(tmp_path / "data")
    memory.remember("a", "b")
    memory.remember("c", "d")
    memory.flush()
    logged()
    memory.close()
    errors = logged(logging.ERROR)
    assert len(errors) == 1
    assert "2 turns are lost" in errors[0]
    assert (memory.status().not_durable, memory.status().closed) == (2, True)
    assert memory.status().problem
    assert memory.close() == FlushResult(2, 0, 0)


def test_two_in_a_folder_that_can_not_be_made_share_all_the_same(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    first, second = opened(tmp_path / "data"), opened(tmp_path / "data")
    first.remember("a", "b")
    second.flush()
    assert texts(second) == ["a\nb"]


def test_forgetting_is_refused_while_nothing_can_be_written(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    memory = opened(tmp_path / "data")
    memory.remember("a", "b")
    memory.flush()
    with pytest.raises(StoreError, match="data"):
        memory.clear()
    assert memory.count() == 1


# The file can't be written, the journal can


def test_while_the_file_can_not_be_written_the_journal_keeps_the_turns(
    opened: Opener, tmp_path: Path, logged: Logged
) -> None:
    memory = opened(tmp_path)
    memory.remember("first", "x")
    memory.flush()
    (tmp_path / "ffai_turns.bak" / "in the way").mkdir(parents=True)
    for number in range(3):
        memory.remember(f"turn {number}", "x")
        memory.flush()
    assert memory.status().problem
    assert memory.status().not_durable == 0
    assert len(logged(logging.WARNING)) == 1
    assert len(pl.read_parquet(tmp_path / "ffai_turns.parquet")) == 1
    memory.close()
    again = opened(tmp_path)
    assert again.count() == 4
    again.remember("later", "x")
    again.flush()
    assert again.status().problem
    shutil.rmtree(tmp_path / "ffai_turns.bak")
    again.flush()
    assert again.status().problem is None
    assert len(pl.read_parquet(tmp_path / "ffai_turns.parquet")) == 5
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".tmp")] == []


def test_the_file_is_written_at_the_end_if_that_works_then(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    (tmp_path / "ffai_turns.parquet").mkdir()
    memory.remember("a", "b")
    memory.flush()
    assert memory.status().problem
    (tmp_path / "ffai_turns.parquet").rmdir()
    memory.close()
    assert len(pl.read_parquet(tmp_path / "ffai_turns.parquet")) == 1


# A full disk

FULL = """
import logging, resource, signal, sys
from ffai.core.memory import Memory
from ffai.testing import FakeEmbedder

logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
memory = Memory(FakeEmbedder())
memory.persist_to(sys.argv[1])
memory.remember("before", "x")
memory.flush()
limit, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, most))
for number in range(40):
    memory.remember(f"full {number}", "y" * 5000)
memory.flush()
status = memory.status()
assert memory.count() > 30, status
assert status.problem, status
assert status.not_durable > 0, status
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
print("free again", file=sys.stderr)
while memory.status().problem:
    memory.flush(0.05)
memory.remember("after", "x")
print(memory.close(), memory.status().not_durable)
"""


def test_a_full_disk_loses_nothing(opened: Opener, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "FlushResult(indexed=42, pending=0, failed=0) 0\n"
    full, _ = done.stderr.split("free again")
    assert full.count("New turns are kept in memory") == 1
    assert "ERROR" not in done.stderr
    memory = opened(tmp_path)
    assert memory.flush() == FlushResult(42, 0, 0)
    assert len(set(texts(memory))) == 42
    assert memory.status().notes == ()


def test_nothing_in_another_thread_is_held_up(opened: Opener, tmp_path: Path) -> None:
    """Any thread may write, search and look while the journal is locked."""
    memory = opened(tmp_path)
    memory.remember("first", "x")
    memory.flush()
    failures: list[Exception] = []

    def use(number: int) -> None:
        try:
            for turn in range(5):
                memory.remember(f"thread {number} {turn}", "x")
                memory.search("thread", wait=0)
                memory.status()
        except Exception as error:
            failures.append(error)

    with locked(tmp_path):
        threads: list[Any] = [threading.Thread(target=use, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert failures == []
    until_durable(memory)
    assert memory.flush() == FlushResult(21, 0, 0)
    memory.close()
    assert len(set(texts(opened(tmp_path)))) == 21
