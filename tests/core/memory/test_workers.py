"""A memory that web workers share: opened before they are forked, as a server that preloads its program does."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import pytest

from ffai.core.memory import Memory, load_store
from tests.core.memory.conftest import Opener
from tests.doubles.processes import LONGEST, embedder_of, opened_at

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

WORKERS = 3
TURNS = 100


def ids_of(memory: Memory, at_least: int) -> list[str]:
    """Search until so many turns are found."""
    give_up_at = time.monotonic() + LONGEST / 2
    while True:
        found = [hit.turn_id for hit in memory.search("x", 10**6)]
        assert len(found) == len(set(found))
        if len(found) >= at_least or time.monotonic() > give_up_at:
            return found


def remember(memory: Memory, who: str) -> list[str]:
    """Remember turns, and search now and then."""
    ids = []
    for number in range(TURNS):
        ids.append(memory.remember(f"{who} {number}", "x"))
        if number % 20 == 0:
            assert memory.search(f"{who} {number} x", top_k=3)
    return ids


def work(memory: Memory, who: str, told: Any, how: str) -> None:
    """What a worker does: it serves, sees what all have said, and ends in its own way."""
    mine = remember(memory, who)
    seen = ids_of(memory, (WORKERS + 1) * TURNS)
    told.send((mine, seen))
    told.recv()  # until all have seen all: one who ends too early hides that another did not see it
    if how == "with close":
        memory.close(timeout=LONGEST)
    elif how == "at once":
        os._exit(0)


def open_and_work(folder: Path, who: str, told: Any, how: str) -> None:
    work(opened_at(folder, 16), who, told, how)


@pytest.mark.parametrize("how", ["normally", "with close", "at once"])
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_and_their_parent_see_each_others_turns(opened: Opener, tmp_path: Path, start: str, how: str) -> None:
    memory = opened(tmp_path, embedder_of(16))
    before = memory.remember("before", "x")
    memory.flush()  # polars is in use from here on
    context: Any = multiprocessing.get_context(start)
    workers, pipes = [], []
    for number in range(WORKERS):
        mine, theirs = context.Pipe()
        target, first = (work, memory) if start == "fork" else (open_and_work, tmp_path)
        workers.append(context.Process(target=target, args=(first, f"worker {number}", theirs, how)))
        workers[-1].start()
        pipes.append(mine)
    accepted = {before, *remember(memory, "parent")}
    seen = []
    for pipe in pipes:
        assert pipe.poll(LONGEST)
        ids, found = pipe.recv()
        accepted.update(ids)
        seen.append(found)
    assert len(accepted) == 1 + (WORKERS + 1) * TURNS
    assert set(ids_of(memory, len(accepted))) == accepted
    for found in seen:
        assert set(found) <= accepted
        assert len(found) >= (WORKERS + 1) * TURNS
    for pipe in pipes:
        pipe.send("all have seen all")
    for worker in workers:
        worker.join(LONGEST)
        assert worker.exitcode == 0
    memory.close(timeout=60)
    assert load_store(tmp_path / "ffai_turns.parquet").count() == len(accepted)
    again = opened(tmp_path, embedder_of(16))
    assert set(ids_of(again, 0)) == accepted


def test_a_worker_that_is_killed_blocks_nobody(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path, embedder_of(16))
    memory.remember("before", "x")
    memory.flush()
    context = multiprocessing.get_context("fork")
    for number in range(5):
        _, theirs = context.Pipe()
        worker = context.Process(target=work, args=(memory, f"worker {number}", theirs, "at once"))
        worker.start()
        assert memory.search("before", top_k=1)
        worker.kill()
        worker.join()
        memory.remember(f"after {number}", "x")
        assert memory.flush(LONGEST).pending == 0
    kept = ids_of(memory, 0)
    memory.close(timeout=60)
    assert sorted(hit.turn_id for hit in opened(tmp_path, embedder_of(16)).search("x", 10**6)) == sorted(kept)
