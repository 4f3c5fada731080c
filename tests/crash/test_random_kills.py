"""Writers that are killed at random moments, alone or two on one collection: no turn is lost, and none doubled."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.crash.evidence import look_at
from tests.crash.faults import ROOT
from tests.crash.ledger import Ledger, assert_recovers, flush_until_well, open_on

KILLS = 500
A_CHAIN = 10
"""Kills that one collection lives through."""
OPENING, WRITING = 0.15, 0.7
"""Seconds, at the most, that a writer lives after it began to open the collection, and after it has opened it."""
TAKEN_OVER = 8.0
"""Seconds in which the survivor has embedded what waited for the other: two looks, on a busy machine."""


class Process:
    """A writer in a process of its own."""

    def __init__(self, folder: Path, who: str, chance: random.Random, size: int = 8) -> None:
        durability = chance.choice(("process", "process", "process", "power"))
        program = [sys.executable, "-m", "tests.crash.write", str(folder), who, str(chance.randrange(10**6))]
        self.errors = folder.parent / f"{folder.name}-{who}.err"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [*program, str(size), durability],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self.lines: list[str] = []
        self._told = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            with self._told:
                if line.endswith("\n"):
                    self.lines.append(line)
                self._told.notify_all()
        with self._told:
            self.lines.append("end")
            self._told.notify_all()

    def wait_for(self, what: str, timeout: float = 60.0, *, since: int = 0) -> list[str]:
        """Wait until it has said something, after so many lines; gives the words."""

        def found() -> list[str] | None:
            said = (line.split() for line in self.lines[since:])
            return next((words for words in said if words[0] in (what, "end")), None)

        with self._told:
            assert self._told.wait_for(found, timeout), f"it does not say {what!r}: {self.lines[-1:]}"
            said = found()
        assert said, self.lines
        assert said[0] == what, self.errors.read_text()[-2000:]
        return said[1:]

    def live_a_while(self, chance: random.Random) -> None:
        """Let it live until a random moment: while it opens the collection, or later."""
        at_start = chance.random() < 0.25
        self.wait_for("opening" if at_start else "open")
        threading.Event().wait(chance.random() * (OPENING if at_start else WRITING))

    def kill(self) -> Ledger:
        """Kill it; gives what it said. Turns may be lost only where it has said that they are not durable just now."""
        self.process.kill()
        ledger = self._ended(-signal.SIGKILL)
        told = self.errors.read_text()
        if told.rfind("New turns are kept in memory") > told.rfind("can be written again"):
            ledger.doubtful |= ledger.accepted.keys() - ledger.forgotten
        return ledger

    def close(self) -> Ledger:
        """Let it close the memory and end; gives what it said."""
        self.ask("close", "closed")
        return self._ended(0)

    def _ended(self, code: int) -> Ledger:
        assert self.process.wait(30) == code, self.errors.read_text()[-2000:]
        self._reader.join()
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        told = self.errors.read_text()
        assert "Traceback" not in told, told[-3000:]
        return self.ledger()

    def ledger(self) -> Ledger:
        """Give what it said up to now."""
        return Ledger.of(self.lines)

    def ask(self, order: str, answer: str) -> list[str]:
        """Tell it what to do, and wait for the answer; gives the words."""
        since = len(self.lines)
        self.order(order)
        return self.wait_for(answer, since=since)

    def order(self, what: str) -> None:
        """Tell it what to do."""
        assert self.process.stdin
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()


def begin(folder: Path, chance: random.Random) -> Ledger:
    """Make a collection; a large one at times, whose file is not rewritten for each turn."""
    ledger = Ledger()
    folder.mkdir()  # the first writer may be killed before it has made it
    if chance.random() < 0.3:
        memory = open_on(folder)
        for number in range(chance.randint(1000, 2000)):
            word = f"w0n{number}m"
            ledger.note("accepted", word, memory.remember(f"What is {word}?", "x"))
        flush_until_well(memory)
        memory.close()
    return ledger


def look_after_a_kill(folder: Path, ledger: Ledger) -> None:
    """What is on the disk at this moment is whole, with every turn."""
    kept = look_at(folder)
    kept.assert_each_once()
    ledger.assert_right(kept.ids)


def one_after_the_other(folder: Path, chance: random.Random, kills: int) -> None:
    """Kill one writer after the other. The next one starts on what is there; at times all is looked through before."""
    ledger = begin(folder, chance)
    for number in range(1, kills + 1):
        writer = Process(folder, f"w{number}", chance, size=chance.choice((8, 8, 8, 16)))
        writer.live_a_while(chance)
        ledger.join(writer.kill())
        look_after_a_kill(folder, ledger)
        if number == kills or chance.random() < 0.5:
            assert_recovers(folder, ledger)


def two_at_once(folder: Path, chance: random.Random, kills: int) -> None:
    """Kill one of two writers, again and again; the other one goes on, and sees everything."""
    ledger = begin(folder, chance)
    writers = [Process(folder, f"w{number}", chance) for number in (1, 2)]
    for number in range(3, kills + 3):
        chance.choice(writers).live_a_while(chance)
        victim = writers.pop(chance.randrange(2))
        ledger.join(victim.kill())
        survivor = writers[0]
        survivor.wait_for("open")
        started = time.monotonic()
        _, pending, failed, *ids = survivor.ask("report", "sees")
        assert (pending, failed) == ("0", "0")
        assert time.monotonic() - started < TAKEN_OVER
        now = Ledger()
        for known in (ledger, survivor.ledger()):
            now.join(known)
        now.assert_right(ids)
        look_after_a_kill(folder, now)
        survivor.order("go")
        writers.append(Process(folder, f"w{number}", chance))
    writers[1].wait_for("open")
    for writer in writers:
        ledger.join(writer.close())
    assert_recovers(folder, ledger)


Chain = Callable[[Path, random.Random, int], None]


def live_through(chain: Chain, folder: Path, seed: int, kills: int) -> str:
    """Kill writers; gives what went wrong, and how to do it again."""
    try:
        chain(folder, random.Random(seed), kills)
    except Exception as error:
        return f"{chain.__name__}, seed {seed}: {type(error).__name__}: {error!s:.2000}"
    return ""


def problems(folder: Path, seed: int, chains: int, kills: int) -> list[str]:
    """Live through many chains of kills, two chains at a time, half of them with two writers."""

    def run(number: int) -> str:
        chain = (one_after_the_other, two_at_once)[number % 2]
        return live_through(chain, folder / f"chain{number}", seed + number, kills)

    with ThreadPoolExecutor(2) as both:
        return [problem for problem in both.map(run, range(chains)) if problem]


def test_ten_kills_cost_nothing(tmp_path: Path) -> None:
    assert problems(tmp_path, seed=20, chains=2, kills=5) == []


@pytest.mark.long
@pytest.mark.timeout(3000)
def test_five_hundred_kills_cost_nothing(tmp_path: Path) -> None:
    found = problems(tmp_path, random.randrange(10**6), KILLS // A_CHAIN, A_CHAIN)
    assert found == [], "\n".join(found)
