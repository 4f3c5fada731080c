"""The figures that this library is to reach, and which part of the benchmarks, or which other place, shows each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """One promise."""

    what: str
    bound: str
    part: str = ""
    """The part of the benchmarks that measures it."""
    elsewhere: str = ""
    """Where it is shown, if not by a part."""


TARGETS = (
    Target(
        "Calling thread: `generate_response` with persistent memory on, over off; "
        "idle, sleeping and tokenising embedder",
        "≤ 100 µs median, ≤ 1 ms at p99, at 1k and at 100k stored turns",
        part="calling_thread",
    ),
    Target(
        "Search, exact, 384 dimensions, top 10",
        "≤ 0.25 × the time of a NumPy float32 product with argpartition, at 100k and at 1M; the same ids",
        part="search",
    ),
    Target("Search scoped to 1% of 1M turns", "≤ 2 ms", part="scoped_search"),
    Target(
        "Hybrid search of 100k turns, and of one person's 1,000 among them",
        "≤ 10 ms beyond embedding the question, or ≤ 3 × a vector search; ≤ 2 ms",
        part="hybrid",
    ),
    Target(
        "Semantic search of 20,000 records, without a filter and with one of 1%; making their vectors",
        "≤ 3 × the bare engine; ≤ 25 ms beyond it; ≥ 0.9 × the embedder's own batched throughput",
        part="objects",
    ),
    Target("Background embedding", "≥ 0.9 × the embedder's own batched throughput", part="embedding"),
    Target("Persisting a turn at 100k stored turns, over at 1k", "≤ 1.5 × (amortised)", part="persisting"),
    Target("Opening 100k turns", "≤ 2 s to the first vector search", part="opening"),
    Target(
        "Memory for a stored turn (384 dims, 600 characters)",
        "≤ 4 KiB; with message vectors for hybrid ≤ 6 KiB",
        part="footprint",
    ),
    Target("`generate_response` after 10,000 calls, over after 100", "≤ 1.2 ×", part="growth"),
    Target("`import ffai`", "≤ 0.25 s, no socket", part="importing"),
    Target("Accepted turns lost in 500 random `kill -9`", "0; none twice", elsewhere="`make test-long`"),
)
