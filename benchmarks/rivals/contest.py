"""Our store beside one rival: both asked in turn, in rounds, so that both meet the machine at the same speed."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.rivals.environment import NotInstalledError
from benchmarks.rivals.process import EndedError, EngineProcess, OverTimeError
from benchmarks.rivals.rival import Rival
from benchmarks.vectors import QUERIES, Truth, VectorFiles

LIMIT = 150
"""Seconds of processor time that a rival may take at a size, for adding and for the fewest searches."""
SEARCHING = 20
"""Seconds of searching after which no further round begins."""
FEWEST = 3
"""Queries asked at the least."""
ROUND = 5
"""Queries a round; one, where a search takes longer than a second."""


@dataclass(frozen=True)
class Row:
    """What was measured of one rival at one size, or why nothing was."""

    rival: str
    version: str
    size: int
    vectors: str
    left_out: str | None = None
    queries: int = 0
    search_ms: float = 0.0
    over_ours: float = 0.0
    """How many times as long as ours a search takes: the median over the rounds."""
    add_s: float = 0.0
    recall: float = 0.0

    @property
    def missed(self) -> bool:
        """A row has no target to miss."""
        return False

    def __str__(self) -> str:
        name = self.rival if self.version in self.rival else f"{self.rival} {self.version}"
        start = f"{name:<32} {self.size:>9,}  "
        if self.left_out:
            return f"{start}left out: {self.left_out}"
        return (
            f"{start}search {self.search_ms:>9.3f} ms = {self.over_ours:>8.2f} x ours   add {self.add_s:>8.2f} s"
            f"   recall {self.recall:.3f}"
        )


class Contest:
    """One size: ours runs all along, the rivals come one after the other.

    Args:
        ours: our engine, with all rows added.
        files: what all engines add and are asked.
        size: how many rows that is.
        truth: the right answers.
    """

    def __init__(self, ours: EngineProcess, files: VectorFiles, size: int, truth: Truth) -> None:
        self._ours, self._files, self._size, self._truth = ours, files, size, truth
        ours.search(0, 1)  # loads what it loads late

    def own_row(self, rival: Rival, add_s: float) -> Row:
        """Measure ours alone."""
        times, found = self._ours.search(0, QUERIES)
        return Row(
            rival=rival.name,
            version=rival.version,
            size=self._size,
            vectors=self._files.kind,
            queries=QUERIES,
            search_ms=statistics.median(times) / 1000,
            over_ours=1.0,
            add_s=add_s,
            recall=self._truth.recall(found),
        )

    def against(self, rival: Rival, smaller: Row | None) -> Row:
        """Measure one rival.

        Args:
            rival: the one.
            smaller: what was measured of it at the size before, to foresee what it takes at this one.
        """
        reason = foreseen(smaller, self._size)
        if reason is None:
            try:
                with EngineProcess(rival, self._files, LIMIT + SEARCHING) as process:
                    return self._measured(rival, process)
            except NotInstalledError as error:
                reason = f"could not be installed: {error}"
            except OverTimeError:
                reason = f"took longer than {LIMIT} s"
            except EndedError as error:
                reason = str(error)
        return Row(rival.name, rival.version, self._size, self._files.kind, left_out=reason)

    def _measured(self, rival: Rival, process: EngineProcess) -> Row:
        add_s = process.add()
        first, _ = process.search(0, 1)
        rounds = Rounds(ROUND if first[0] < 1e6 else 1)
        rounds.run(self._ours.search, process.search)
        return Row(
            rival=rival.name,
            version=rival.version,
            size=self._size,
            vectors=self._files.kind,
            queries=len(rounds.found),
            search_ms=statistics.median(rounds.theirs) / 1000,
            over_ours=ratio(rounds.ours, rounds.theirs, rounds.length),
            add_s=add_s,
            recall=self._truth.recall(rounds.found),
        )


Ask = Callable[[int, int], tuple[list[float], list[list[int]]]]


class Rounds:
    """Queries asked in turn of two engines."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.ours: list[float] = []
        self.theirs: list[float] = []
        self.found: list[list[int]] = []

    def run(self, ours: Ask, theirs: Ask) -> None:
        """Ask all queries, or fewer where that takes long."""
        for first in range(0, QUERIES, self.length):
            if len(self.found) >= FEWEST and sum(self.theirs) > SEARCHING * 1e6:
                break
            times, _ = ours(first, self.length)
            self.ours += times
            times, found = theirs(first, self.length)
            self.theirs += times
            self.found += found


def ratio(ours: Sequence[float], theirs: Sequence[float], length: int) -> float:
    """Return the median over the rounds of how many times as long as ours theirs took.

    Examples:
        >>> ratio([1.0, 1.0, 2.0, 2.0], [3.0, 3.0, 6.0, 6.0], length=2)
        3.0
    """
    starts = range(0, len(ours), length)
    return statistics.median(
        statistics.median(theirs[start : start + length]) / statistics.median(ours[start : start + length])
        for start in starts
    )


def foreseen(smaller: Row | None, size: int) -> str | None:
    """Return why a rival isn't worth starting at a size, judged by a smaller one; ``None`` if it is.

    Examples:
        >>> foreseen(Row("slow", "1.0", 10_000, "clustered", add_s=1.0, search_ms=7000.0), 100_000)
        'would take about 220 s'
    """
    if smaller is None:
        return None
    if smaller.left_out:
        return f"was left out at {smaller.size:,} turns"
    seconds = (smaller.add_s + FEWEST * smaller.search_ms / 1000) * size / smaller.size
    return f"would take about {seconds:,.0f} s" if seconds > LIMIT else None
