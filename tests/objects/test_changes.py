"""What a flush means for vectors, jobs and memories."""

from __future__ import annotations

import pytest
from sqlalchemy import delete, insert, update

from tests.objects.library import Animal, Article, Author, Bird, Dog, Library, Note, Page, Quiet


def memory_of(library: Library, owner_type: str, owner_id: str) -> None:
    values: dict[str, object] = {"scope": "s", "key": "k", "value": "1", "created_at": 0.0, "updated_at": 0.0}
    with library.engine.begin() as connection:
        statement = insert(library.tables.memories)
        connection.execute(
            statement.values(id=f"{owner_type}{owner_id}", owner_type=owner_type, owner_id=owner_id, **values)
        )


@pytest.fixture
def library() -> Library:
    return Library()


def test_the_texts_of_a_new_record_become_jobs_and_the_commit_is_told_of_once(library):
    library.add(Article(id=1, title="a", body="b"), Page(book="x/y", number=2, text="t"))
    assert library.jobs() == {
        *(("articles", "1", name) for name in ("title", "body", "content")),
        ("pages", "x%2Fy/2", "text"),
    }
    assert library.commits == 1


def test_only_the_texts_that_changed_become_jobs_also_where_a_column_is_not_loaded(library):
    library.add(Article(id=1, title="a", body="b"))
    library.round()
    with library.session() as session:
        session.get(Article, 1).title = "c"
        session.commit()
    assert library.jobs() == {("articles", "1", "title"), ("articles", "1", "content")}
    library.round()
    assert set(library.embedder.calls[-1]) == {"c", "c|b"}


def test_another_column_makes_no_job(library):
    library.add(Article(id=1, title="a"))
    library.round()
    with library.session() as session:
        session.get(Article, 1).views = 7
        session.commit()
    assert not library.jobs()


@pytest.mark.parametrize("kind", [Note, Quiet])
def test_a_text_that_became_blank_has_no_vector_after_the_commit(library, kind):  # C15
    key = "1" if kind is Note else 1
    library.add(record := kind(id=key, text="old"))
    library.run(library.generation(kind).generate_flow(record))
    with library.session() as session:
        session.get(kind, key).text = ""
        session.commit()
    assert not library.vectors()
    assert not library.jobs()


def test_a_class_that_is_not_embedded_by_itself_has_no_jobs(library):
    library.add(Quiet(text="q"))
    assert not library.jobs()
    assert library.commits == 0


def test_a_rollback_leaves_neither_job_nor_wake(library):  # C24
    with library.session() as session:
        session.add(Note(id="n", text="hello"))
        session.flush()
        session.rollback()
    with library.session() as session:
        session.add(Note(id="m", text="hello"))
        nested = session.begin_nested()
        session.add(Note(id="n", text="hello"))
        session.flush()
        nested.rollback()
        session.commit()
    assert library.jobs() == {("notes", "m", "text")}
    assert library.commits == 1


@pytest.mark.parametrize("ended", ["commit", "rollback"])
def test_with_a_record_go_its_vectors_jobs_and_memories_unless_it_is_rolled_back(library, ended):  # C24
    library.add(Note(id="n", text="hello"))
    library.round()
    memory_of(library, "notes", "n")
    with library.session() as session:
        session.get(Note, "n").text = "new"
        session.commit()
        session.delete(session.get(Note, "n"))
        session.flush()
        getattr(session, ended)()
    kept = 0 if ended == "commit" else 1
    assert (len(library.vectors()), len(library.jobs()), library.count(library.tables.memories)) == (kept, kept, kept)


def test_records_that_go_with_another_one_leave_nothing(library):
    library.add(Author(id=1, articles=[Article(id=1, title="a"), Article(id=2, title="b")]))
    library.round()
    with library.session() as session:
        author = session.get(Author, 1)
        author.articles.pop(0)
        session.commit()
        assert {owner for _, owner, _ in library.vectors()} == {"2"}
        session.delete(author)
        session.commit()
    assert not library.vectors()


def test_a_key_that_is_used_again_inherits_nothing(library):
    memory_of(library, "notes", "n")
    library.add(Note(id="n", text=""))
    assert library.count(library.tables.memories) == 0


def test_a_record_that_gets_another_key_keeps_what_is_its_own(library):
    library.add(Note(id="n", text="hello"))
    library.round()
    memory_of(library, "notes", "n")
    with library.session() as session:
        session.get(Note, "n").id = "m"
        session.commit()
    assert library.vectors() == {("notes", "m", "text")}
    assert library.count(library.tables.memories) == 1


def test_a_statement_that_changes_many_records_makes_jobs_for_their_texts(library):
    library.add(*(Article(id=n, title=f"t{n}", body="b") for n in (1, 2)))
    library.round()
    with library.session() as session:
        session.execute(update(Article).values(views=1))
        session.commit()
        assert not library.jobs()
        session.execute(update(Article).where(Article.id == 1).values(title="new"))
        session.execute(update(Article), [{"id": 2, "body": ""}])
        session.commit()
    assert library.jobs() == {("articles", "1", "title"), ("articles", "1", "content"), ("articles", "2", "content")}
    assert ("articles", "2", "body") not in library.vectors()


def test_a_statement_that_deletes_many_records_deletes_what_is_theirs(library):
    library.add(*(Note(id=f"n{n}", text="t") for n in range(3)))
    library.round()
    with library.session() as session:
        session.execute(delete(Note).where(Note.id != "n1"))
        session.commit()
    assert library.vectors() == {("notes", "n1", "text")}


def test_each_class_of_a_hierarchy_has_its_own_fields(library):
    library.add(Animal(name="an"), Dog(name="rex", bark="wuff"), Bird(name="tit", song="pi"))
    library.round()
    fields = {("1", "name"), ("2", "name"), ("2", "bark"), ("3", "name"), ("3", "song")}
    assert {(owner, field) for _, owner, field in library.vectors()} == fields
