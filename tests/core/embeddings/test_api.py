"""Embedding models of providers: keys, errors, and loops."""

import asyncio
import email.utils
import threading
import time

import pytest

from ffai.core.embeddings import Embeddings
from ffai.errors import EmbeddingError, MissingKeyError

from .servers import reply, vector_of

KEYS = ("MISTRAL_API_KEY", "OPENAI_API_KEY", "VOYAGE_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_API_KEY")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)


@pytest.fixture(params=["openai", "mistral", "hosted_vllm"])
def embeddings(request, provider):
    return Embeddings(f"{request.param}/m", api_key="sk-secret", api_base=provider.url)


def test_the_order_is_that_of_the_texts_whatever_the_order_of_the_answer(embeddings, provider):
    provider.answer = lambda texts: (200, {}, reply([vector_of(text) for text in texts], backwards=True))
    assert embeddings.embed(["a", "bb", "ccc"]) == [vector_of(text) for text in ("a", "bb", "ccc")]


def test_a_rate_limit_is_raised_at_once_with_the_wait_the_server_asks_for(embeddings, provider):
    provider.answer = lambda texts: (429, {"retry-after": "7"}, {"error": {"message": "slow down"}})
    started = time.monotonic()
    with pytest.raises(EmbeddingError, match="slow down") as caught:
        embeddings.embed("a")
    assert time.monotonic() - started < 5
    assert (caught.value.transient, caught.value.retry_after, caught.value.status_code) == (True, 7.0, 429)
    assert caught.value.__cause__ is not None
    assert len(provider.inputs) == 1


async def test_the_twin_raises_the_same(embeddings, provider):
    provider.answer = lambda texts: (429, {"retry-after": "7"}, {"error": {"message": "slow down"}})
    with pytest.raises(EmbeddingError, match="slow down") as caught:
        await embeddings.aembed("a")
    assert (caught.value.transient, caught.value.retry_after, caught.value.status_code) == (True, 7.0, 429)
    assert len(provider.inputs) == 1


def test_a_wait_may_be_given_as_a_date(embeddings, provider):
    until = email.utils.formatdate(time.time() + 90, usegmt=True)
    provider.answer = lambda texts: (429, {"retry-after": until}, {"error": {"message": "slow down"}})
    with pytest.raises(EmbeddingError) as caught:
        embeddings.embed("a")
    assert 60 < caught.value.retry_after <= 90


@pytest.mark.parametrize(
    ("status", "message", "transient"),
    [
        (500, "oops", True),
        (503, "overloaded", True),
        (400, "too long", False),
        (401, "wrong key", False),
        (404, "no such model", False),
        (429, "insufficient_quota: no credit", False),
    ],
)
def test_an_error_says_whether_to_try_again(status, message, transient, provider, embeddings):
    provider.answer = lambda texts: (status, {}, {"error": {"message": message}})
    with pytest.raises(EmbeddingError, match=message) as caught:
        embeddings.embed("a")
    assert (caught.value.transient, caught.value.retry_after) == (transient, None)


def test_a_server_that_is_not_there_may_be_tried_again():
    embeddings = Embeddings("openai/m", api_key="k", api_base="http://127.0.0.1:9/v1")
    with pytest.raises(EmbeddingError) as caught:
        embeddings.embed("a")
    assert caught.value.transient


def test_a_server_that_never_answers_may_be_tried_again(provider):
    release = threading.Event()

    def slow(texts):
        release.wait(20)
        return 200, {}, reply([[1.0]])

    provider.answer = slow
    embeddings = Embeddings("openai/m", api_key="k", api_base=provider.url, timeout=0.3)
    try:
        with pytest.raises(EmbeddingError) as caught:
            embeddings.embed("a")
    finally:
        release.set()
    assert caught.value.transient


@pytest.mark.parametrize("answer", [{"nonsense": 1}, {"data": []}, "text"])
def test_an_answer_that_is_no_embedding_is_an_error(answer, embeddings, provider):
    provider.answer = lambda texts: (200, {}, answer)
    with pytest.raises(EmbeddingError):
        embeddings.embed("a")


def test_the_key_is_in_no_error(embeddings, provider):
    provider.answer = lambda texts: (401, {}, {"error": {"message": "Incorrect API key: sk-secret"}})
    with pytest.raises(EmbeddingError) as caught:
        embeddings.embed("a")
    assert "sk-secret" not in str(caught.value)
    assert provider.keys == ["Bearer sk-secret"]


def test_many_texts_are_sent_in_several_requests(embeddings, provider):
    texts = ["x" * n for n in range(1, 201)]
    assert embeddings.embed(texts) == [vector_of(text) for text in texts]
    assert [len(sent) for sent in provider.inputs] == [96, 96, 8]


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("mistral/mistral-embed", "MISTRAL_API_KEY"),
        ("openai/text-embedding-3-small", "OPENAI_API_KEY"),
        ("text-embedding-3-small", "OPENAI_API_KEY"),
        ("azure/my-deployment", "AZURE_OPENAI_API_KEY"),
        ("voyage/voyage-2", "VOYAGE_API_KEY"),
    ],
)
def test_the_key_comes_from_the_providers_own_variable(model, variable, monkeypatch):
    monkeypatch.setenv(variable, "   ")
    with pytest.raises(MissingKeyError, match=f"No API key for model .*{variable}"):
        Embeddings(model).embed("a")
    monkeypatch.setenv(variable, " k ")
    assert Embeddings(model).api_key == "k"
    assert Embeddings(model, api_key="mine").api_key == "mine"


def test_a_missing_key_is_told_before_anything_heavy_is_loaded_and_as_a_value_error():
    with pytest.raises(ValueError, match="No API key for model"):
        Embeddings("mistral/mistral-embed").ensure_available()


async def test_the_twins_tell_a_missing_key_too():
    with pytest.raises(MissingKeyError):
        await Embeddings("mistral/mistral-embed").aensure_available()
    with pytest.raises(MissingKeyError):
        await Embeddings("mistral/mistral-embed").aembed("a")


def test_a_key_set_later_is_found(provider, monkeypatch):
    embeddings = Embeddings("openai/m", api_base=provider.url)
    monkeypatch.setenv("OPENAI_API_KEY", "late")
    assert embeddings.embed("a") == [vector_of("a")]
    assert provider.keys == ["Bearer late"]


def test_a_server_of_ones_own_needs_no_key(provider):
    assert Embeddings("hosted_vllm/m", api_base=provider.url).embed("a") == [vector_of("a")]


def test_it_works_in_loop_after_loop_and_beside_them(embeddings):
    for number in range(3):
        text = "a" * (number + 1)
        assert asyncio.run(embeddings.aembed(f"async {text}")) == [vector_of(f"async {text}")]
        assert embeddings.embed(f"sync {text}") == [vector_of(f"sync {text}")]


async def test_the_sync_call_works_inside_a_running_loop(embeddings):
    assert embeddings.embed("a") == [vector_of("a")]


def test_it_works_after_the_threads_loop_was_closed(embeddings):
    loop = asyncio.new_event_loop()
    loop.close()
    asyncio.set_event_loop(loop)
    try:
        assert embeddings.embed("a") == [vector_of("a")]
    finally:
        asyncio.set_event_loop(None)


def test_it_works_in_a_thread_without_a_loop(embeddings):
    got = []
    thread = threading.Thread(target=lambda: got.append(embeddings.embed("a")))
    thread.start()
    thread.join()
    assert got == [[vector_of("a")]]
