"""Cases C13 to C27: what is embedded, when, and what becomes of it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from ffai.errors import EmbeddingError, SensitiveFieldError
from ffai.objects import AI, AIRecord, Embedded, Sensitive
from ffai.objects.vectors.embedding import hash_of
from ffai.testing import FakeEmbedder
from tests.contract.objects.degrees import Degrees
from tests.contract.objects.world import Waiting, World, added

LATER = {"auto_generate": False}


def get(world: World, store: Any, identity: str = "a-1") -> Any:
    return world.call(store[world.Article], "get", identity)


def change(world: World, store: Any, identity: str = "a-1", **values: Any) -> None:
    def changed(session: Any) -> None:
        record = session.get(world.Article, identity)
        for name, value in values.items():
            setattr(record, name, value)

    world.within(store, changed)


def vector(world: World, store: Any, field: str, identity: str = "a-1") -> Any:
    return world.call(get(world, store, identity), "get_embedding", field)


def test_c13_only_declared_texts_are_embedded(world: World) -> None:
    embedder = FakeEmbedder()
    store = world.open(embedder=embedder)
    added(world, store, {"id": "a-1", "title": "a", "body": "", "views": 5})
    assert vector(world, store, "title") is not None
    assert vector(world, store, "body") is None
    assert sorted(text for call in embedder.calls for text in call) == ["a", "a|"]


def test_c14_what_has_not_changed_is_not_embedded_again(world: World) -> None:
    embedder = FakeEmbedder()
    store = world.open(embedder=embedder, settings=LATER)
    added(world, store, {"id": "a-1", "title": "a", "body": "b"})
    assert world.call(get(world, store), "generate_embeddings") == 3
    calls = len(embedder.calls)
    assert world.call(get(world, store), "generate_embeddings") == 0
    assert len(embedder.calls) == calls
    assert world.call(get(world, store), "generate_embeddings", force=True) == 3
    change(world, store, title="c")
    embedder.calls.clear()
    world.call(get(world, store), "generate_embeddings", fields=["title", "body"])
    assert embedder.calls == [["c"]]


@pytest.mark.parametrize("settings", [{}, LATER], ids=["by itself", "by hand"])
def test_c15_a_text_that_is_gone_is_found_no_more(world: World, settings: dict[str, Any]) -> None:
    store = world.open(embedder=Degrees(), settings=settings)
    added(world, store, {"id": "a-1", "body": "deg:10"})
    world.call(get(world, store), "generate_embeddings")
    assert len(world.call(store[world.Article], "semantic_search", "deg:10", field="body")) == 1
    change(world, store, body="")
    assert vector(world, store, "body") is None
    assert world.call(store[world.Article], "semantic_search", "deg:10", field="body") == []


def test_c16_a_template_is_filled_once(world: World) -> None:
    embedder = FakeEmbedder()
    store = world.open(embedder=embedder)
    added(world, store, {"id": "a-1", "title": "see {body} $& {x}", "body": "B"})
    assert "see {body} $& {x}|B" in [text for call in embedder.calls for text in call]


@pytest.mark.parametrize(
    ("embedded", "error"),
    [
        (Embedded(combined={"content": "{title} {nobody}"}), ValueError),
        (Embedded("token"), SensitiveFieldError),
        (Embedded(combined={"content": "{title} {token}"}), SensitiveFieldError),
    ],
    ids=["unknown placeholder", "secret field", "secret placeholder"],
)
def test_c16_c26_a_wrong_declaration_is_refused_with_the_class(embedded: Embedded, error: type[Exception]) -> None:
    class Base(DeclarativeBase):
        pass

    with pytest.raises(error):

        class Wrong(AIRecord, Base):
            __tablename__ = "wrong"
            __ai__ = AI(embedded=embedded)
            id: Mapped[int] = mapped_column(primary_key=True)
            title: Mapped[str]
            token: Mapped[Sensitive[str]]


def test_c17_a_blank_text_wants_no_vector(world: World) -> None:
    embedder = FakeEmbedder()
    store = world.open(embedder=embedder, settings=LATER)
    added(world, store, {"id": "a-1", "title": " ", "body": ""})
    assert not world.call(get(world, store), "has_stale_embeddings")
    done = world.call(store[world.Article], "generate_missing_embeddings")
    assert (done.generated, done.skipped, done.failed) == (0, 1, 0)
    assert embedder.calls == []


def test_c18_another_model_has_vectors_of_its_own(world: World, caplog: pytest.LogCaptureFixture) -> None:
    first, second = FakeEmbedder(model="m1"), FakeEmbedder(model="m2")
    store = world.open(embedder=first)
    added(world, store, {"id": "a-1", "title": "a red house"})
    changed = world.open(embedder=second)
    assert world.call(changed[world.Article], "semantic_search", "house") == []
    assert "m1" in caplog.text
    assert world.call(get(world, changed), "has_stale_embeddings")
    assert world.call(changed[world.Article], "generate_missing_embeddings").generated == 1
    assert len(world.call(changed[world.Article], "semantic_search", "house")) == 1
    first.calls.clear()
    back = world.open(embedder=first)
    assert world.call(back[world.Article], "generate_missing_embeddings").skipped == 1
    assert first.calls == []


def test_c19_another_size_makes_every_record_stale(world: World) -> None:
    store = world.open(embedder=FakeEmbedder(8))
    added(world, store, {"id": "a-1", "title": "a red house"}, {"id": "a-2", "title": "a boat"})
    changed = world.open(embedder=FakeEmbedder(16))
    assert world.call(changed[world.Article], "semantic_search", "house") == []
    assert all(world.call(get(world, changed, name), "has_stale_embeddings") for name in ("a-1", "a-2"))
    assert world.call(changed[world.Article], "generate_missing_embeddings").generated == 2
    assert len(world.call(changed[world.Article], "semantic_search", "house")) == 2


class Wrong:
    """An embedder that gives rows of one kind."""

    model, dimensions, concurrent = "wrong", 3, True

    def __init__(self, row: list[float]) -> None:
        self.row = row

    def embed(self, texts: list[str]) -> Any:
        return [self.row for _ in texts]


@pytest.mark.parametrize("row", [[1.0, 0.0], [1.0, float("nan"), 0.0], [0.0, 0.0, 0.0]], ids=["size", "nan", "zero"])
def test_c20_a_vector_that_cant_be_used_is_not_stored(world: World, row: list[float]) -> None:
    store = world.open(embedder=Wrong(row))
    added(world, store, {"id": "a-1", "title": "a"})
    assert vector(world, store, "title") is None
    [told, *_] = map(str, world.call(store, "status", world.Article).errors)
    assert "title" in told or "content" in told
    assert "Error" in told
    with pytest.raises(EmbeddingError):
        world.call(get(world, store), "generate_embeddings")
    assert vector(world, store, "title") is None


def test_c21_no_chat_client_is_needed(world: World) -> None:
    store = world.open(embedder=FakeEmbedder())
    added(world, store, {"id": "a-1", "title": "a"})
    assert vector(world, store, "title") is not None


def test_c22_a_commit_waits_for_no_model(world: World) -> None:
    if not isinstance(world, Waiting):
        pytest.skip("a task of the same loop; see the tests of the async worker")
    embedder = FakeEmbedder()
    embedder.gate.clear()
    store = world.open(embedder=embedder)
    world.within(store, lambda session: session.add(world.Article(id="a-1", title="a")))
    assert vector(world, store, "title") is None
    embedder.gate.set()
    world.call(store, "drain")
    assert vector(world, store, "title") is not None


def test_c22_a_failing_model_fails_no_commit_and_is_tried_again(world: World) -> None:
    failing = [True]
    embedder = FakeEmbedder(fail=lambda text: TimeoutError("too slow") if failing[0] else None)
    store = world.open(embedder=embedder)
    added(world, store, {"id": "a-1", "title": "a"})
    status = world.call(store, "status", world.Article)
    assert any("too slow" in str(told) for told in status.errors)
    failing[0] = False
    world.call(store, "retry_failed")
    world.call(store, "drain")
    assert vector(world, store, "title") is not None


def test_c23_a_late_vector_of_an_old_text_is_dropped(world: World) -> None:
    if not isinstance(world, Waiting):
        pytest.skip("a task of the same loop; see the tests of the async worker")
    entered, release = threading.Event(), threading.Event()

    def hold(text: str) -> None:
        if text == "the first text":
            entered.set()
            release.wait(30)

    embedder = FakeEmbedder(fail=hold)
    store = world.open(embedder=embedder)
    world.within(store, lambda session: session.add(world.Article(id="a-1", title="the first text")))
    assert entered.wait(30)
    change(world, store, title="the second text")
    release.set()
    world.call(store, "drain")
    wanted = FakeEmbedder().embed(["the second text"])[0]
    assert np.allclose(vector(world, store, "title"), wanted)
    assert not world.call(get(world, store), "has_stale_embeddings")
    assert hash_of("the second text") != hash_of("the first text")


def test_c24_what_is_rolled_back_leaves_nothing(world: World) -> None:
    embedder = FakeEmbedder()
    store = world.open(embedder=embedder)

    def fails(session: Any) -> None:
        session.add(world.Article(id="a-1", title="a"))
        session.flush()
        raise RuntimeError("changed my mind")

    with pytest.raises(RuntimeError, match="changed my mind"):
        world.within(store, fails)
    world.call(store, "drain")
    status = world.call(store, "status", world.Article)
    assert (status.waiting, status.failed, status.spaces) == (0, 0, {})
    assert embedder.calls == []


def test_c24_a_record_that_goes_takes_its_vectors_and_memories_along(world: World) -> None:
    store = world.open(embedder=FakeEmbedder())
    added(world, store, {"id": "a-1", "title": "a"})
    world.call(get(world, store), "remember", "s", "k", 1)

    def deleted(session: Any) -> None:
        session.delete(session.get(world.Article, "a-1"))

    def undone(session: Any) -> None:
        deleted(session)
        session.flush()
        raise RuntimeError("changed my mind")

    with pytest.raises(RuntimeError, match="changed my mind"):
        world.within(store, undone)
    assert vector(world, store, "title") is not None
    assert world.call(get(world, store), "recall", "s", "k") == 1
    world.within(store, deleted)
    added(world, store, {"id": "a-1"})
    assert vector(world, store, "title") is None
    assert world.call(get(world, store), "recall", "s", "k") is None


def test_c25_a_backfill_counts_what_it_did(world: World) -> None:
    embedder = FakeEmbedder()
    store = world.open(embedder=embedder, settings=LATER)
    added(world, store, *({"id": f"a-{at}", "title": f"text {at}"} for at in range(10)))
    told: list[tuple[int, int]] = []
    done = world.call(
        store[world.Article], "generate_missing_embeddings", batch_size=3, on_progress=lambda at: told.append(tuple(at))
    )
    assert (done.generated, done.skipped, done.failed) == (10, 0, 0)
    assert len(embedder.calls) == 4
    assert told[-1] == (10, 10)


def test_c25_a_text_that_fails_fails_alone(world: World) -> None:
    embedder = FakeEmbedder(fail=lambda text: ValueError("bad text") if "text 4" in text else None)
    store = world.open(embedder=embedder, settings=LATER)
    added(world, store, *({"id": f"a-{at}", "title": f"text {at}"} for at in range(10)))
    done = world.call(store[world.Article], "generate_missing_embeddings", batch_size=3)
    assert (done.generated, done.skipped, done.failed) == (9, 0, 1)
    assert "bad text" in str(done.errors)


def test_c26_a_secret_is_not_embedded_by_asking_for_it(world: World) -> None:
    embedder = FakeEmbedder()
    store = world.open(embedder=embedder, settings=LATER)
    added(world, store, {"id": "a-1", "title": "a"})
    with pytest.raises(SensitiveFieldError):
        world.call(get(world, store), "generate_embeddings", fields=["source_token"])
    assert embedder.calls == []


def test_c27_equal_texts_are_embedded_once(world: World) -> None:
    embedder = FakeEmbedder()
    store = world.open(embedder=embedder, settings=LATER)
    added(world, store, {"id": "a-1", "title": "the same"}, {"id": "a-2", "title": "the same"})
    world.call(store[world.Article], "generate_missing_embeddings")
    assert sorted(text for call in embedder.calls for text in call) == ["the same", "the same|"]
    assert np.array_equal(vector(world, store, "title", "a-1"), vector(world, store, "title", "a-2"))
