"""Looking a memory over, and putting it right."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from ffai.core.memory import Memory
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Logged, Opener


@pytest.fixture
def memory(opened: Opener, tmp_path: Path) -> Memory:
    """A memory of five turns, three of them in the file and in its backup."""
    memory = opened(tmp_path)
    for number in range(5):
        memory.remember(f"Question {number}?", f"Answer {number}.")
        if number in (2, 3):
            memory.flush()
    memory.flush()
    return memory


def test_a_memory_that_is_whole_is_said_to_be(memory: Memory) -> None:
    report = memory.verify()
    assert report.ok
    assert report.problems == ()
    assert (report.turns["memory"], report.turns["file"], report.turns["waiting"]) == (5, 5, 0)
    assert report.set_aside == ()


def test_without_files_there_is_little_to_look_at(opened: Opener) -> None:
    memory = opened()
    memory.remember("Where is the key?", "Under the mat.")
    memory.flush()
    assert memory.verify().ok
    assert memory.repair().turns["memory"] == 1


@pytest.mark.parametrize("damage", [lambda whole: whole[: len(whole) // 2], lambda whole: b"", lambda _: b"hello"])
def test_a_damaged_file_is_written_anew(memory: Memory, tmp_path: Path, damage: object, logged: Logged) -> None:
    file = tmp_path / "ffai_turns.parquet"
    file.write_bytes(damage(file.read_bytes()))  # type: ignore[operator]
    report = memory.verify()
    assert not report.ok
    assert "ffai_turns.parquet" in report.problems[0]
    repaired = memory.repair()
    assert repaired.ok, repaired.problems
    assert repaired.turns["file"] == 5
    assert len(repaired.set_aside) == 1


def test_a_damaged_backup_is_moved_aside(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "ffai_turns.bak").write_bytes(b"hello")
    assert "ffai_turns.bak" in memory.verify().problems[0]
    assert memory.repair().ok


def test_a_file_that_was_removed_is_written_anew(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "ffai_turns.parquet").unlink()
    assert not memory.verify().ok
    assert memory.repair().turns["file"] == 5


def test_turns_that_another_program_added_are_taken_in(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "ffai_turns.parquet"
    frame = pl.read_parquet(file)
    more = frame.head(1).with_columns(pl.lit("from elsewhere").alias("text"), pl.lit("{}").alias("turn"))
    pl.concat([frame, more]).write_parquet(file)
    assert memory.verify().problems == ("1 turns of the files are not in memory.",)
    assert memory.repair().ok
    assert memory.count() == 6


def test_vectors_that_cant_be_searched_are_made_again(opened: Opener, memory: Memory, tmp_path: Path) -> None:
    memory.close()
    file = tmp_path / "ffai_turns.parquet"
    frame = pl.read_parquet(file)
    vectors = [[float("nan")] * 64, *frame["embedding"].to_list()[1:]]
    frame.with_columns(pl.Series("embedding", vectors)).write_parquet(file)
    again = opened(tmp_path)
    assert "1 turns have a vector that can't be searched" in str(again.verify().problems)
    assert again.repair().ok
    assert again.search("Question 0?", top_k=1)[0].score == pytest.approx(1.0, abs=0.3)


def test_turns_that_are_there_twice_are_there_once_afterwards(opened: Opener, memory: Memory, tmp_path: Path) -> None:
    memory.close()
    file = tmp_path / "ffai_turns.parquet"
    frame = pl.read_parquet(file)
    pl.concat([frame, frame.head(2)]).write_parquet(file)
    again = opened(tmp_path)
    assert again.count() == 5
    assert "more than once" in str(again.verify().problems)
    assert again.repair().ok
    assert len(pl.read_parquet(file)) == 5


def test_turns_that_wait_and_fail_are_told_apart(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path, FakeEmbedder(fail=lambda text: ValueError("no") if "bad" in text else None))
    memory.remember("good?", "Yes.")
    memory.remember("bad?", "Yes.")
    memory.flush()
    report = memory.verify()
    assert report.ok
    assert (report.turns["memory"], report.turns["failed"], report.turns["waiting"]) == (1, 1, 0)
