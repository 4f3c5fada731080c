"""Whether a call costs more once there is much history."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Figure, latencies, quantile
from ffai import FFAI
from ffai.testing import FakeClient


def figures() -> Iterator[Figure]:
    """Compare 100 calls after 100 with 100 calls after 10,000."""
    ffai = FFAI(FakeClient(["A short answer."] * 10_300))

    def call(number: int) -> object:
        return ffai.generate_response(f"question {number}", prompt_name="question")

    latencies(call, 100)
    early = quantile(latencies(call, 100), 0.5)
    latencies(call, 9_800)
    late = quantile(latencies(call, 100), 0.5)
    yield Figure("generate_response after 10,000 calls, over after 100", late / early, "x", 1.2)
