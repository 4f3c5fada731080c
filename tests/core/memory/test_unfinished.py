"""What was forgotten, cleared or saved half-way is finished later, and nothing comes back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ffai.core.memory import Memory
from ffai.core.memory.identity import new_turn
from ffai.core.memory.journal import Journal
from ffai.errors import StoreError
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener
from tests.core.memory.test_unwritable import locked, texts
from tests.crash.evidence import NAME, strays, where
from tests.doubles.embedders import WatchedEmbedder

BACKUP, FILE, JOURNAL = f"{NAME}.bak", f"{NAME}.parquet", f"{NAME}.sqlite3"


def saved(memory: Memory, *words: str) -> list[str]:
    """Remember turns, each in a file of its own."""
    ids = []
    for word in words:
        ids.append(memory.remember(word, "x"))
        memory.flush()
    return ids


def in_the_way(path: Path) -> None:
    """Put a folder in the place of a file."""
    path.unlink(missing_ok=True)
    (path / "of somebody").mkdir(parents=True)


def out_of_the_way(path: Path) -> None:
    (path / "of somebody").rmdir()
    path.rmdir()


def test_a_turn_that_could_not_be_erased_is_erased_by_the_next_flush(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    secret, _ = saved(memory, "secret", "other")
    in_the_way(tmp_path / BACKUP)
    with pytest.raises(StoreError, match="until they can be written"):
        memory.forget(secret)
    memory.flush()
    assert memory.status().problem
    out_of_the_way(tmp_path / BACKUP)
    memory.flush()
    assert memory.status().problem is None
    assert (where(tmp_path, ["secret"]), texts(memory)) == ([], ["other\nx"])


def test_a_turn_that_could_not_be_erased_is_erased_at_the_next_start(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    secret, _, _ = saved(memory, "secret", "other", "third")
    aside = tmp_path / f"{BACKUP}.damaged-20260101T000000"
    aside.mkdir()
    with pytest.raises(StoreError):
        memory.forget(secret)
    memory.close()
    aside.rmdir()
    aside.write_bytes(b"PAR1 secret")
    again = opened(tmp_path)
    again.flush()
    assert (where(tmp_path, ["secret"]), texts(again)) == ([], ["other\nx", "third\nx"])


def test_what_is_cleared_half_way_does_not_come_back(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    saved(memory, "secret", "secret too")
    in_the_way(tmp_path / BACKUP)
    with pytest.raises(StoreError, match="until they can be removed"):
        memory.clear()
    assert memory.count() == 0
    memory.close()
    again = opened(tmp_path)
    assert again.count() == 0
    out_of_the_way(tmp_path / BACKUP)
    saved(again, "new")
    again.close()
    assert (where(tmp_path, ["secret"]), texts(opened(tmp_path))) == ([], ["new\nx"])


def test_a_journal_that_was_cleared_makes_the_files_of_before_invalid(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    saved(memory, "secret", "secret too")
    memory.close()
    journal = Journal(tmp_path / JOURNAL)
    journal.clear()  # and the process ends before it has removed the files
    journal.close()
    again = opened(tmp_path)
    assert again.count() == 0
    again.flush()
    assert where(tmp_path, ["secret"]) == []


def test_nothing_counts_as_forgotten_while_it_can_not_be_said_what_waits(opened: Opener, tmp_path: Path) -> None:
    embedder = WatchedEmbedder()
    memory = opened(tmp_path, embedder)
    with embedder.held():
        waiting = memory.remember("waiting", "x")
        assert embedder.entered.wait(10)
        with locked(tmp_path):
            memory.remember("locked", "x")
            with pytest.raises(StoreError, match="Nothing was forgotten"):
                memory.forget(waiting)
        assert memory.forget(waiting).count == 1
    memory.flush()
    assert texts(memory) == ["locked\nx"]


def test_a_backup_that_is_the_file_itself_leaves_no_second_name(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    saved(memory, "one")
    os.link(tmp_path / FILE, tmp_path / BACKUP)  # a process that saved ended just before it replaced the file
    saved(memory, "two")
    memory.close()
    assert strays(tmp_path) == []


def test_a_turn_that_another_process_forgets_is_not_brought_back_by_a_change_of_model(tmp_path: Path) -> None:
    journal = Journal(tmp_path / JOURNAL)
    turns = [new_turn(word, "x") for word in ("gone", "here")]
    vectors = [list(FakeEmbedder().embed([turn.text])) for turn in turns]
    journal.index(list(zip(turns, vectors, strict=True)))
    journal.forget([turns[0].turn_id])  # since the one who embeds them again has looked
    journal.index_again(list(zip(turns, vectors, strict=True)), "fake/other", since=0)
    assert journal.ids() == {turns[1].turn_id}
    journal.embed_again(turns, "fake/third")
    assert journal.ids() == {turns[1].turn_id}
    known = journal.last_change()
    journal.clear()
    assert journal.index_again(list(zip(turns, vectors, strict=True)), "fake/third", since=known) is None
    assert journal.ids() == set()
    journal.close()
