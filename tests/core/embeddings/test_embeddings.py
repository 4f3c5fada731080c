"""What every model has in common, seen through a provider's server on this machine."""

import inspect
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffai.core.embeddings import Embeddings, embedder_name
from ffai.core.embeddings.protocol import forget_texts
from ffai.errors import ArgumentTypeError, DimensionError, EmbeddingError, InvalidArgumentError
from ffai.testing import FakeEmbedder

from .servers import reply, vector_of


@pytest.fixture
def embeddings(provider):
    return Embeddings("openai/m", api_key="sk-secret", api_base=provider.url)


def test_one_vector_a_text_in_order(embeddings):
    assert embeddings.embed(["red", "blue", "green"]) == [vector_of("red"), vector_of("blue"), vector_of("green")]


def test_a_text_alone_counts_as_a_list_of_one(embeddings):
    assert embeddings.embed("red") == [vector_of("red")]
    assert embeddings.embed_single("red") == vector_of("red")


async def test_the_twins_give_the_same(embeddings, provider):
    assert await embeddings.aembed(["red", "blue"]) == [vector_of("red"), vector_of("blue")]
    assert await embeddings.aembed("red") == [vector_of("red")]
    assert await embeddings.aembed_single("green") == vector_of("green")
    assert await embeddings.aembed([]) == []
    assert provider.inputs == [["red", "blue"], ["green"]]


def test_no_texts_give_no_vectors_and_ask_nobody(embeddings, provider):
    assert embeddings.embed([]) == []
    assert provider.inputs == []


def test_the_numbers_are_those_the_provider_sent(embeddings):
    assert embeddings.embed_single("red")[2] == 0.1


def test_only_new_texts_are_sent_and_each_once(embeddings, provider):
    embeddings.embed(["a", "b", "a"])
    assert embeddings.embed(["b", "c", "a", "c"]) == [vector_of(text) for text in "bcac"]
    assert provider.inputs == [["a", "b"], ["c"]]


def test_the_vectors_are_the_callers_own(embeddings):
    first, twice = embeddings.embed(["red", "red"])
    first[0] = 99.0
    assert twice == vector_of("red")
    assert embeddings.embed_single("red") == vector_of("red")


def test_the_cache_can_be_read_emptied_and_turned_off(provider, embeddings):
    embeddings.embed(["a", "b"])
    assert embeddings.cache_stats() == {"enabled": True, "max_size": 256, "entries": 2}
    assert embeddings.clear_cache() == 2
    assert embeddings.cache_stats()["entries"] == 0
    off = Embeddings("openai/m", api_key="k", api_base=provider.url, cache_enabled=False)
    assert off.embed(["a", "a"]) == [vector_of("a")] * 2
    off.embed("a")
    assert off.cache_stats() == {"enabled": False, "max_size": 256, "entries": 0}
    assert provider.inputs == [["a", "b"], ["a"], ["a"]]


