"""What a program says that it did with a collection, and whether the files agree."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ffai.core.memory import Memory, load_store
from ffai.testing import FakeEmbedder
from tests.crash.evidence import NAME, look_at, strays, where

SOON = 20.0
"""Seconds that a collection has to recover."""


@dataclass(slots=True)
class Ledger:
    """What became of turns; each has a word in it that no other has."""

    accepted: dict[str, str] = field(default_factory=dict)
    """Ids of the turns that were accepted, by word."""
    doubtful: set[str] = field(default_factory=set)
    """Words of turns that are there or not: somebody began to forget them."""
    forgotten: set[str] = field(default_factory=set)
    """Words that must be nowhere."""
    writers: int = 0
    """How many were broken off; each may have one turn more than it said."""

    @classmethod
    def of(cls, lines: Iterable[str]) -> Ledger:
        """Read what a program said up to its end."""
        ledger = cls(writers=1)
        for line in lines:
            ledger.note(*line.split())
        return ledger

    def note(self, what: str, *words: str) -> None:
        """Take down one line."""
        if what == "accepted":
            self.accepted[words[0]] = words[1]
        elif what == "forgetting":
            self.doubtful |= set(words)
        elif what == "forgot":
            self.forgotten |= set(words)
            self.doubtful -= set(words)
        elif what == "kept":
            self.doubtful -= set(words)

    def join(self, other: Ledger) -> None:
        """Take over what another program did."""
        self.accepted |= other.accepted
        self.doubtful |= other.doubtful
        self.forgotten |= other.forgotten
        self.writers += other.writers

    def assert_right(self, ids: Iterable[str]) -> None:
        """Compare with the ids of the turns that are there."""
        found = list(ids)
        assert len(found) == len(set(found)), f"twice: {sorted(i for i in found if found.count(i) > 1)}"
        lost = {w for w, i in self.accepted.items() if i not in found} - self.doubtful - self.forgotten
        assert not lost, f"lost: {sorted(lost)}"
        back = {word for word in self.forgotten if self.accepted[word] in found}
        assert not back, f"came back: {sorted(back)}"
        unknown = set(found) - set(self.accepted.values())
        assert len(unknown) <= self.writers, f"nobody was told of {len(unknown)} turns"

    def settle(self, ids: Iterable[str]) -> None:
        """Take what is in doubt, and is not there after all has been done, for forgotten."""
        found = set(ids)
        gone = {word for word in self.doubtful if self.accepted[word] not in found}
        self.forgotten |= gone
        self.doubtful.clear()


def say(*words: object) -> None:
    """Tell the test that started this program."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def open_on(folder: Path, size: int = 8) -> Memory:
    """Open the collection with a model that is called by the size of its vectors."""
    memory = Memory(FakeEmbedder(size, model=f"fake/{size}"))
    memory.persist_to(folder)
    return memory


def ids_in(memory: Memory) -> list[str]:
    """Give the ids of all turns that a search can find."""
    return [entry.turn["metadata"]["ffai"]["turn_id"] for entry in memory.store.iter_entries()]


def flush_until_well(memory: Memory) -> None:
    """Flush until all is embedded, in the file, and nothing is wrong any more."""
    give_up_at = time.monotonic() + SOON
    while memory.flush(SOON).pending or memory.status().problem:
        assert time.monotonic() < give_up_at, memory.status()
        time.sleep(0.02)


def assert_recovers(folder: Path, ledger: Ledger, size: int = 8) -> None:
    """Open a collection that somebody left at any moment; all is right again, at once and after it was closed."""
    look_at(folder)
    memory = open_on(folder, size)
    flush_until_well(memory)
    ids = ids_in(memory)
    ledger.assert_right(ids)
    ledger.settle(ids)
    found = where(folder, ledger.forgotten)
    assert not found, f"forgotten, and still there after a flush: {found}"
    assert memory.status().notes == ()
    memory.close(SOON)
    assert_at_rest(folder, ids)


def assert_at_rest(folder: Path, ids: Iterable[str]) -> None:
    """The files hold these turns, each once, and there is nothing else in the folder."""
    assert strays(folder) == []
    kept = look_at(folder)
    kept.assert_each_once()
    assert sorted(kept.ids) == sorted(ids)
    if (folder / f"{NAME}.parquet").exists():
        assert load_store(folder / f"{NAME}.parquet").count() == len(list(ids))
