"""Turns that come, are embedded or are cleared while another program holds the journal's write lock."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from ffai.core.memory import load_store
from ffai.errors import JournalError
from tests.core.memory.conftest import Opener
from tests.doubles.embedders import WatchedEmbedder


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the write lock of the journal, as another program may."""
    with closing(sqlite3.connect(folder / "ffai_turns.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def test_a_turn_embedded_while_the_journal_is_locked_displaces_no_other(opened: Opener, tmp_path: Path) -> None:
    embedder = WatchedEmbedder()
    memory = opened(tmp_path, embedder)
    embedder.gate.clear()
    memory.remember("Where is the red key?", "Under the mat.")
    assert embedder.entered.wait(5)
    with locked(tmp_path):
        memory.remember("Where is the blue boat?", "In the harbour.")
        assert memory.status().not_durable == 1
        embedder.gate.set()
        memory.flush(timeout=5)
    assert memory.close(timeout=5).pending == 0
    responses = sorted(hit.response or "" for hit in memory.search("where", top_k=9))
    assert responses == ["In the harbour.", "Under the mat."]
    assert load_store(tmp_path / "ffai_turns.parquet").count() == 2


def test_nothing_is_forgotten_where_the_journal_can_not_be_written(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("Where is the red key?", "Under the mat.")
    memory.flush()
    with locked(tmp_path), pytest.raises(JournalError):
        memory.clear()
    assert memory.count() == 1
    memory.clear()
    memory.close()
    assert opened(tmp_path).count() == 0


def test_a_journal_that_is_damaged_while_it_is_open_stops_nothing(opened: Opener, tmp_path: Path) -> None:
    embedder = WatchedEmbedder()
    memory = opened(tmp_path, embedder)
    memory.remember("Where is the red key?", "Under the mat.")
    memory.flush()
    embedder.entered.clear()
    embedder.gate.clear()
    memory.remember("Where is the green door?", "At the back.")
    assert embedder.entered.wait(5)
    for path in tmp_path.glob("ffai_turns.sqlite3*"):
        path.write_bytes(b"\xa5" * path.stat().st_size)
    assert memory.count() == 1
    assert memory.status().problem or memory.status().notes
    embedder.gate.set()
    assert [hit.response for hit in memory.search("the red key", top_k=1)] == ["Under the mat."]
    memory.remember("Where is the blue boat?", "In the harbour.")
    assert [hit.response for hit in memory.search("the blue boat", top_k=1)] == ["In the harbour."]
    memory.close()
    assert [hit.response for hit in opened(tmp_path).search("the red key", top_k=1)] == ["Under the mat."]
