"""What is in the files of a collection, without asking ffai."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ffai.core.memory import load_store

NAME = "ffai_turns"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The turns' ids, by where they are."""

    file: list[str]
    waiting: list[str]
    indexed: list[str]

    @property
    def ids(self) -> set[str]:
        """The ids of all turns that the files hold together."""
        return {*self.file, *self.waiting, *self.indexed}

    def assert_each_once(self) -> None:
        """No place holds a turn twice, and none waits that has its vector."""
        for name in ("file", "waiting", "indexed"):
            found = getattr(self, name)
            assert len(found) == len(set(found)), f"twice in {name}: {sorted(i for i in found if found.count(i) > 1)}"
        assert not set(self.waiting) & set(self.indexed)


def look_at(folder: Path) -> Evidence:
    """Read a copy of the files, as they are at this moment, with nobody writing them."""
    with _copy(folder) as copy:
        file = copy / f"{NAME}.parquet"
        for path in (file, copy / f"{NAME}.bak"):
            if path.exists():
                load_store(path)
        ids = [] if not file.exists() else [_id(turn) for turn in pl.read_parquet(file)["turn"]]
        return Evidence(ids, *_journal(copy / f"{NAME}.sqlite3"))


def where(folder: Path, words: Collection[str]) -> list[str]:
    """Tell where words can be read: in the bytes of files, and in what a Parquet file says when it is decoded."""
    found = []
    for path in sorted(folder.rglob("*")):
        try:
            content = path.read_bytes()
        except (IsADirectoryError, FileNotFoundError):
            continue
        if content.startswith(b"PAR1") and content.endswith(b"PAR1"):
            content += repr(pl.read_parquet(content).rows()).encode()
        found += [f"{word!r} in {path.name}" for word in words if word.encode() in content]
    return found


def strays(folder: Path) -> list[str]:
    """Name the files that have no business there."""
    known = {f"{NAME}{suffix}" for suffix in (".parquet", ".bak", ".sqlite3", ".sqlite3-wal", ".sqlite3-shm", ".lock")}
    return sorted(path.name for path in folder.iterdir() if path.name not in known)


@contextmanager
def _copy(folder: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as copy:
        for path in folder.iterdir():
            if path.name.startswith(NAME):
                shutil.copy(path, copy)
        yield Path(copy)


def _id(turn: str) -> str:
    return str(json.loads(turn)["metadata"]["ffai"]["turn_id"])


def _journal(path: Path) -> tuple[list[str], list[str]]:
    if not path.exists():
        return [], []
    with closing(sqlite3.connect(path)) as journal:
        if not journal.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return [], []
        waiting, indexed = (
            [row[0] for row in journal.execute(f"SELECT turn_id FROM {table}")] for table in ("arrivals", "indexed")
        )
        return waiting, indexed
