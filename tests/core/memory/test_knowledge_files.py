"""What was taught and threads, where the files are old, damaged, locked or full."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from ffai import Memory, MemoryScope
from ffai.core.memory.place import Place
from ffai.errors import StoreError
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Logged, Opener
from tests.core.memory.test_damage import aside
from tests.core.memory.test_forget import MARKER, found_in
from tests.core.memory.test_locked_journal import locked

JOURNAL = "ffai_turns.sqlite3"
ALICE = MemoryScope.user("alice")
VERSION_4 = """
PRAGMA application_id = 1717985641;
PRAGMA user_version = 4;
CREATE TABLE facts (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE arrivals (
    change INTEGER PRIMARY KEY,
    turn_id TEXT NOT NULL, text TEXT NOT NULL, turn TEXT NOT NULL, metadata TEXT NOT NULL,
    failed INTEGER NOT NULL DEFAULT 0,
    tries INTEGER NOT NULL DEFAULT 0,
    retry_at REAL NOT NULL DEFAULT 0,
    reason TEXT,
    accepted_at REAL NOT NULL DEFAULT 0,
    owner TEXT
);
CREATE TABLE indexed (
    change INTEGER PRIMARY KEY,
    turn_id TEXT NOT NULL UNIQUE, text TEXT NOT NULL, turn TEXT NOT NULL, metadata TEXT NOT NULL,
    vector BLOB NOT NULL
);
CREATE TABLE parts (
    turn_id TEXT NOT NULL, part INTEGER NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (turn_id, part)
) WITHOUT ROWID;
CREATE TABLE forgotten (change INTEGER PRIMARY KEY, turn_id TEXT NOT NULL UNIQUE);
CREATE INDEX indexed_change ON indexed (change);
CREATE TABLE messages (
    turn_id TEXT NOT NULL UNIQUE, text_sum INTEGER NOT NULL, words TEXT NOT NULL, model TEXT, vectors BLOB, scales BLOB
);
INSERT INTO facts VALUES ('journal_id', 'abc'), ('last_change', 2), ('model', 'fake/hashed-words');
INSERT INTO arrivals (change, turn_id, text, turn, metadata) VALUES (3, 'a1', 'Where is the key?', '{}', '{}');
"""


def taught(memory: Memory) -> list[str]:
    return [known.key for known in memory.knowledge.list()]


def said(memory: Memory) -> list[str]:
    return [message.content for message in memory.threads.history()]


def teach(memory: Memory, number: int = 3) -> None:
    for n in range(number):
        memory.knowledge.learn(f"k{n}", f"Fact number{n}. {'x' * 300}")
        memory.threads.add([("user", f"Message {n}")])


def spoil(path: Path, part: float) -> None:
    content = bytearray(path.read_bytes())
    content[int(len(content) * part) :] = b"\xa5" * (len(content) - int(len(content) * part))
    path.write_bytes(content)


# Old files


def test_a_journal_without_knowledge_gets_a_place_for_it(opened: Opener, tmp_path: Path, logged: Logged) -> None:
    with closing(sqlite3.connect(tmp_path / JOURNAL)) as journal:
        journal.executescript(VERSION_4)
    memory = opened(tmp_path)
    assert taught(memory) == said(memory) == []
    teach(memory)
    assert [hit.text for hit in memory.search("key")] == ["Where is the key?"]
    memory.close()
    again = opened(tmp_path)
    assert (taught(again), len(said(again)), again.count()) == (["k0", "k1", "k2"], 3, 1)
    assert logged() == []


# Damage


@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
def test_what_can_be_read_of_a_damaged_journal_goes_on(opened: Opener, tmp_path: Path, part: float) -> None:
    memory = opened(tmp_path)
    teach(memory, 40)
    memory.flush()
    memory.close()
    with closing(sqlite3.connect(tmp_path / JOURNAL)) as journal:
        journal.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    spoil(tmp_path / JOURNAL, part)
    again = opened(tmp_path)
    kept = taught(again)
    assert set(kept) <= {f"k{number}" for number in range(40)}
    assert again.flush().failed == 0
    assert len(again.knowledge.search("fact", 50, wait=None)) == len(kept)
    again.knowledge.learn("after", "After the damage.")
    again.threads.add([("user", "After")])
    again.close()
    assert "after" in taught(opened(tmp_path))


def test_a_journal_whose_other_tables_are_damaged_keeps_knowledge_and_threads(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    teach(memory)
    memory.flush()
    memory.close()
    with closing(sqlite3.connect(tmp_path / JOURNAL)) as journal:
        page = journal.execute("SELECT rootpage FROM sqlite_master WHERE name = 'arrivals'").fetchone()[0]
        size = journal.execute("PRAGMA page_size").fetchone()[0]
    content = bytearray((tmp_path / JOURNAL).read_bytes())
    content[(page - 1) * size : page * size] = b"\xa5" * size
    (tmp_path / JOURNAL).write_bytes(content)
    again = opened(tmp_path)
    again.remember("Hi", "Hello")
    again.flush()
    assert len(aside(tmp_path)) == 1
    assert taught(again) == ["k0", "k1", "k2"]
    assert said(again) == ["Message 0", "Message 1", "Message 2"]
    assert len(again.knowledge.search("fact", mode="vector", wait=None)) == 3


@pytest.mark.parametrize("what", ["knowledge", "thread"])
def test_what_is_forgotten_is_in_no_file_that_was_moved_aside(opened: Opener, tmp_path: Path, what: str) -> None:
    memory = opened(tmp_path)
    memory.knowledge.learn("secret", f"It is {MARKER}.")
    memory.threads.add([("user", f"It is {MARKER}.")])
    memory.flush()
    memory.close()
    old = (tmp_path / JOURNAL).read_bytes()
    (tmp_path / f"{JOURNAL}.damaged-20250101T000000").write_bytes(old)
    again = opened(tmp_path)
    if what == "knowledge":
        again.threads.clear()
        again.knowledge.learn("secret", "Nothing.")
        assert again.knowledge.forget("secret")
    else:
        again.knowledge.forget("secret")
        again.threads.add([("user", f"{MARKER} once more")])
        assert again.threads.clear() == 2
    assert found_in(tmp_path) == []


# Forgetting


def test_what_is_forgotten_is_nowhere_in_the_folder(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("Hi", "Hello")
    for _ in range(2):
        memory.knowledge.learn(f"key {MARKER}", {"content": f"It is {MARKER}.", "more": MARKER}, {"m": MARKER})
    memory.threads.add([("user", f"It is {MARKER}."), ("assistant", "Fine.")], scope=ALICE)
    memory.flush()
    assert found_in(tmp_path)
    assert memory.knowledge.forget(f"key {MARKER}")
    assert memory.threads.clear(scope=ALICE) == 2
    assert found_in(tmp_path) == []
    assert memory.count() == 1


def test_what_drops_out_of_a_thread_is_nowhere_once_the_thread_is_cleared(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.threads.add([("user", MARKER)])
    memory.threads.add([("user", "a"), ("user", "b")], keep=2)
    assert said(memory) == ["a", "b"]
    memory.threads.clear()
    assert found_in(tmp_path) == []


def test_forgetting_says_where_a_text_is_left_and_goes_on(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.knowledge.learn("secret", f"It is {MARKER}.")
    memory.flush()
    with closing(sqlite3.connect(tmp_path / JOURNAL, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM knowledge").fetchone()
        with pytest.raises(StoreError, match="log"):
            memory.knowledge.forget("secret")
        assert taught(memory) == []
        reader.execute("ROLLBACK")
    deadline = time.monotonic() + 40
    while found_in(tmp_path):
        memory.remember("Hi", "Hello")
        memory.flush()
        assert time.monotonic() < deadline


# A journal that can't be written


def test_nothing_is_half_kept_while_the_journal_is_locked_and_what_is_known_is_found(
    opened: Opener, tmp_path: Path
) -> None:
    memory = opened(tmp_path)
    memory.knowledge.learn("pet", "A cat.")
    memory.threads.add([("user", "Hi")])
    memory.flush()
    with locked(tmp_path):
        for change in (
            lambda: memory.knowledge.learn("diet", "No nuts."),
            lambda: memory.threads.add([("user", "Lost"), ("user", "Lost too")]),
            lambda: memory.knowledge.forget("pet"),
            lambda: memory.threads.clear(),
        ):
            for _ in range(2):
                with pytest.raises(StoreError):
                    change()
        memory.remember("Kept in memory", "Yes.")
        assert [known.key for known in memory.knowledge.search("cat nuts", wait=0.0)] == ["pet"]
        assert [known.key for known in memory.retrieve("cat", wait=0.0).knowledge] == ["pet"]
        assert (taught(memory), said(memory)) == (["pet"], ["Hi"])
    memory.flush()
    memory.knowledge.learn("diet", "No nuts.")
    memory.threads.add([("user", "Again")])
    assert (taught(memory), said(memory)) == (["pet", "diet"], ["Hi", "Again"])
    assert sorted(known.key for known in memory.knowledge.search("cat nuts")) == ["diet", "pet"]
    memory.close()
    assert (taught(opened(tmp_path)), opened(tmp_path).count()) == (["pet", "diet"], 1)


def test_a_turn_does_not_wait_for_one_who_teaches_on_a_locked_disk(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("Hi", "Hello")
    memory.flush()
    with locked(tmp_path):
        memory.remember("The first one finds out", "Yes.")

        def teach_in_vain() -> None:
            for _ in range(5):
                with pytest.raises(StoreError):
                    memory.knowledge.learn("diet", "No nuts.")

        teacher = threading.Thread(target=teach_in_vain)
        teacher.start()
        while teacher.is_alive():
            memory.remember("Hi again", "Hello")
        teacher.join()
    assert memory.close(timeout=20).pending == 0


def test_the_log_does_not_grow_with_what_is_taught(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path, FakeEmbedder(256))
    sizes = []
    for number in range(6):
        for part in range(40):
            memory.knowledge.learn(f"k{number}-{part}", f"Fact {number} {part}.")
            memory.threads.add([("user", f"Fact {number} {part}.")])
        memory.flush()
        sizes.append(Path(f"{Place.at(tmp_path, 'ffai_turns').journal}-wal").stat().st_size)
    assert max(sizes[3:]) <= 2 * max(sizes[:2])
