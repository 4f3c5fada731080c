"""Several processes with one collection open: each turn is kept once, and all see it without opening anything anew."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import pytest

from ffai.core.memory import Memory, load_store
from ffai.core.memory.identity import new_turn
from ffai.core.memory.journal import Journal
from ffai.errors import StoreError
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener
from tests.core.memory.test_interleavings import until
from tests.doubles.processes import LONGEST, Another, embedder_of

ALL = 10**6
SOON = 1.0
"""Seconds after which a turn of another process is to be seen by one who asks."""
BUSY = 8.0
"""Times that a busy machine may take longer."""


@pytest.fixture(scope="module")
def started() -> Iterator[list[Another]]:
    """Three processes, started once: that takes longer than most of what they do."""
    with Another() as one, Another() as two, Another() as three:
        yield [one, two, three]


@pytest.fixture
def processes(started: list[Another], tmp_path: Path) -> Iterator[list[Another]]:
    """Three processes that have a folder open."""
    for process in started:
        process.move(tmp_path)
    yield started
    for process in started:
        process.move(None)


def remember_many(memory: Memory, who: str, count: int, log: Path | None = None) -> dict[str, float]:
    """Remember turns; gives when each was accepted. What it logs outlives the process."""
    accepted = {}
    for number in range(count):
        turn_id = memory.remember(f"{who} {number}", "x")
        accepted[turn_id] = time.monotonic()
        if log is not None:
            with log.open("a") as file:
                file.write(f"{turn_id}\n")
    return accepted


def watch(memory: Memory, count: int) -> dict[str, float]:
    """Search until so many turns are found; gives when the search was begun that found each first."""
    seen: dict[str, float] = {}
    give_up_at = time.monotonic() + LONGEST / 2
    while len(seen) < count and time.monotonic() < give_up_at:
        asked = time.monotonic()
        found = [hit.turn_id for hit in memory.search("x", ALL)]
        assert len(found) == len(set(found))
        assert set(seen) <= set(found)
        seen |= {turn_id: asked for turn_id in found if turn_id not in seen}
    return seen


def ids(memory: Memory, query: str = "x") -> list[str]:
    return [hit.turn_id for hit in memory.search(query, ALL, wait=LONGEST / 2)]


def texts(memory: Memory, query: str = "x") -> list[str]:
    return sorted(hit.text for hit in memory.search(query, ALL, wait=LONGEST / 2))


def test_what_two_write_at_once_a_third_sees_while_they_do(processes: list[Another], tmp_path: Path) -> None:
    one, two, reader = processes
    reader.tell(watch, 1000)
    for who, writer in (("one", one), ("two", two)):
        writer.tell(remember_many, who, 500)
    accepted = one.answer() | two.answer()
    seen = reader.answer()
    assert seen.keys() == accepted.keys()
    assert len(accepted) == 1000
    late = sorted(seen[turn_id] - at for turn_id, at in accepted.items())
    assert late[len(late) // 2] < SOON * BUSY
    assert late[-1] < SOON * BUSY * 3
    for process in processes:
        assert process.do("flush").pending == 0
        assert process.do("count") == 1000
        assert sorted(process.do(ids)) == sorted(accepted)
        process.move(None)
    assert load_store(tmp_path / "ffai_turns.parquet").count() == 1000
    assert {path.suffix for path in tmp_path.iterdir()} == {".parquet", ".bak", ".sqlite3", ".lock"}


def test_a_turn_is_seen_by_one_who_asks_later(processes: list[Another]) -> None:
    one, two, three = processes
    for number in range(20):
        turn_id = one.do("remember", f"turn {number}", "x")
        asked = time.monotonic()
        while any(turn_id not in other.do(ids) for other in (two, three)):
            assert time.monotonic() < asked + SOON * BUSY


def test_what_a_killed_writer_had_accepted_the_others_embed(processes: list[Another], tmp_path: Path) -> None:
    _, two, reader = processes
    log = tmp_path.parent / f"{tmp_path.name}.log"
    killed = Another(tmp_path)
    killed.tell(remember_many, "killed", ALL, log)
    two.do(remember_many, "two", 100)
    while not log.exists() or log.stat().st_size < 200 * 33:
        assert two.do("search", "two", 1)
    killed.kill()
    accepted = {line for line in log.read_text().splitlines() if len(line) == 32}
    for process in (two, reader):
        process.do("flush")  # either may have taken over what was left
    for process in (two, reader):
        found = process.do(ids)
        assert len(found) == len(set(found))
        assert accepted <= set(found)
        assert process.do("status").problem is None


def test_what_one_forgets_no_other_finds(processes: list[Another]) -> None:
    one, two, three = processes
    accepted = list(one.do(remember_many, "one", 20)) + list(two.do(remember_many, "two", 20))
    for process in processes:
        assert process.do("flush").pending == 0
    assert three.do("forget", accepted[10:30]).count == 20
    for process in processes:
        assert sorted(process.do(ids)) == sorted(accepted[:10] + accepted[30:])
        assert process.do("status").problem is None


def test_what_waits_in_one_process_another_forgets(processes: list[Another]) -> None:
    one, two, _ = processes
    for number in range(20):
        turn_id = one.do("remember", f"turn {number}", "x")
        assert two.do("forget", turn_id).count == 1
        assert one.do(ids) == two.do(ids) == []
    assert one.do("flush").indexed == 0


def test_what_one_clears_is_gone_for_all_and_what_comes_later_is_kept(processes: list[Another]) -> None:
    one, two, three = processes
    for _ in range(3):
        one.do(remember_many, "before", 50)
        two.tell(remember_many, "meanwhile", 50)
        three.do("clear")
        two.answer()
        three.do("clear")
        for process in processes:
            assert process.do(ids) == []
        later = one.do("remember", "later", "x")
        assert [process.do(ids) for process in processes] == [[later]] * 3
        three.do("clear")


def test_the_others_go_on_answering_when_one_changes_the_model(processes: list[Another], tmp_path: Path) -> None:
    one, two, three = processes
    one.do(remember_many, "old", 50)
    one.do("flush")
    assert two.do("count") == three.do("count") == 50
    three.do(reindex, 16)
    for other in (one, two):
        assert "fake/16" in other.do("status").problem
        assert len(other.do(ids)) == 50
    late = one.do("remember", "late", "x")
    asked = time.monotonic()
    while late not in three.do(ids):
        assert time.monotonic() < asked + SOON * BUSY
    assert three.do("status").problem is None
    for other in (one, two):
        assert len(other.do(ids)) == 50
        other.move(tmp_path, 16)
        assert len(other.do(ids)) == 51
        assert other.do("status").problem is None


def test_equal_turns_of_two_processes_are_two(processes: list[Another]) -> None:
    for process in processes:
        process.do("index_turn_text", "the same", {"role": "user"})
        process.do("index_turn_text", "the same", {"role": "user"})
    for process in processes:
        assert process.do(texts) == ["the same"] * 6


def test_a_turn_that_one_embeds_with_the_old_model_is_embedded_with_the_new_one_too(processes: list[Another]) -> None:
    one, two, _ = processes
    one.do("remember", "old", "x")
    assert one.do("flush").indexed == two.do("count") == 1
    two.do(reindex, 16)
    one.do("index_turn_text", "late", {"role": "user"})
    assert one.do(texts) == ["late", "old\nx"]
    asked = time.monotonic()
    while two.do(texts) != ["late", "old\nx"]:
        assert time.monotonic() < asked + SOON * BUSY


def test_all_may_change_to_the_same_model(processes: list[Another]) -> None:
    for number, process in enumerate(processes):
        process.do("remember", f"old {number}", "x")
        process.do("flush")
    for number, process in enumerate(processes):
        process.do(reindex, 16)
        process.do("remember", f"new {number}", "x")
        process.do("flush")
    for process in processes:
        assert process.do(texts) == sorted(f"{when} {number}\nx" for when in ("old", "new") for number in range(3))
        assert process.do("status").problem is None


def test_one_is_told_that_another_has_changed_to_a_third_model(processes: list[Another]) -> None:
    one, two, _ = processes
    one.do("remember", "old", "x")
    assert one.do("flush").indexed == two.do("count") == 1
    two.do(reindex, 16)
    with pytest.raises(StoreError, match="fake/16"):
        one.do(reindex, 24)
    assert one.do(texts) == two.do(texts) == ["old\nx"]
    assert two.do("status").problem is None


def reindex(memory: Memory, dimensions: int) -> None:
    memory.reindex(embedder_of(dimensions))


def held_up(memory: Memory) -> str:
    """Begin to embed a turn, and come to a stop there."""
    embedder: Any = memory.embeddings
    embedder.gate.clear()
    embedder.calls.clear()
    turn_id = memory.remember("held up", "x")
    until(lambda: bool(embedder.calls))
    return turn_id


def go_on(memory: Memory) -> None:
    memory.embeddings.gate.set()


def test_a_turn_that_is_being_embedded_while_another_changes_the_model_is_left_to_that(
    processes: list[Another], tmp_path: Path
) -> None:
    one, two, _ = processes
    two.do("remember", "old", "x")
    assert two.do("flush").indexed == one.do("count") == 1
    turn_id = one.do(held_up)
    two.do(reindex, 16)
    one.do(go_on)
    asked = time.monotonic()
    while turn_id not in two.do(ids):
        assert time.monotonic() < asked + SOON * BUSY


def test_a_flush_waits_for_another_that_writes_the_file(processes: list[Another], tmp_path: Path) -> None:
    one = processes[0]
    with filelock.FileLock(tmp_path / "ffai_turns.lock"):
        one.do("remember", "Where is the key?", "Under the mat.")
        one.tell("flush")
        assert not one.answers_within(0.5)
    assert one.answer().indexed == 1
    assert load_store(tmp_path / "ffai_turns.parquet").count() == 1


def test_vectors_of_another_size_under_the_same_name_break_no_search(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("Where is the key?", "Under the mat.")
    memory.flush()
    other = Journal(tmp_path / "ffai_turns.sqlite3")
    other.index([(new_turn("Where is the door?", "There."), [np.ones(3)])])
    other.close()
    assert [hit.prompt for hit in memory.search("the key", top_k=5)] == ["Where is the key?"]


def test_a_journal_that_was_opened_anew_is_followed_too(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path, FakeEmbedder(4))
    path = tmp_path / "ffai_turns.sqlite3"
    for number in range(4):
        with closing(sqlite3.connect(path, isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            memory.remember(f"mine {number}", "x")
            assert memory.status().not_durable == 1
            writer.execute("ROLLBACK")
        memory.flush()
        other = Journal(path)
        other.index([(new_turn(f"theirs {number}", "x"), [np.ones(4)])])
        other.close()
        assert memory.count() == 2 * (number + 1)
