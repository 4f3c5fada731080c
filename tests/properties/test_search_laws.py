"""A search gives what comparing with every vector in double precision gives."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ffai.core.memory import TurnVectorStore
from ffai.core.memory.vectors import VectorBlocks
from ffai.core.similarity import cosine, unit

HAIR = 1e-12
"""What a double precision cosine of up to 400 numbers may be off by."""

magnitudes = st.sampled_from([0.0, 1e-310, 1e-40, 1e-30, 1e-3, 1.0, 1.0, 1.0, 1e3, 1e29, 1e31, 1e300])


@dataclass(frozen=True)
class Collection:
    """Vectors of turns, each its own first, and a query."""

    turns: list[list[list[float]]]
    query: list[float]

    def stored(self) -> TurnVectorStore:
        store = TurnVectorStore()
        for number, (own, *parts) in enumerate(self.turns):
            store.add(f"turn {number}", own, {"number": number}, {"number": number}, parts=parts)
        return store

    def scores(self) -> list[float]:
        return [max(exact_cosine(self.query, vector) for vector in turn) for turn in self.turns]


def exact_cosine(a: list[float], b: list[float]) -> float:
    """Compare without matrices: scaled so that nothing overflows, summed without rounding."""
    largest = max(map(abs, a)), max(map(abs, b))
    if not all(largest):
        return 0.0
    xs, ys = ([x / most for x in vector] for vector, most in zip((a, b), largest, strict=True))
    dot = math.fsum(x * y for x, y in zip(xs, ys, strict=True))
    return dot / math.sqrt(math.fsum(x * x for x in xs)) / math.sqrt(math.fsum(y * y for y in ys))


@st.composite
def collections(draw: st.DrawFn) -> Collection:
    """Few directions, many turns: duplicates, near ties, zeros, and lengths from the smallest to the largest."""
    dimensions = draw(st.sampled_from([1, 2, 3, 5, 16, 33]))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    directions = random.normal(size=(draw(st.integers(1, 6)), dimensions))
    nudge = draw(st.sampled_from([0.0, 1e-16, 1e-9, 1e-7, 1e-6, 1e-3]))
    single = draw(st.booleans())

    def vector() -> list[float]:
        direction = directions[random.integers(len(directions))] + nudge * random.normal(size=dimensions)
        found = direction / max(1e-3, float(np.abs(direction).max())) * draw(magnitudes)
        with np.errstate(over="ignore", under="ignore"):
            kept = found.astype(np.float32).astype(np.float64) if single else found
        return [float(x) for x in (kept if np.isfinite(kept).all() else found)]

    many = draw(st.integers(1, 40))
    with_parts = draw(st.booleans())
    turns = [[vector() for _ in range(1 + with_parts * draw(st.integers(0, 3)))] for _ in range(many)]
    query = vector() if draw(st.booleans()) else [float(x) for x in random.normal(size=dimensions)]
    return Collection(turns, query)


@given(collections(), st.integers(1, 45))
def test_the_best_are_found_in_order(collection: Collection, top_k: int) -> None:
    hits, right = collection.stored().search(collection.query, top_k), collection.scores()
    assert len(hits) == min(top_k, len(right))
    for hit, best in zip(hits, sorted(right, reverse=True), strict=False):
        assert abs(hit.score - right[hit.turn_index]) <= HAIR
        assert abs(hit.score - best) <= HAIR
    assert len({hit.turn_index for hit in hits}) == len(hits)
    order = [(-hit.score, hit.turn_index) for hit in hits]
    assert order == sorted(order)


@given(collections(), st.integers(1, 45))
def test_fewer_hits_are_the_beginning_of_more(collection: Collection, top_k: int) -> None:
    store = collection.stored()
    assert store.search(collection.query, top_k) == store.search(collection.query, 100)[:top_k]


@given(collections(), st.floats(-1.0, 1.0))
def test_a_threshold_only_takes_away(collection: Collection, threshold: float) -> None:
    store = collection.stored()
    every = store.search(collection.query, 100)
    assert store.search(collection.query, 100, threshold) == [hit for hit in every if hit.score >= threshold]


@given(collections())
def test_equal_turns_have_equal_scores_and_keep_their_order(collection: Collection) -> None:
    twice = Collection([*collection.turns, *collection.turns], collection.query)
    hits = {hit.turn_index: hit.score for hit in twice.stored().search(collection.query, 100)}
    first, second = range(len(collection.turns)), range(len(collection.turns), len(twice.turns))
    assert [hits[number] for number in first] == [hits[number] for number in second]


@given(collections())
def test_a_hit_belongs_to_its_vector_and_scores_are_cosines(collection: Collection) -> None:
    for hit in collection.stored().search(collection.query, 100):
        assert hit.text == f"turn {hit.turn_index}"
        assert hit.turn == hit.metadata == {"number": hit.turn_index}
        assert -1.0 <= hit.score <= 1.0


@given(collections())
def test_stored_numbers_are_never_changed(collection: Collection) -> None:
    kept = [entry.embedding for entry in collection.stored().iter_entries()]
    assert kept == [own for own, *_ in collection.turns]


@given(collections(), st.sampled_from([1e-300, 1e-30, 0.5, 3.0, 1e30]))
def test_scaling_the_query_keeps_every_score(collection: Collection, scale: float) -> None:
    query = [x * scale for x in collection.query]
    if not all(math.isfinite(x) and (x == 0.0) == (y == 0.0) for x, y in zip(query, collection.query, strict=True)):
        return
    if any(0.0 < abs(x) < 1e-290 for x in query):
        return  # so small that digits are lost
    store = collection.stored()
    before = {hit.turn_index: hit.score for hit in store.search(collection.query, 100)}
    after = {hit.turn_index: hit.score for hit in store.search(query, 100)}
    assert before.keys() == after.keys()
    assert all(abs(before[number] - after[number]) <= HAIR for number in before)


def test_near_ties_below_single_precision_are_told_apart_among_thousands() -> None:
    random = np.random.default_rng(11)
    row = random.normal(size=384)
    query = row / np.linalg.norm(row)
    aside = random.normal(size=384)
    aside -= (aside @ query) * query
    aside /= np.linalg.norm(aside)
    order = random.permutation(4500)  # more than a block of rows
    store = TurnVectorStore()
    for place in order:
        store.add(str(place), query + aside * (1 + int(place)) * 1e-6, {})
    assert [hit.text for hit in store.search(query, 20)] == [str(place) for place in range(20)]


@given(collections())
def test_a_scan_of_bytes_is_as_close_as_it_says(collection):
    rows = np.array([turn[0] for turn in collection.turns])
    blocks = VectorBlocks(rows.shape[1], with_bytes=True)
    blocks.append(rows)
    direction = unit(np.array(collection.query))
    rough, error = blocks.scan(direction, len(rows))
    assert np.abs(rough - cosine(direction, rows)).max() <= error
