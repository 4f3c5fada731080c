"""Laws of ranking: what a database or this process finds is what comparing everything with everything would."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, create_engine, delete, insert
from sqlalchemy.orm import Session

from ffai.objects.filtering.tenancy import Tenancy
from ffai.objects.searching.backends import Backend, backend_of
from ffai.objects.searching.ranking import Best
from ffai.objects.searching.search import VectorSearch
from ffai.objects.steps import Place
from tests.objects.deg import Deg
from tests.objects.desk import Base, Page

whole = st.lists(st.integers(-3, 3), min_size=3, max_size=3).filter(any)
broken = st.lists(st.floats(-100, 100, width=32), min_size=3, max_size=3).filter(lambda v: math.hypot(*v) > 1e-3)
rows = st.lists(st.tuples(st.sampled_from("ab"), whole), max_size=40)
broken_rows = st.lists(st.tuples(st.sampled_from("ab"), broken), max_size=40)


class Desk:
    """Pages whose vectors are set directly."""

    def __init__(self, engine: Engine, storage: Any) -> None:
        self.engine, self.backend = engine, backend_of(engine, storage)
        Base.metadata.create_all(engine)
        with engine.begin() as connection:
            self.backend.create_tables(connection)
        self.embedder = Deg(dimensions=3)

    def fill(self, filled: list[tuple[str, list[float]]]) -> None:
        vectors = self.backend.tables.vectors
        with Session(self.engine) as session, session.begin():
            session.execute(delete(vectors))
            session.execute(delete(Page))
            for at, (text, vector) in enumerate(filled, start=1):
                session.add(Page(id=at, text=text))
                values = {"owner_type": "pages", "owner_id": str(at), "field": "text", "model": "deg", "dimensions": 3}
                times = {"content_hash": "-", "created_at": 0.0, "updated_at": 0.0}
                session.execute(insert(vectors).values(**values, **times, vector=vector))

    def found(self, query: list[float], **options: Any) -> list[tuple[int, float]]:
        search = VectorSearch(Page, self.embedder, self.backend, Tenancy(None))
        hits = Place(self.engine).run(search.to_vector_flow(query, **options))
        return [(hit.id, hit.similarity) for hit in hits]


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory, sqlite_with_extensions: Any) -> Iterator[list[Desk]]:
    made = []
    for storage in ("process", "native"):
        path = tmp_path_factory.mktemp(storage) / "desk.db"
        made.append(Desk(create_engine(f"sqlite:///{path}", module=sqlite_with_extensions), storage))
    assert [desk.backend.name for desk in made] == ["process", "sqlite-vec"]
    yield made
    for desk in made:
        desk.engine.dispose()


def similarity(a: list[float], b: list[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


no_deadline = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@no_deadline
@given(rows, whole, st.integers(1, 8), st.sampled_from([-1.0, 0.0, 0.5]), st.sampled_from([None, "a"]))
def test_hits_are_those_of_comparing_everything(desks, filled, query, limit, floor, text):
    everything = [
        (at, similarity(query, vector)) for at, (of, vector) in enumerate(filled, start=1) if text in (None, of)
    ]
    near = [(at, score) for at, score in everything if round(score, 10) >= floor]
    expected = sorted(near, key=lambda one: (-round(one[1], 10), one[0]))[:limit]
    for desk in desks:
        desk.fill(filled)
        where = None if text is None else {"text": text}
        found = desk.found(query, limit=limit, min_similarity=floor, where=where)
        assert [at for at, _ in found] == [at for at, _ in expected]
        assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=1e-9)


@no_deadline
@given(broken_rows, broken, st.integers(1, 8))
def test_ids_scores_and_order_are_the_same_from_every_storage(desks, filled, query, limit):
    answers = []
    for desk in desks:
        desk.fill(filled)
        answers.append(desk.found(query, limit=limit, min_similarity=-1))
    assert answers[0] == answers[1]
    exact = sorted((similarity(query, vector) for _, vector in filled), reverse=True)[:limit]
    assert [score for _, score in answers[0]] == pytest.approx(exact, abs=1e-6)


def blob(*numbers: float) -> bytes:
    return np.array(numbers, dtype="<f4").tobytes()


@pytest.mark.parametrize("scale", [1e-38, 1e-30, 1.0, 1e30, 1e38])
def test_vectors_of_any_length_are_scored(scale):
    best = Best(np.array([1.0, 1.0]), limit=2)
    best.add([(1,), (2,), (3,)], [blob(scale, 0), blob(scale, scale), blob(1, 1)])
    assert [(one.identity, one.similarity) for one in best.ranked().best] == [((2,), 1.0), ((3,), 1.0)]


@pytest.mark.parametrize("stored", [b"", b"abc", blob(1), blob(1, 2, 3), blob(0, 0), blob(math.nan, 1), "text", None])
def test_what_is_no_vector_is_counted(stored):
    best = Best(np.array([1.0, 0.0]), limit=5)
    best.add([("a",), ("b",)], [stored, blob(1, 0)])
    ranked = best.ranked()
    assert [one.identity for one in ranked.best] == [("b",)]
    assert ranked.damaged == 1


def test_keys_that_have_no_order_of_their_own_are_ordered_as_text():
    best = Best(np.array([1.0, 0.0]), limit=5)
    best.add([(2,), ("10",), (3,)], [blob(1, 0)] * 3)
    assert [one.identity for one in best.ranked().best] == [("10",), (2,), (3,)]


def test_the_best_are_kept_over_many_pages():
    numbers = np.random.default_rng(7).standard_normal((5000, 16)).astype("<f4")
    query = np.random.default_rng(8).standard_normal(16)
    best = Best(query, limit=25)
    for start in range(0, 5000, 512):
        part = numbers[start : start + 512]
        best.add([(start + at,) for at in range(len(part))], [row.tobytes() for row in part])
    exact = (numbers @ query) / np.linalg.norm(numbers, axis=1)
    assert [one.identity[0] for one in best.ranked().best] == np.argsort(-exact)[:25].tolist()


def test_a_backend_of_a_dialect_alone_is_enough():
    assert isinstance(backend_of(create_engine("sqlite://").dialect), Backend)
