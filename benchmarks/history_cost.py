"""What recording a call costs, and that it doesn't grow with the history.

Run: ``python -m benchmarks.history_cost``
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from ffai.core.history import HistoryRecorder

ANSWER = "The migration failed because the lock timeout was too short. " * 10
SHORT, LONG, SAMPLES = 100, 10_000, 2_000


class _Journal:
    """A memory that takes a turn at no cost."""

    def remember(self, prompt: str, *_: Any, **__: Any) -> str:
        return prompt


def filled_recorder(calls: int) -> HistoryRecorder:
    """Return a recorder with that many calls, half of them under one of 50 names."""
    recorder = HistoryRecorder(memory=_Journal())
    for number in range(calls):
        _record(recorder, number)
    return recorder


def recording_seconds(recorders: list[HistoryRecorder], samples: int = SAMPLES) -> list[list[float]]:
    """Return, for each recorder, the seconds of ``samples`` recordings, taken in turns so that noise hits all alike."""
    seconds: list[list[float]] = [[] for _ in recorders]
    for number in range(samples):
        for recorder, times in zip(recorders, seconds, strict=True):
            start = time.perf_counter()
            _record(recorder, number)
            times.append(time.perf_counter() - start)
    return seconds


def _record(recorder: HistoryRecorder, number: int) -> None:
    name = f"step_{number % 50}" if number % 2 else None
    recorder.record(f"Question {number}?", ANSWER, "some-model", prompt_name=name)


def main() -> None:
    """Print what a recording costs with a short and with a long history, and the ratio."""
    short, long = recording_seconds([filled_recorder(SHORT), filled_recorder(LONG)])
    for calls, seconds in ((SHORT, short), (LONG, long)):
        median, p99 = statistics.median(seconds), statistics.quantiles(seconds, n=100)[-1]
        print(f"record() after {calls:>6} calls: median {median * 1e6:5.1f} µs, p99 {p99 * 1e6:5.1f} µs")
    print(f"ratio of the medians: {statistics.median(long) / statistics.median(short):.2f}")


if __name__ == "__main__":
    main()
