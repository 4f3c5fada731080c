"""Damaged, foreign and missing files: what is said, what is kept aside, and what is got back from the other files."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from ffai.core.memory import FlushResult, Memory, load_store
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Logged, Opener
from tests.doubles.embedders import WatchedEmbedder

FILE, BACKUP, JOURNAL = "ffai_turns.parquet", "ffai_turns.bak", "ffai_turns.sqlite3"
ASIDE = re.compile(r"ffai_turns\.(parquet|bak|sqlite3)\.damaged-\d{8}T\d{6}(-\d+)?(-wal|-shm)?")


def texts(memory: Memory) -> list[str]:
    return sorted(entry.text for entry in memory.store.iter_entries())


def aside(folder: Path) -> list[str]:
    """Names of the files that were moved aside, without what SQLite keeps beside them."""
    return sorted(
        path.name for path in folder.iterdir() if "damaged" in path.name and path.name[-4:] not in ("-wal", "-shm")
    )


def a_collection(opened: Opener, folder: Path, turns: int = 4) -> list[str]:
    """Fill a folder: the file holds every turn, the backup all but the last, the journal the last one's too."""
    memory = opened(folder)
    for number in range(turns):
        memory.remember(f"turn {number}", "x" * 300)
        memory.flush()
    memory.close()
    return texts(memory)


def cut(part: float) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * part)])

    return damage


def overwrite(content: bytes) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_bytes(content)

    return damage


def spoil_the_middle(path: Path) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle - 300 : middle + 300] = b"\xa5" * 600
    path.write_bytes(content)


def of_another_version(path: Path) -> None:
    frame = pl.DataFrame({"text": ["a"], "_schema_version": pl.Series([2], dtype=pl.Int8)})
    frame.write_parquet(path)


def foreign_parquet(path: Path) -> None:
    pl.DataFrame({"price": [1, 2, 3]}).write_parquet(path)


