"""Vectors of one record."""

from __future__ import annotations

import numpy as np
import pytest

from ffai.errors import BadVectorError, EmbeddingError, InvalidArgumentError, SensitiveFieldError
from ffai.objects.vectors.embedding import hash_of
from ffai.testing import FakeEmbedder
from tests.objects.library import Article, Hero, Library, Note


def test_each_text_that_is_not_blank_has_one_vector_and_nothing_else_is_embedded():  # C13
    library = Library(auto_generate=False)
    article = Article(id=1, title="a", body="", views=5)
    library.add(article)
    with library.session() as session:
        found = session.get(Article, 1)
        assert library.run(library.generation(Article).generate_flow(found, fields=["title", "body"]), session) == 1
        session.commit()
    assert library.vectors() == {("articles", "1", "title")}
    assert library.texts == ["a"]


def test_a_text_is_embedded_again_when_it_changed_or_when_asked():  # C14
    library = Library(auto_generate=False)
    generation = library.generation(Article)
    library.add(Article(id=1, title="a", body="b"))
    with library.session() as session:
        article = session.get(Article, 1)
        assert library.run(generation.generate_flow(article, fields=["title", "body"]), session) == 2
        assert len(library.embedder.calls) == 1
        assert library.run(generation.generate_flow(article, fields=["title", "body"]), session) == 0
        assert len(library.embedder.calls) == 1
        assert library.run(generation.generate_flow(article, fields=["title", "body"], force=True), session) == 2
        article.title = "c"
        assert library.run(generation.stale_flow(article), session)
        assert library.run(generation.generate_flow(article, fields=["title", "body"]), session) == 1
        assert library.embedder.calls[-1] == ["c"]


def test_a_blank_field_loses_its_vector_and_a_blank_record_is_not_stale():  # C17
    library = Library(auto_generate=False)
    generation = library.generation()
    library.add(Note(id="n", text="hello"), Note(id="blank", text="  "))
    with library.session() as session:
        note, blank = session.get(Note, "n"), session.get(Note, "blank")
        assert not library.run(generation.stale_flow(blank), session)
        library.run(generation.generate_flow(note), session)
        note.text = ""
        session.commit()
        assert library.run(generation.vector_flow(note, "text"), session) is None
        assert not library.run(generation.stale_flow(note), session)


def test_another_model_is_another_space_and_the_first_is_used_again():  # C18
    library = Library(auto_generate=False)
    one, two = FakeEmbedder(8, model="m1"), FakeEmbedder(8, model="m2")
    library.add(note := Note(id="n", text="hello"))
    library.run(library.generation(Note, one).generate_flow(note))
    assert library.run(library.generation(Note, two).stale_flow(note))
    assert library.run(library.generation(Note, two).generate_flow(note)) == 1
    assert library.run(library.generation(Note, one).generate_flow(note)) == 0
    assert len(one.calls) == 1
    assert library.run(library.generation(Note, two).vector_flow(note, "text", model="m1")) is not None


def test_another_size_under_one_name_is_stale():  # C19
    library = Library(auto_generate=False)
    library.add(note := Note(id="n", text="hello"))
    library.run(library.generation(Note, FakeEmbedder(8, model="m")).generate_flow(note))
    larger = library.generation(Note, FakeEmbedder(16, model="m"))
    assert library.run(larger.stale_flow(note))
    assert library.run(larger.generate_flow(note)) == 1
    assert library.run(larger.vector_flow(note, "text")).shape == (16,)


class Odd:
    """An embedder that gives what it is told to."""

    model, dimensions = "odd", 2

    def __init__(self, row: list[float]) -> None:
        self.row = row

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [self.row for _ in texts]


@pytest.mark.parametrize("row", [[1.0], [float("nan"), 1.0], [0.0, 0.0]])
def test_an_unsound_vector_is_refused_and_nothing_is_stored(row):  # C20
    library = Library(embedder=Odd(row))
    library.add(note := Note(id="n", text="hello"))
    with pytest.raises((EmbeddingError, BadVectorError)):
        library.run(library.generation().generate_flow(note))
    library.round()
    assert not library.vectors()
    assert library.job().last_error


def test_an_unknown_or_secret_field_is_refused_before_anything_is_embedded():  # C26
    library = Library(auto_generate=False)
    library.add(note := Note(id="n", text="hello"))
    with pytest.raises(InvalidArgumentError, match="there are text"):
        library.run(library.generation().generate_flow(note, fields=["texts"]))
    with pytest.raises(SensitiveFieldError):
        library.run(library.generation().generate_flow(note, fields=["token"]))
    assert not library.texts


def test_what_was_asked_for_needs_no_job_any_more():
    library = Library()
    library.add(note := Note(id="n", text="hello"))
    library.run(library.generation().generate_flow(note))
    assert not library.jobs()


def test_a_text_changed_meanwhile_is_not_overwritten_by_the_vector_of_the_old_one():
    library = Library(auto_generate=False)
    library.add(note := Note(id="n", text="one"))

    def change(text: str) -> None:
        with library.session() as session:
            session.get(Note, "n").text = "two"
            session.commit()

    library.embedder.fail = change
    assert library.run(library.generation().generate_flow(note)) == 0
    assert not library.vectors()


def test_a_record_that_is_not_in_the_database_is_refused():
    library = Library()
    with pytest.raises(InvalidArgumentError, match="Commit it first"):
        library.run(library.generation().generate_flow(Note(id="n", text="hello")))


def test_a_sqlmodel_has_vectors_too_and_they_can_be_cleared():
    library = Library()
    library.add(hero := Hero(story="once"))
    generation = library.generation(Hero)
    assert library.run(generation.generate_flow(hero)) == 1
    vector = library.run(generation.vector_flow(hero, "story"))
    assert np.allclose(vector, library.embedder.embed(["once"])[0])
    assert library.hashes() == {("heroes", "1", "story"): hash_of("once")}
    assert library.run(generation.clear_flow(hero)) == 1
    assert not library.vectors()
