"""Files of earlier versions."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Logged, Opener

VERSION_1 = """
PRAGMA application_id = 1717985641;
PRAGMA user_version = 1;
CREATE TABLE facts (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE arrivals (
    change INTEGER PRIMARY KEY,
    turn_id TEXT NOT NULL, text TEXT NOT NULL, turn TEXT NOT NULL, metadata TEXT NOT NULL,
    failed INTEGER NOT NULL DEFAULT 0, tries INTEGER NOT NULL DEFAULT 0, retry_at REAL NOT NULL DEFAULT 0, reason TEXT
);
CREATE TABLE indexed (
    change INTEGER PRIMARY KEY,
    turn_id TEXT NOT NULL UNIQUE, text TEXT NOT NULL, turn TEXT NOT NULL, metadata TEXT NOT NULL, vector BLOB NOT NULL
);
CREATE TABLE parts (
    turn_id TEXT NOT NULL, part INTEGER NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (turn_id, part)
) WITHOUT ROWID;
INSERT INTO facts VALUES ('journal_id', 'abc'), ('last_change', 2), ('model', 'fake/hashed-words');
INSERT INTO arrivals (change, turn_id, text, turn, metadata) VALUES (3, 'a1', 'Where is the key?', '{}', '{}');
"""


def old_journal(folder: Path) -> Path:
    path = folder / "ffai_turns.sqlite3"
    with closing(sqlite3.connect(path)) as journal:
        journal.executescript(VERSION_1)
        vector = np.array(FakeEmbedder().embed(["When is it?"])[0], dtype=np.float64).tobytes()
        journal.execute("INSERT INTO indexed VALUES (2, 'a0', 'When is it?', '{}', '{}', ?)", (vector,))
        journal.commit()
    return path


def test_a_journal_of_the_first_version_is_taken_over(opened: Opener, tmp_path: Path, logged: Logged) -> None:
    old_journal(tmp_path)
    memory = opened(tmp_path)
    memory.flush()
    assert {hit.text for hit in memory.search("key", top_k=5)} == {"Where is the key?", "When is it?"}
    memory.close()
    assert opened(tmp_path).count() == 2
    assert logged() == []


def test_a_damaged_one_is_salvaged(opened: Opener, tmp_path: Path) -> None:
    path = old_journal(tmp_path)
    broken = bytearray(path.read_bytes())
    broken[-4096:] = b"\xff" * 4096  # the table of parts, which is empty
    path.write_bytes(broken)
    memory = opened(tmp_path)
    memory.flush()
    assert memory.status().notes
    assert memory.count() == 2


def test_the_oldest_turn_that_waits_is_told(opened: Opener) -> None:
    embedder = FakeEmbedder()
    embedder.gate.clear()
    memory = opened(embedder=embedder)
    assert memory.status().oldest_pending is None
    memory.remember("Where is the key?", "Under the mat.")
    memory.remember("When?", "Now.")
    status = memory.status()
    assert status.pending == 2
    assert status.oldest_pending is not None
    assert 0.0 <= status.oldest_pending < 60.0
    embedder.gate.set()
    memory.flush()
    assert memory.status().oldest_pending is None


def test_a_journal_of_a_later_version_is_left_as_it_is(opened: Opener, tmp_path: Path, logged: Logged) -> None:
    path = old_journal(tmp_path)
    with closing(sqlite3.connect(path)) as journal:
        journal.execute("PRAGMA user_version = 99")
    whole = path.read_bytes()
    memory = opened(tmp_path)
    assert "version 99" in str(memory.status().notes)
    (aside,) = tmp_path.glob("ffai_turns.sqlite3.damaged-*")
    assert aside.read_bytes() == whole
