"""Waiting for the background work, and ending it."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ffai.core.memory import FlushResult, Memory, TurnVectorStore
from ffai.errors import ClosedError
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener
from tests.doubles.embedders import WatchedEmbedder


def texts(memory: Memory) -> list[str]:
    return [entry.text for entry in memory.store.iter_entries()]


def in_threads(count: int, work: Any) -> list[Any]:
    """Do the same in several threads at once; give what each returned or raised."""
    results: list[Any] = []
    together = threading.Barrier(count)

    def run() -> None:
        together.wait()
        try:
            results.append(work())
        except Exception as error:
            results.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.fixture(params=["in memory", "in files"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    """A folder, or none."""
    return tmp_path if request.param == "in files" else None


# Flush


def test_flush_waits_until_every_turn_is_indexed(opened: Opener, place: Path | None) -> None:
    embedder = FakeEmbedder(delay=0.02)
    memory = opened(place, embedder)
    for number in range(3):
        memory.remember(f"turn {number}", "x")
    assert memory.flush() == FlushResult(indexed=3, pending=0, failed=0)
    assert texts(memory) == ["turn 0\nx", "turn 1\nx", "turn 2\nx"]


def test_after_flush_the_file_holds_every_turn(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    for number in range(1, 4):
        memory.remember(f"turn {number}", "x")
        memory.flush()
        assert len(pl.read_parquet(tmp_path / "ffai_turns.parquet")) == number


def test_flush_holds_a_large_file_too(opened: Opener, tmp_path: Path) -> None:
    store = TurnVectorStore()
    for number in range(1200):
        store.add(f"old {number}", [1.0, float(number)], {})
    memory = opened(tmp_path, FakeEmbedder(2), store)
    memory.flush()
    memory.remember("new", "x")
    assert memory.flush() == FlushResult(1201, 0, 0)
    assert len(pl.read_parquet(tmp_path / "ffai_turns.parquet")) == 1201


def test_flush_with_nothing_to_do_returns_at_once(opened: Opener, place: Path | None) -> None:
    memory = opened(place)
    assert memory.flush() == memory.flush(0) == memory.flush(None) == FlushResult(0, 0, 0)


def test_flush_returns_within_its_time_and_says_what_is_left(opened: Opener, place: Path | None) -> None:
    embedder = WatchedEmbedder()
    memory = opened(place, embedder)
    with embedder.held():
        memory.remember("a", "b")
        started = time.monotonic()
        assert memory.flush(0.1) == FlushResult(indexed=0, pending=1, failed=0)
        assert memory.flush(0) == FlushResult(indexed=0, pending=1, failed=0)
        assert time.monotonic() - started < 1
    assert memory.flush() == FlushResult(1, 0, 0)


@pytest.mark.parametrize("timeout", [-1, "1", float("nan"), True])
async def test_a_time_that_is_none_is_refused(opened: Opener, timeout: Any) -> None:
    memory = opened()
    for wait in (memory.flush, memory.close):
        with pytest.raises((TypeError, ValueError), match="timeout"):
            wait(timeout)
    for await_it in (memory.aflush, memory.aclose):
        with pytest.raises((TypeError, ValueError), match="timeout"):
            await await_it(timeout)
    memory.remember("a", "b")
    assert memory.flush(float("inf")) == FlushResult(1, 0, 0)


def test_waiting_for_ever_is_possible(opened: Opener, place: Path | None) -> None:
    embedder = WatchedEmbedder()
    memory = opened(place, embedder)
    with embedder.held():
        memory.remember("a", "b")
        waiting = threading.Thread(target=lambda: found.append(memory.flush(float("inf"))))
        found: list[Any] = []
        waiting.start()
        assert embedder.entered.wait(10)
    waiting.join(10)
    assert found == [FlushResult(1, 0, 0)]
    assert memory.close(float("inf")) == FlushResult(1, 0, 0)


def test_many_may_flush_at_once(opened: Opener, place: Path | None) -> None:
    memory = opened(place, FakeEmbedder(delay=0.02))
    for number in range(5):
        memory.remember(f"turn {number}", "x")
    assert in_threads(6, memory.flush) == [FlushResult(5, 0, 0)] * 6


def test_turns_that_come_together_are_embedded_together(opened: Opener) -> None:
    embedder = WatchedEmbedder()
    memory = opened(embedder=embedder)
    with embedder.held():
        memory.remember("first", "x")
        assert embedder.entered.wait(10)
        for number in range(20):
            memory.remember(f"turn {number}", "x")
    memory.flush()
    assert [len(call) for call in embedder.calls] == [1, 20]


def test_no_call_is_larger_than_an_embedder_takes(opened: Opener) -> None:
    embedder = WatchedEmbedder()
    memory = opened(embedder=embedder)
    with embedder.held():
        for number in range(100):
            memory.remember(f"turn {number}", "x")
        memory.remember("long " * 3000, "x")
    memory.flush()
    assert memory.count() == 101
    assert max(len(call) for call in embedder.calls) <= 32


def test_turns_are_stored_in_the_order_they_were_accepted(opened: Opener, place: Path | None) -> None:
    memory = opened(place)
    for number in range(100):
        memory.remember(f"turn {number}", "")
    memory.close()
    assert texts(memory) == [f"turn {number}" for number in range(100)]


# Close


def test_close_waits_for_the_turns_and_says_what_became_of_them(opened: Opener, place: Path | None) -> None:
    memory = opened(place, FakeEmbedder(delay=0.02))
    for number in range(5):
        memory.remember(f"turn {number}", "x")
    assert memory.close() == FlushResult(indexed=5, pending=0, failed=0)
    assert memory.status().closed
    assert memory.status().indexed == 5


def test_closing_again_does_nothing_and_says_the_same(opened: Opener, place: Path | None) -> None:
    memory = opened(place)
    memory.remember("a", "b")
    assert memory.close() == memory.close() == memory.close(0) == memory.flush() == FlushResult(1, 0, 0)


def test_many_may_close_at_once(opened: Opener, tmp_path: Path) -> None:
    for number in range(4):
        unused = opened(tmp_path / f"unused {number}")
        assert in_threads(4, unused.close) == [FlushResult(0, 0, 0)] * 4
    memory = opened(tmp_path / "used", FakeEmbedder(delay=0.05))
    memory.remember("a", "b")
    assert in_threads(4, memory.close) == [FlushResult(1, 0, 0)] * 4
    assert texts(opened(tmp_path / "used")) == ["a\nb"]


def test_close_with_a_blocked_embedder_returns_within_its_time(opened: Opener, place: Path | None) -> None:
    embedder = WatchedEmbedder()
    memory = opened(place, embedder)
    with embedder.held():
        memory.remember("a", "b")
        assert embedder.entered.wait(10)
        started = time.monotonic()
        assert memory.close(0.1) == FlushResult(indexed=0, pending=1, failed=0)
        assert time.monotonic() - started < 1
        assert memory.status().closed
        assert memory.status().pending == 1


def test_a_turn_that_close_did_not_wait_for_is_there_at_the_next_start(opened: Opener, tmp_path: Path) -> None:
    embedder = WatchedEmbedder()
    memory = opened(tmp_path, embedder)
    with embedder.held():
        turn_ids = [memory.remember(f"turn {number}", "x") for number in range(5)]
        assert memory.close(0.05) == FlushResult(0, 5, 0)
        again = opened(tmp_path)
        assert again.flush() == FlushResult(5, 0, 0)
        assert {hit.turn_id for hit in again.search("turn")} == set(turn_ids)
    again.close()
    assert sorted(texts(opened(tmp_path))) == [f"turn {number}\nx" for number in range(5)]


def test_a_batch_that_comes_back_after_close_does_no_harm_to_the_next_start(opened: Opener, tmp_path: Path) -> None:
    for _ in range(5):
        first = WatchedEmbedder()
        memory = opened(tmp_path, first)
        had = memory.count()
        with first.held():
            memory.remember("late", "turn")
            assert first.entered.wait(10)
            memory.close(0)
            again = opened(tmp_path)
        assert again.flush() == FlushResult(had + 1, 0, 0)
        assert len(again.search("late", top_k=100)) == had + 1
        again.close()


def test_one_who_flushes_is_not_hurt_by_one_who_closes(opened: Opener, place: Path | None) -> None:
    for _ in range(5):
        embedder = WatchedEmbedder()
        memory = opened(place, embedder)
        found: list[Any] = []

        def flush(memory: Memory = memory, found: list[Any] = found) -> None:
            try:
                found.append(memory.flush())
            except Exception as error:
                found.append(error)

        waiting = threading.Thread(target=flush)
        with embedder.held():
            memory.remember("a", "b")
            assert embedder.entered.wait(10)
            waiting.start()
            memory.close(0.02)
        waiting.join(10)
        assert isinstance(found[0], FlushResult)


def test_looking_while_another_closes_never_fails(opened: Opener, tmp_path: Path) -> None:
    for number in range(4):
        memory = opened(tmp_path / str(number))
        memory.remember("a", "b")
        memory.flush()
        memory.remember("c", "d")
        failures: list[Exception] = []
        stop = threading.Event()

        def look(memory: Memory = memory, failures: list[Exception] = failures, stop: threading.Event = stop) -> None:
            try:
                while not stop.is_set():
                    memory.status()
                    memory.search("a")
                    memory.flush(0)
                    memory.count()
            except Exception as error:
                failures.append(error)

        lookers = [threading.Thread(target=look) for _ in range(2)]
        for looker in lookers:
            looker.start()
        memory.close()
        stop.set()
        for looker in lookers:
            looker.join()
        assert failures == []


def test_a_turn_is_accepted_or_refused_while_another_closes(opened: Opener, tmp_path: Path) -> None:
    for number in range(10):
        memory = opened(tmp_path / str(number))
        accepted: list[str] = []
        failures: list[Exception] = []
        started = threading.Barrier(3)

        def remember(
            memory: Memory = memory,
            accepted: list[str] = accepted,
            failures: list[Exception] = failures,
            started: threading.Barrier = started,
        ) -> None:
            started.wait()
            try:
                while True:
                    accepted.append(memory.remember("a", "b"))
            except ClosedError:
                pass
            except Exception as error:
                failures.append(error)

        writers = [threading.Thread(target=remember) for _ in range(2)]
        for writer in writers:
            writer.start()
        started.wait()
        memory.close()
        for writer in writers:
            writer.join()
        assert failures == []
        again = opened(tmp_path / str(number))
        again.flush()
        assert {hit.turn_id for hit in again.search("a", top_k=10**6)} == set(accepted)


# Async


async def test_an_async_close_that_is_cancelled_can_be_called_again(opened: Opener, tmp_path: Path) -> None:
    embedder = WatchedEmbedder()
    memory = opened(tmp_path, embedder)
    with embedder.held():
        for number in range(3):
            memory.remember(f"turn {number}", "x")
        closing = asyncio.create_task(memory.aclose(timeout=20))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(closing, 0.05)
    assert await memory.aclose(timeout=20) == FlushResult(3, 0, 0)
    assert sorted(texts(opened(tmp_path))) == [f"turn {number}\nx" for number in range(3)]


async def test_an_async_flush_does_not_hold_the_loop_up(opened: Opener) -> None:
    embedder = WatchedEmbedder()
    memory = opened(embedder=embedder)
    with embedder.held():
        memory.remember("a", "b")
        flush = asyncio.create_task(memory.aflush())
        for _ in range(20):
            await asyncio.sleep(0)
        assert not flush.done()
    assert await flush == FlushResult(1, 0, 0)


# What is kept while it works


def test_the_status_tells_what_waits(opened: Opener, place: Path | None) -> None:
    embedder = WatchedEmbedder()
    memory = opened(place, embedder)
    memory.remember("a", "b")
    memory.flush()
    with embedder.held():
        memory.remember("c", "d")
        memory.remember("e", "f")
        status = memory.status()
        assert (status.indexed, status.pending, status.failed, status.not_durable) == (1, 2, (), 0)
    memory.flush()
    assert memory.status().pending == 0


def test_the_status_tells_where_the_files_are(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path / "folder", name="mine")
    memory.remember("a", "b")
    memory.flush()
    memory.remember("c", "d")
    memory.flush()
    files = memory.status().files
    assert set(files) == {"file", "backup", "journal"}
    assert all(path.exists() for path in files.values())
    assert files["file"] == tmp_path / "folder" / "mine.parquet"


def test_one_who_never_closes_loses_nothing(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path, durability="power")
    memory.remember("a", "b")
    memory.flush()
    assert len(pl.read_parquet(tmp_path / "ffai_turns.parquet")) == 1
    assert texts(opened(tmp_path)) == ["a\nb"]
