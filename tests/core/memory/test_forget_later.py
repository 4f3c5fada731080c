"""What could not be forgotten at once is forgotten as soon as that works, and nothing is said of it meanwhile."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import filelock

from ffai.core.memory import Memory
from tests.core.memory.conftest import Logged, Opener


def is_empty_soon(log: Path) -> bool:
    pause = threading.Event()
    return any(log.stat().st_size == 0 or pause.wait(0.05) for _ in range(400))


def held_up_by_a_reader(memory: Memory, folder: Path) -> None:
    """Forget a turn while somebody reads the journal."""
    turn_id = memory.remember("Where is the key?", "Under the mat.")
    memory.flush()
    with closing(sqlite3.connect(folder / "ffai_turns.sqlite3", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM indexed").fetchone()
        assert memory.forget(turn_id).remains
        reader.execute("COMMIT")


def test_it_is_finished_though_nothing_else_happens(opened: Opener, tmp_path: Path) -> None:
    held_up_by_a_reader(opened(tmp_path), tmp_path)

    assert is_empty_soon(tmp_path / "ffai_turns.sqlite3-wal")


def test_it_waits_quietly_for_one_who_writes_the_file(opened: Opener, tmp_path: Path, logged: Logged) -> None:
    memory = opened(tmp_path)
    held_up_by_a_reader(memory, tmp_path)
    with filelock.FileLock(tmp_path / "ffai_turns.lock"):
        memory.remember("Where is the cat?", "On the mat.")
        memory.flush()
    assert is_empty_soon(tmp_path / "ffai_turns.sqlite3-wal")
    assert logged() == []


def test_what_was_cleared_stays_so_though_the_process_ended_before_the_files_were_removed(
    opened: Opener, tmp_path: Path
) -> None:
    memory = opened(tmp_path)
    for prompt in ("Where is the key?", "Where is the cat?"):
        memory.remember(prompt, "On the mat.")
        memory.flush()
    files = [tmp_path / "ffai_turns.parquet", tmp_path / "ffai_turns.bak"]
    before = [path.read_bytes() for path in files]
    memory.clear()
    memory.close()
    for path, content in zip(files, before, strict=True):
        path.write_bytes(content)

    again = opened(tmp_path)
    assert again.count() == 0
    again.remember("Where is the dog?", "In the house.")
    again.close()
    assert not any(b"mat" in path.read_bytes() for path in files if path.exists())
    assert opened(tmp_path).count() == 1