def foreign_sqlite(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE turns (price)")
        other.execute("INSERT INTO turns VALUES (5)")
    other.close()


def another_version_of_the_journal(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 99")
    other.close()


FILE_DAMAGE = {
    "empty": overwrite(b""),
    "garbage": overwrite(b"garbage" * 100),
    "cut in half": cut(0.5),
    "cut at the end": cut(0.99),
    "another version": of_another_version,
    "foreign": foreign_parquet,
}
JOURNAL_DAMAGE = {
    "garbage": overwrite(b"garbage" * 1000),
    "text": overwrite(b"not a database"),
    "foreign": foreign_sqlite,
    "another version": another_version_of_the_journal,
    "cut": cut(0.5),
    "head only": cut(0.05),
}
some_file_damage = pytest.mark.parametrize("damage", [cut(0.5), of_another_version], ids=["cut", "another version"])
every_file_damage = pytest.mark.parametrize("damage", FILE_DAMAGE.values(), ids=FILE_DAMAGE.keys())
every_journal_damage = pytest.mark.parametrize("damage", JOURNAL_DAMAGE.values(), ids=JOURNAL_DAMAGE.keys())


def goes_on(opened: Opener, folder: Path, right: list[str]) -> None:
    """A collection that has these turns takes more, over several starts, and loses none."""
    for number in range(2):
        memory = opened(folder)
        memory.remember(f"later {number}", "y")
        assert memory.close() == FlushResult(len(right) + number + 1, 0, 0)
        assert memory.status().notes == ()
    expected = sorted([*right, *(f"later {number}\ny" for number in range(2))])
    assert texts(opened(folder)) == expected
    assert sorted(entry.text for entry in load_store(folder / FILE).iter_entries()) == expected


# The file


@every_file_damage
def test_a_damaged_file_is_kept_aside_and_its_turns_come_from_the_others(
    opened: Opener, tmp_path: Path, logged: Logged, damage: Callable[[Path], None]
) -> None:
    right = a_collection(opened, tmp_path)
    damage(tmp_path / FILE)
    spoilt = (tmp_path / FILE).read_bytes()
    memory = opened(tmp_path)
    assert texts(memory) == right
    (kept,) = aside(tmp_path)
    assert ASIDE.fullmatch(kept)
    assert (tmp_path / kept).read_bytes() == spoilt
    (error,) = logged()
    assert FILE in error
    assert kept in error
    assert error in memory.status().notes
    memory.close()
    goes_on(opened, tmp_path, right)
    assert (tmp_path / kept).read_bytes() == spoilt, "it is never overwritten"


@some_file_damage
def test_a_damaged_file_and_backup_cost_only_what_no_file_has(
    opened: Opener, tmp_path: Path, logged: Logged, damage: Callable[[Path], None]
) -> None:
    right = a_collection(opened, tmp_path)
    damage(tmp_path / FILE)
    damage(tmp_path / BACKUP)
    memory = opened(tmp_path)
    found = texts(memory)
    assert set(found) <= set(right)
    assert right[-1] in found, "the journal keeps the last ones"
    assert len(aside(tmp_path)) == 2
    assert len(logged()) == 2
    memory.close()
    goes_on(opened, tmp_path, found)


def test_a_missing_file_comes_from_its_backup_and_the_journal(opened: Opener, tmp_path: Path, logged: Logged) -> None:
    right = a_collection(opened, tmp_path)
    (tmp_path / FILE).unlink()
    memory = opened(tmp_path)
    assert texts(memory) == right
    assert any(BACKUP in note for note in memory.status().notes)
    memory.close()
    goes_on(opened, tmp_path, right)


def test_a_missing_backup_is_nothing_to_talk_about(opened: Opener, tmp_path: Path, logged: Logged) -> None:
    right = a_collection(opened, tmp_path)
    (tmp_path / BACKUP).unlink()
    memory = opened(tmp_path)
    assert texts(memory) == right
    assert (logged(), memory.status().notes) == ([], ())
    memory.close()
    goes_on(opened, tmp_path, right)


def test_missing_files_leave_what_the_journal_has(opened: Opener, tmp_path: Path) -> None:
    right = a_collection(opened, tmp_path)
    (tmp_path / FILE).unlink()
    (tmp_path / BACKUP).unlink()
    memory = opened(tmp_path)
    found = texts(memory)
    assert right[-1] in found
    memory.close()
    goes_on(opened, tmp_path, found)


def test_a_file_that_is_damaged_during_the_run_is_not_overwritten(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    for number in range(3):
        memory.remember(f"turn {number}", "x")
        memory.flush()
    (tmp_path / FILE).write_bytes(b"spoilt by somebody")
    memory.remember("later", "x")
    memory.flush()
    memory.close()
    again = opened(tmp_path)
    assert texts(again) == ["later\nx", *(f"turn {number}\nx" for number in range(3))]
    (kept,) = aside(tmp_path)
    assert (tmp_path / kept).read_bytes() == b"spoilt by somebody"
    again.close()
    goes_on(opened, tmp_path, texts(again))


# The journal


@every_journal_damage
def test_a_damaged_journal_is_kept_aside_and_costs_no_turn_of_the_file(
    opened: Opener, tmp_path: Path, logged: Logged, damage: Callable[[Path], None]
) -> None:
    right = a_collection(opened, tmp_path)
    damage(tmp_path / JOURNAL)
    memory = opened(tmp_path)
    assert texts(memory) == right
    (error,) = logged()
    assert JOURNAL in error
    (kept,) = aside(tmp_path)
    assert ASIDE.fullmatch(kept)
    assert kept in error
    assert error in memory.status().notes
    memory.close()
    goes_on(opened, tmp_path, right)


def test_an_empty_journal_is_a_new_one(opened: Opener, tmp_path: Path, logged: Logged) -> None:
    right = a_collection(opened, tmp_path)
    (tmp_path / JOURNAL).write_bytes(b"")
    memory = opened(tmp_path)
    assert texts(memory) == right
    assert logged() == []
    memory.close()
    goes_on(opened, tmp_path, right)


def test_a_missing_journal_costs_no_turn_of_the_file(opened: Opener, tmp_path: Path) -> None:
    right = a_collection(opened, tmp_path)
    (tmp_path / JOURNAL).unlink()
    assert texts(opened(tmp_path)) == right


def waiting_turns(opened: Opener, folder: Path, count: int) -> list[str]:
    """Fill a journal with turns that were never embedded, and nothing else."""
    memory = opened(folder, FakeEmbedder(fail=lambda text: ConnectionError("away")))
    for number in range(count):
        memory.remember(f"waiting {number}", "x" * 500)
    memory.close()
    return sorted(f"waiting {number}\n{'x' * 500}" for number in range(count))


@pytest.mark.parametrize("damage", [cut(0.7), spoil_the_middle], ids=["cut", "spoilt"])
def test_what_can_be_read_of_a_damaged_journal_is_kept(
    opened: Opener, tmp_path: Path, logged: Logged, damage: Callable[[Path], None]
) -> None:
    right = waiting_turns(opened, tmp_path, 300)
    damage(tmp_path / JOURNAL)
    memory = opened(tmp_path)
    memory.retry_failed()
    memory.flush()
    found = texts(memory)
    assert set(found) <= set(right)
    assert len(found) == len(set(found)) > 100
    assert len(logged()) == 1
    memory.close()
    goes_on(opened, tmp_path, found)


def test_a_journal_of_another_version_is_read_as_far_as_it_can_be(opened: Opener, tmp_path: Path) -> None:
    right = waiting_turns(opened, tmp_path, 5)
    another_version_of_the_journal(tmp_path / JOURNAL)
    memory = opened(tmp_path)
    memory.retry_failed()
    memory.flush()
    assert texts(memory) == right


@some_file_damage
def test_both_damaged(opened: Opener, tmp_path: Path, logged: Logged, damage: Callable[[Path], None]) -> None:
    right = a_collection(opened, tmp_path)
    damage(tmp_path / FILE)
    (tmp_path / JOURNAL).write_bytes(b"garbage" * 1000)
    memory = opened(tmp_path)
    assert texts(memory) == right[:-1], "the backup has all but the last"
    assert len(aside(tmp_path)) == 2
    assert len(logged()) == 2
    memory.close()
    goes_on(opened, tmp_path, right[:-1])


def test_everything_damaged_starts_afresh(opened: Opener, tmp_path: Path, logged: Logged) -> None:
    a_collection(opened, tmp_path)
    for name in (FILE, BACKUP, JOURNAL):
        (tmp_path / name).write_bytes(b"garbage" * 1000)
    memory = opened(tmp_path)
    assert texts(memory) == []
    assert len(logged()) == len(memory.status().notes) == len(aside(tmp_path)) == 3
    memory.close()
    goes_on(opened, tmp_path, [])


def test_damage_again_and_again_gets_names_of_its_own(opened: Opener, tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / FILE).write_bytes(f"garbage {number}".encode())
        opened(tmp_path).close()
    assert len(aside(tmp_path)) == 4
    assert {(tmp_path / name).read_bytes() for name in aside(tmp_path)} == {f"garbage {n}".encode() for n in range(4)}


@pytest.mark.parametrize("handing", ["in hand", "waiting"])
def test_a_journal_that_is_damaged_during_the_run_is_made_again(
    opened: Opener, tmp_path: Path, logged: Logged, handing: str
) -> None:
    embedder = WatchedEmbedder()
    memory = opened(tmp_path, embedder)
    memory.remember("before", "x")
    memory.flush()
    embedder.entered.clear()
    with embedder.held():
        for number in range(5):
            memory.remember(f"at the time {number}", "x")
        if handing == "in hand":
            assert embedder.entered.wait(10)
        for path in tmp_path.glob(f"{JOURNAL}*"):
            path.write_bytes(b"\xa5" * path.stat().st_size)
        memory.remember("after", "x")
    memory.flush()
    found = texts(memory)
    assert len(found) == len(set(found))
    assert {"before\nx", "after\nx"} <= set(found)
    assert len(logged()) == len(memory.status().notes) == len(aside(tmp_path)) == 1
    assert memory.status().problem is None
    memory.remember("later", "x")
    memory.flush()
    assert len(load_store(tmp_path / FILE).search([1.0] * 64, top_k=100)) == len(found) + 1
    memory.close()
    goes_on(opened, tmp_path, sorted([*found, "later\nx"]))


# What is left behind


def test_a_file_that_was_never_finished_is_not_taken_and_not_left(opened: Opener, tmp_path: Path) -> None:
    right = a_collection(opened, tmp_path)
    (tmp_path / f".{FILE}.12345.678.tmp").write_bytes(b"half")
    (tmp_path / f".{BACKUP}.12345.678.tmp").write_bytes(b"half")
    (tmp_path / ".other.parquet.12345.678.tmp").write_bytes(b"somebody else's")
    memory = opened(tmp_path)
    assert texts(memory) == right
    memory.remember("later", "x")
    memory.close()
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == [".other.parquet.12345.678.tmp"]


def test_a_kept_turn_is_never_doubled_by_what_other_files_hold(opened: Opener, tmp_path: Path) -> None:
    right = a_collection(opened, tmp_path)
    (tmp_path / FILE).rename(tmp_path / "newest")
    (tmp_path / BACKUP).rename(tmp_path / FILE)
    memory = opened(tmp_path)
    assert texts(memory) == right, "an older file and the journal together"
    memory.close()
    (tmp_path / "newest").rename(tmp_path / BACKUP)
    assert texts(opened(tmp_path)) == right