def test_the_cache_keeps_the_texts_used_last(provider):
    embeddings = Embeddings("openai/m", api_key="k", api_base=provider.url, cache_size=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        embeddings.embed(text)
    assert provider.inputs == [["a"], ["b"], ["c"], ["b"]]


def test_forgotten_texts_leave_the_cache(embeddings, provider):
    embeddings.embed(["a", "b", "half an emoji: \ud83d"])
    assert embeddings.forget(["a", "half an emoji: \ud83d", "never seen"]) == 2
    assert embeddings.forget("a") == 0
    embeddings.embed(["a", "b"])
    assert provider.inputs[1:] == [["a"]]


@pytest.mark.parametrize("forget", ["forget", "clear_cache"])
async def test_a_text_that_is_forgotten_while_it_is_embedded_is_not_cached(embeddings, provider, forget):
    def answer(texts):
        embeddings.forget(["a"]) if forget == "forget" else embeddings.clear_cache()
        return 200, {}, reply([vector_of(text) for text in texts])

    provider.answer = answer
    assert embeddings.embed("a") == await embeddings.aembed("a") == [vector_of("a")]
    assert embeddings.cache_stats()["entries"] == 0


def test_an_embedder_forgets_where_it_can(embeddings, provider):
    embeddings.embed(["a", "b"])
    assert forget_texts(embeddings, ("a", "x")) == 1
    assert forget_texts(FakeEmbedder(), ["a"]) == 0
    with pytest.raises(ArgumentTypeError, match="texts"):
        embeddings.forget([1])


def test_a_vector_that_is_no_use_is_not_cached(embeddings, provider):
    provider.answer = lambda texts: (200, {}, reply([[0.0, 0.0]] * len(texts)))
    assert embeddings.embed("a") == [[0.0, 0.0]]
    assert embeddings.cache_stats()["entries"] == 0


def test_too_few_vectors_are_an_error_and_nothing_is_cached(embeddings, provider):
    provider.answer = lambda texts: (200, {}, reply([[1.0]]))
    with pytest.raises(EmbeddingError, match="1 vectors for 2 texts"):
        embeddings.embed(["a", "b"])
    assert embeddings.cache_stats()["entries"] == 0


def test_the_dimensions_are_known_after_the_first_vector(embeddings):
    assert embeddings.dimensions is None
    embeddings.embed([])
    assert embeddings.dimensions is None
    embeddings.embed("red")
    assert embeddings.dimensions == 3


@pytest.mark.parametrize("texts", [None, 5, b"red", {"red"}, {"red": 1}, ["red", None], ["red", 5], (b"red",)])
def test_what_is_no_text_is_refused_before_anything_is_sent(texts, embeddings, provider):
    with pytest.raises(ArgumentTypeError, match="texts"):
        embeddings.embed(texts)
    assert provider.inputs == []


def test_half_an_emoji_is_replaced_on_the_way_in(embeddings, provider):
    embeddings.embed(["a \ud83d b", "whole \ud83d\ude00"])
    assert provider.inputs == [["a \ufffd b", "whole 😀"]]


@pytest.mark.parametrize(
    ("model", "error"), [("", InvalidArgumentError), (" ", InvalidArgumentError), (None, TypeError)]
)
def test_a_model_must_be_named(model, error):
    with pytest.raises(error, match="model"):
        Embeddings(model)


def test_a_local_model_must_be_named_too():
    with pytest.raises(InvalidArgumentError, match="local/"):
        Embeddings("local/")


@pytest.mark.parametrize(("size", "error"), [(-1, ValueError), ("9", TypeError), (1.5, TypeError), (True, TypeError)])
def test_the_cache_size_is_a_number_of_texts(size, error):
    with pytest.raises(error, match="cache_size"):
        Embeddings(cache_size=size)


def test_its_name_is_its_model(embeddings):
    assert embedder_name(embeddings) == "openai/m"


@pytest.mark.parametrize(
    ("model", "provider", "local"),
    [
        ("mistral/mistral-embed", "mistral", False),
        ("local/all-MiniLM-L6-v2", "local", True),
        ("text-embedding-3-small", "unknown", False),
    ],
)
def test_the_provider_is_what_stands_before_the_slash(model, provider, local):
    embeddings = Embeddings(model)
    assert (embeddings.provider, embeddings.is_local) == (provider, local)


def test_a_local_model_has_no_key_and_no_address():
    embeddings = Embeddings("local/all-MiniLM-L6-v2", api_key="sk-secret", api_base="http://127.0.0.1")
    assert (embeddings.api_key, embeddings.api_base) == (None, None)


def test_nothing_shown_of_it_has_the_key(embeddings):
    assert embeddings.api_key == "sk-secret"
    assert "secret" not in f"{embeddings!r} {embeddings}"


def test_each_method_that_waits_has_a_twin_with_its_signature():
    for name in ("embed", "embed_single", "ensure_available"):
        method, twin = getattr(Embeddings, name), getattr(Embeddings, f"a{name}")
        assert inspect.signature(method) == inspect.signature(twin)
        assert inspect.iscoroutinefunction(twin)


numbers = st.floats(-1e3, 1e3, width=32)
vectors = st.integers(1, 8).flatmap(lambda size: st.tuples(*[st.lists(numbers, min_size=size, max_size=size)] * 2))


@given(vectors)
def test_the_cosine_is_symmetric_and_bounded(pair):
    a, b = pair
    cosine = Embeddings.cosine_similarity(a, b)
    assert -1.0 <= cosine <= 1.0
    assert cosine == Embeddings.cosine_similarity(b, a)
    assert Embeddings.cosine_similarity(a, [0.0] * len(a)) == 0.0


@given(st.lists(st.floats(0.5, 100), min_size=1, max_size=8), st.floats(0.01, 100))
def test_the_cosine_of_parallel_vectors_is_one(a, scale):
    assert math.isclose(Embeddings.cosine_similarity(a, [x * scale for x in a]), 1.0)


def test_vectors_of_different_size_are_not_compared():
    with pytest.raises(DimensionError):
        Embeddings.cosine_similarity([1.0], [1.0, 2.0])
