"""Jobs: tried again, given up, and never done with an old text."""

from __future__ import annotations

import pytest

from ffai.objects.vectors.embedding import hash_of
from ffai.objects.vectors.work import Work
from ffai.testing import FakeEmbedder
from tests.objects.library import Library, Note


def test_equal_texts_are_embedded_once_and_have_a_vector_each():  # C27
    library = Library()
    library.add(Note(id="a", text="same"), Note(id="b", text="same"))
    library.round()
    assert library.texts == ["same"]
    assert len(library.vectors()) == 2


def test_a_failure_that_may_pass_is_tried_again_later():  # C22
    errors = [TimeoutError("slow")]
    library = Library(embedder=FakeEmbedder(8, fail=lambda _: errors.pop() if errors else None))
    library.add(Note(id="n", text="hello"))
    assert library.round().failed == 1
    assert (library.job().attempts, library.job().last_error) == (1, "TimeoutError: slow")
    assert library.round().claimed == 0
    library.now += 10
    assert library.round().done == 1
    assert library.vectors() == {("notes", "n", "text")}


def test_a_text_that_is_refused_fails_alone_and_for_good_until_somebody_asks():
    refuse = ["bad"]
    library = Library(embedder=FakeEmbedder(8, fail=lambda text: ValueError("no") if text in refuse else None))
    library.add(*(Note(id=text, text=text) for text in ("a", "b", "bad", "c")))
    done = library.round()
    assert (done.done, done.failed) == (3, 1)
    library.now += 1e9
    assert library.round().claimed == 0
    refuse.clear()
    assert library.run(Work(library.kinds, library.tables).retry_flow()) == 1
    assert library.round().done == 1


def test_an_outage_is_no_fault_of_a_text_and_uses_up_no_tries():
    down = [True]
    library = Library(embedder=FakeEmbedder(8, fail=lambda _: ConnectionError("down") if down else None))
    library.add(Note(id="n", text="hello"))
    for _ in range(6):
        assert library.round().failed == 1
        library.now += 4000
    down.clear()
    assert library.round().done == 1


def test_a_vector_that_comes_after_a_newer_text_is_thrown_away():  # C23
    library = Library()
    library.add(Note(id="n", text="one"))

    def save_two(text: str) -> None:
        if text == "one":
            with library.session() as session:
                session.get(Note, "n").text = "two"
                session.commit()

    library.embedder.fail = save_two
    assert library.round().done == 0
    assert not library.vectors()
    assert library.round().done == 1
    assert library.hashes() == {("notes", "n", "text"): hash_of("two")}
    assert library.texts == ["one", "two"]


def test_a_record_deleted_meanwhile_gets_no_vector():
    library = Library()
    library.add(Note(id="n", text="one"))

    def delete(text: str) -> None:
        with library.session() as session:
            session.delete(session.get(Note, "n"))
            session.commit()

    library.embedder.fail = delete
    library.round()
    assert not library.vectors()
    assert not library.jobs()


def test_the_vector_of_a_text_that_came_back_is_used_again():
    library = Library()
    library.add(Note(id="n", text="one"))
    library.round()
    with library.session() as session:
        note = session.get(Note, "n")
        note.text = "two"
        session.commit()
        note.text = "one"
        session.commit()
    assert library.round().done == 1
    assert library.texts == ["one"]


@pytest.mark.parametrize("batch", [1, 3])
def test_a_round_takes_a_batch(batch):
    library = Library()
    library.add(*(Note(id=f"n{n}", text=f"t{n}") for n in range(3)))
    assert library.round(batch).done == batch
