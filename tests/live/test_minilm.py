"""The real all-MiniLM-L6-v2, the way a user's program meets it."""

import pytest

from ffai.core.embeddings import Embeddings

pytestmark = pytest.mark.live

TURNS = {
    "migration": "Let's debug the Postgres migration\nThe lock is held by another transaction.",
    "index": "Why is the database query slow?\nThe orders table has no index on customer_id.",
    "travel": "Where should we travel in spring?\nPorto is lovely in April.",
    "bread": "How do I bake sourdough bread?\nStart with an active starter and strong flour.",
    "haiku": "Write a haiku about the sea\nGrey waves fold on sand.",
}


@pytest.fixture(scope="module")
def embeddings(minilm_folder):
    return Embeddings(f"local/{minilm_folder}")


def best(embeddings, query, texts):
    asked = embeddings.embed_single(query)
    scores = {
        key: embeddings.cosine_similarity(asked, vector)
        for key, vector in zip(texts, embeddings.embed(list(texts.values())), strict=True)
    }
    return sorted(scores, key=scores.get, reverse=True)


def test_a_question_finds_turns_that_share_its_meaning_and_not_its_words(embeddings):
    assert set(best(embeddings, "the SQL problem from earlier", TURNS)[:2]) == {"migration", "index"}
    assert best(embeddings, "a holiday in Portugal", TURNS)[0] == "travel"
    assert best(embeddings, "dough and yeast", TURNS)[0] == "bread"
    assert best(embeddings, "a short poem on the ocean", TURNS)[0] == "haiku"


def test_paraphrases_are_close_and_strangers_are_not(embeddings):
    happy, happier, dog, day = embeddings.embed(
        ["That is a happy person", "That is a very happy person", "That is a happy dog", "Today is a sunny day"]
    )
    known = [embeddings.cosine_similarity(happy, other) for other in (happier, dog, day)]
    assert known == pytest.approx([0.943, 0.695, 0.257], abs=0.002)


def test_vectors_have_length_one(embeddings):
    for vector in embeddings.embed(list(TURNS.values())):
        assert len(vector) == 384
        assert sum(x * x for x in vector) == pytest.approx(1.0, abs=1e-5)
