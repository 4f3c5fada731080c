"""Vectors of all records of a class, page by page."""

from __future__ import annotations

import pytest
from sqlalchemy import delete
from sqlalchemy.orm import Session

from ffai.objects import Store
from ffai.objects.vectors.backfill import Backfill, backfill_flow
from ffai.objects.vectors.embedding import Space
from ffai.objects.vectors.status import drop_other_spaces, status
from ffai.testing import FakeEmbedder
from tests.objects.library import Animal, Dog, Library, Note, Page


def notes(count: int = 10, **settings) -> Library:
    library = Library(auto_generate=False, **settings)
    library.add(*(Note(id=f"n{n}", text=f"text {n}") for n in range(count)))
    return library


def test_one_call_a_page_and_progress_to_the_end():  # C25
    library, told = notes(), []
    flow = backfill_flow(library.generation(), batch_size=3, on_progress=told.append)
    assert library.run(flow) == Backfill(generated=10)
    assert len(library.embedder.calls) == 4
    assert told == [(n, 10) for n in range(1, 11)]
    assert library.run(backfill_flow(library.generation())) == Backfill(skipped=10)
    assert len(library.embedder.calls) == 4


def test_a_text_that_is_refused_fails_its_record_alone():  # C25
    library = notes(embedder=FakeEmbedder(8, fail=lambda text: ValueError("no") if text == "text 4" else None))
    done = library.run(backfill_flow(library.generation(), batch_size=4))
    assert (done.generated, done.skipped, done.failed) == (9, 0, 1)
    assert done.errors == (("n4", "ValueError: no"),)


def test_blank_texts_are_skipped():  # C17
    library = Library(auto_generate=False)
    library.add(Note(id="a", text=" "), Note(id="b", text="b"))
    assert library.run(backfill_flow(library.generation())) == Backfill(generated=1, skipped=1)


def test_an_outage_ends_it_and_what_was_written_is_kept():
    down = []
    library = notes(embedder=FakeEmbedder(8, fail=lambda _: ConnectionError("down") if down else None))
    with pytest.raises(ConnectionError):
        library.run(backfill_flow(library.generation(), batch_size=4, on_progress=down.append))
    assert len(library.vectors()) == 4
    down.clear()
    assert library.run(backfill_flow(library.generation())) == Backfill(generated=6, skipped=4)


def test_an_error_of_the_one_who_is_told_comes_after_the_page_is_safe():
    library = notes()

    def stop(_: object) -> None:
        raise KeyError("stop")

    with pytest.raises(KeyError):
        library.run(backfill_flow(library.generation(), batch_size=4, on_progress=stop))
    assert len(library.vectors()) == 4


def test_keys_of_two_columns_are_paged_and_equal_texts_embedded_once():
    library = Library(auto_generate=False)
    library.add(*(Page(book=book, number=number, text=book) for book in "ab" for number in range(3)))
    assert library.run(backfill_flow(library.generation(Page), batch_size=4)) == Backfill(generated=6)
    assert library.texts == ["a", "b", "b"]


def test_records_that_vanish_meanwhile_make_none_be_missed_and_leave_no_vector():
    library = notes()

    def vanish(progress: tuple[int, int]) -> None:
        if progress[0] == 1:
            with library.session() as session:
                session.execute(delete(Note).where(Note.id.in_(["n0", "n1", "n2"])))
                session.commit()

    library.run(backfill_flow(library.generation(), batch_size=3, on_progress=vanish))
    assert {owner for _, owner, _ in library.vectors()} == {f"n{n}" for n in range(3, 10)}


def test_vectors_of_records_that_are_gone_are_deleted():
    library = notes(2)
    library.run(backfill_flow(library.generation()))
    with library.engine.begin() as connection:
        connection.execute(delete(Note.__table__).where(Note.id == "n0"))
    library.run(backfill_flow(library.generation()))
    assert library.vectors() == {("notes", "n1", "text")}


def test_only_what_can_be_seen_is_filled():
    class Rules:
        def condition(self, kind):
            return [Note.id == "n1"]

    library = notes(3)
    generation = library.generation()
    generation.tenancy = Rules()
    assert library.run(backfill_flow(generation)) == Backfill(generated=1)


def test_a_hierarchy_is_filled_with_the_fields_of_each_class():
    library = Library(auto_generate=False)
    library.add(Animal(name="an"), Dog(name="rex", bark="wuff"))
    assert library.run(backfill_flow(library.generation(Animal))) == Backfill(generated=2)
    assert len(library.vectors()) == 3


def test_the_spaces_there_are_are_counted_and_others_can_be_dropped():  # C18
    library = notes(2)
    one, two = FakeEmbedder(8, model="m1"), FakeEmbedder(8, model="m2")
    for embedder in (one, two, one):
        library.run(backfill_flow(library.generation(Note, embedder)))
    assert len(one.calls) == 1
    with Session(library.engine) as session:
        assert status(session, library.tables, Note).spaces == {Space("m1", 8): 2, Space("m2", 8): 2}
        assert drop_other_spaces(session, library.tables, Note, Space.of(two)) == 2
        session.commit()
        assert status(session, library.tables, Note).spaces == {Space("m2", 8): 2}


def test_a_new_index_leaves_the_vectors_that_can_not_be_seen():
    library = notes(2)
    library.run(backfill_flow(library.generation(Note, FakeEmbedder(8, model="m1"))))
    scope = {Note: lambda: Note.id == "n1"}
    with Store(library.engine, embedder=FakeEmbedder(8, model="m2"), scope=scope) as store:
        assert store.reindex(Note) == Backfill(generated=1)
    with Session(library.engine) as session:
        assert status(session, library.tables, Note).spaces == {Space("m1", 8): 1, Space("m2", 8): 1}


def test_a_new_index_of_a_class_leaves_the_vectors_of_its_siblings():
    library = Library(auto_generate=False)
    library.add(Animal(name="an"), Dog(name="rex", bark="wuff"))
    library.run(backfill_flow(library.generation(Animal, FakeEmbedder(8, model="m1"))))
    with Session(library.engine) as session:
        assert drop_other_spaces(session, library.tables, Dog, Space("m2", 8)) == 2
