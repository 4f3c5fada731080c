"""The ladder: local model, Mistral key, OpenAI key, none."""

import dataclasses
import sys
import time

import pytest

from ffai.core.embeddings import Embeddings, resolve_embedder

MISTRAL, OPENAI = {"MISTRAL_API_KEY": "m"}, {"OPENAI_API_KEY": "o"}
SEED = (
    "Memory enabled but no embedding backend available. Install ffai[memory] (or ffai[rag]) for local embeddings, "
    "or set memory.embedding_model / MISTRAL_API_KEY / OPENAI_API_KEY."
)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for key in ("MISTRAL_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(key, raising=False)


@pytest.fixture
def no_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastembed", None)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)


@pytest.fixture
def warnings(caplog):
    """The texts of the warnings so far."""
    return lambda: [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


def name(resolution):
    return resolution.embedder and resolution.embedder.model


def test_a_cached_local_model_comes_first_and_needs_no_word(full_cache, warnings, socket_disabled):
    resolution = resolve_embedder(None, environ=MISTRAL | OPENAI)
    assert name(resolution) == "local/all-MiniLM-L6-v2"
    assert resolution.reason == "local/all-MiniLM-L6-v2: chosen"
    assert warnings() == []


def test_a_model_that_can_be_downloaded_is_chosen_and_not_yet_downloaded(hub, warnings):
    assert name(resolve_embedder(None, environ=MISTRAL)) == "local/all-MiniLM-L6-v2"
    assert hub.sent == []
    assert warnings() == []


@pytest.mark.parametrize(
    ("keys", "model"),
    [
        (MISTRAL | OPENAI, "mistral/mistral-embed"),
        (OPENAI, "openai/text-embedding-3-small"),
        ({"MISTRAL_API_KEY": "  ", **OPENAI}, "openai/text-embedding-3-small"),
    ],
)
def test_without_a_library_the_first_key_decides_and_the_cost_is_said(keys, model, no_library, warnings):
    resolution = resolve_embedder(None, environ=keys)
    assert name(resolution) == model
    (told,) = warnings()
    assert model in told
    assert "paid API" in told
    assert "No local embedding backend found" in told
    assert "memory.allow_api: false" in told


def test_the_key_that_was_found_is_the_one_used(no_library):
    assert resolve_embedder(None, environ=MISTRAL).embedder.api_key == "m"


@pytest.mark.parametrize("keys", [{}, {"MISTRAL_API_KEY": "", "OPENAI_API_KEY": " "}])
def test_with_nothing_memory_is_off_with_the_known_warning(keys, no_library, warnings):
    resolution = resolve_embedder(None, environ=keys)
    assert resolution.embedder is None
    (told,) = warnings()
    assert told.startswith(SEED)
    assert "mistral/mistral-embed: MISTRAL_API_KEY is not set" in resolution.reason


def test_without_network_and_cache_the_ladder_goes_on_within_5_seconds(empty_cache, warnings):
    started = time.monotonic()
    resolution = resolve_embedder(None, environ=OPENAI)
    assert time.monotonic() - started < 5
    assert name(resolution) == "openai/text-embedding-3-small"
    (told,) = warnings()
    assert str(empty_cache) in told


def test_a_broken_download_is_found_out_and_the_ladder_goes_on(full_cache):
    (model,) = full_cache.glob("models--*/snapshots/*/model.onnx")
    model.write_bytes(model.read_bytes()[:1000])
    resolution = resolve_embedder(None, environ=MISTRAL)
    assert name(resolution) == "mistral/mistral-embed"
    assert "damaged" in resolution.reason


def test_a_provider_can_be_forbidden(no_library, warnings):
    resolution = resolve_embedder(None, allow_api=False, environ=MISTRAL)
    assert resolution.embedder is None
    (told,) = warnings()
    assert told.startswith(SEED)
    assert "mistral/mistral-embed: memory.allow_api is false, though it has a key" in told
    assert "openai/text-embedding-3-small: OPENAI_API_KEY is not set" in told


def test_forbidding_providers_leaves_the_local_model(full_cache):
    assert name(resolve_embedder(None, allow_api=False, environ=MISTRAL)) == "local/all-MiniLM-L6-v2"


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_name_is_no_name(blank, full_cache):
    assert name(resolve_embedder(blank, environ={})) == "local/all-MiniLM-L6-v2"


def test_a_named_folder_is_taken(minilm_folder, warnings):
    assert name(resolve_embedder(f"local/{minilm_folder}", environ={})) == f"local/{minilm_folder}"
    assert warnings() == []


def test_a_named_provider_with_a_key_needs_no_word(warnings):
    resolution = resolve_embedder("openai/text-embedding-3-large", environ=OPENAI)
    assert name(resolution) == "openai/text-embedding-3-large"
    assert warnings() == []


def test_a_named_provider_without_a_key_is_taken_and_the_key_is_asked_for(warnings):
    assert name(resolve_embedder("voyage/voyage-2", environ={})) == "voyage/voyage-2"
    (told,) = warnings()
    assert "VOYAGE_API_KEY" in told


@pytest.mark.parametrize("model", ["local/all-MiniLM-L6-v2", "local//no/such/folder"])
def test_a_named_model_that_fails_turns_memory_off_and_no_other_is_tried(model, no_library, warnings):
    resolution = resolve_embedder(model, environ=MISTRAL | OPENAI)
    assert resolution.embedder is None
    assert [step.model for step in resolution.steps] == [model]
    (told,) = warnings()
    assert "Memory is off" in told


def test_a_named_provider_can_be_forbidden_too(warnings):
    assert resolve_embedder("openai/text-embedding-3-small", allow_api=False, environ=OPENAI).embedder is None
    (told,) = warnings()
    assert "memory.allow_api is false" in told


def test_the_model_of_the_collection_comes_before_the_ladder(full_cache, warnings):
    resolution = resolve_embedder(None, environ=OPENAI, remembered="openai/text-embedding-3-large")
    assert name(resolution) == "openai/text-embedding-3-large"
    (told,) = warnings()
    assert "memory.allow_api: false" in told


def test_the_local_model_of_the_collection_comes_before_the_ladder(full_cache, minilm_folder, warnings):
    assert name(resolve_embedder(None, environ={}, remembered=f"local/{minilm_folder}")) == f"local/{minilm_folder}"
    assert warnings() == []


@pytest.mark.parametrize(
    "remembered", ["mistral/mistral-embed", "fake/hashed-words", "tests.doubles.MyEmbedder", "e5", "local/no-such"]
)
def test_stored_turns_are_not_sent_to_another_model_where_theirs_is_gone(remembered, full_cache, warnings):
    resolution = resolve_embedder(None, environ=OPENAI, remembered=remembered)
    assert resolution.embedder is None
    assert [step.model for step in resolution.steps] == [remembered]
    (told,) = warnings()
    assert repr(remembered) in told
    assert "memory.embedding_model" in told


def test_a_paid_api_does_not_get_what_the_local_model_embedded(no_library, warnings):
    resolution = resolve_embedder(None, environ=MISTRAL | OPENAI, remembered="local/all-MiniLM-L6-v2")
    assert resolution.embedder is None
    (told,) = warnings()
    assert "No local embedding backend" in told


def test_a_forbidden_provider_is_not_used_for_the_collection_either(full_cache, warnings):
    resolution = resolve_embedder(None, allow_api=False, environ=OPENAI, remembered="openai/text-embedding-3-small")
    assert resolution.embedder is None
    (told,) = warnings()
    assert "memory.allow_api is false" in told


def test_a_named_model_comes_before_that_of_the_collection(full_cache):
    resolution = resolve_embedder("local/all-MiniLM-L6-v2", environ=OPENAI, remembered="openai/text-embedding-3-small")
    assert name(resolution) == "local/all-MiniLM-L6-v2"


def test_a_resolution_cannot_be_changed(full_cache):
    resolution = resolve_embedder(None, environ={})
    assert isinstance(resolution.embedder, Embeddings)
    with pytest.raises(dataclasses.FrozenInstanceError):
        resolution.embedder = None


def test_no_key_is_in_what_is_told(no_library, warnings):
    resolution = resolve_embedder(None, environ={"MISTRAL_API_KEY": "sk-secret"})
    assert "secret" not in "".join([*warnings(), resolution.reason, repr(resolution)])
