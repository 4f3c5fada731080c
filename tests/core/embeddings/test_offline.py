"""A local model with no network: what is cached works, and what is not is told within 5 seconds."""

import socket
import time
from contextlib import contextmanager

import pytest

from ffai.core.embeddings import Embeddings
from ffai.errors import ModelUnavailableError

MODEL = "local/all-MiniLM-L6-v2"


@contextmanager
def at_most(seconds):
    started = time.monotonic()
    yield
    assert time.monotonic() - started < seconds


@pytest.mark.parametrize("switch", ["0", "1"])
def test_a_cached_model_works_without_a_socket(switch, full_cache, monkeypatch, socket_disabled):
    monkeypatch.setenv("HF_HUB_OFFLINE", switch)
    embeddings = Embeddings(MODEL)
    embeddings.ensure_available()
    assert len(embeddings.embed_single("a red house")) == 384


def test_a_cache_in_the_hubs_own_place_is_found(full_cache, monkeypatch, socket_disabled, tmp_path):
    monkeypatch.delenv("FASTEMBED_CACHE_PATH")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    full_cache.rename(tmp_path / "home" / "hub")
    assert len(Embeddings(MODEL).embed_single("a red house")) == 384


def test_an_entry_of_an_older_spelling_is_found(full_cache, socket_disabled):
    (entry,) = full_cache.glob("models--*")
    entry.rename(full_cache / entry.name.lower())
    assert len(Embeddings(MODEL).embed_single("a red house")) == 384


def test_a_snapshot_that_main_does_not_point_to_is_found(full_cache, socket_disabled):
    (main,) = full_cache.glob("models--*/refs/main")
    main.write_text("0000000000000000000000000000000000000000")
    assert len(Embeddings(MODEL).embed_single("a red house")) == 384


def test_what_is_not_cached_is_told_with_model_folder_and_command(empty_cache):
    embeddings = Embeddings(MODEL)
    for ask in (embeddings.ensure_available, lambda: embeddings.embed("a")):
        with at_most(5), pytest.raises(ModelUnavailableError) as caught:
            ask()
        told = str(caught.value)
        assert "'local/all-MiniLM-L6-v2' can't be loaded" in told
        assert str(empty_cache) in told
        assert "python -c \"from ffai import Embeddings; Embeddings('local/all-MiniLM-L6-v2').embed('hello')\"" in told
        assert isinstance(caught.value, ImportError)
        assert caught.value.transient


async def test_the_twins_tell_the_same(empty_cache):
    embeddings = Embeddings(MODEL)
    with pytest.raises(ModelUnavailableError, match="not in the cache"):
        await embeddings.aensure_available()
    with pytest.raises(ModelUnavailableError, match="not in the cache"):
        await embeddings.aembed("a")


def test_a_hub_that_is_silent_is_given_up(empty_cache, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        embeddings = Embeddings(MODEL)
        with at_most(6), pytest.raises(ModelUnavailableError, match="does not answer"):
            embeddings.embed("a")
        with at_most(1), pytest.raises(ModelUnavailableError, match="does not answer") as again:
            embeddings.embed("a")
    assert 0 < again.value.retry_after <= 30


def test_a_hub_whose_name_is_unknown_is_given_up(empty_cache, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "https://no-such-hub.invalid")
    with at_most(6), pytest.raises(ModelUnavailableError, match="does not answer"):
        Embeddings(MODEL).ensure_available()


def test_an_address_that_is_none_is_told(empty_cache, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "no address")
    with pytest.raises(ModelUnavailableError, match="does not answer"):
        Embeddings(MODEL).ensure_available()


def test_the_proxy_is_asked_in_the_place_of_the_hub(empty_cache, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    with at_most(5), pytest.raises(ModelUnavailableError, match="refused"):
        Embeddings(MODEL).ensure_available()


@pytest.mark.parametrize("variable", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_switched_off_the_hub_is_not_asked(variable, empty_cache, monkeypatch, socket_disabled):
    monkeypatch.setenv(variable, "1")
    for ask in (Embeddings(MODEL).ensure_available, lambda: Embeddings(MODEL).embed("a")):
        with at_most(1), pytest.raises(ModelUnavailableError, match="HF_HUB_OFFLINE") as caught:
            ask()
        assert not caught.value.transient


@pytest.mark.parametrize("content", [b"", b"<html>", "cut"])
def test_a_damaged_download_is_found_out_and_left_in_its_place(content, full_cache):
    (model,) = full_cache.glob("models--*/snapshots/*/model.onnx")
    model.write_bytes(model.read_bytes()[:1_000_000] if content == "cut" else content)
    embeddings = Embeddings(MODEL)
    for ask in (embeddings.ensure_available, lambda: embeddings.embed("a")):
        with at_most(5), pytest.raises(ModelUnavailableError, match="damaged") as caught:
            ask()
        assert "model.onnx" in str(caught.value)
    assert model.exists()


def test_a_model_that_was_put_there_meanwhile_is_taken_at_once(empty_cache, full_cache, tmp_path):
    (entry,) = full_cache.glob("models--*")
    entry.rename(tmp_path / "aside")
    embeddings = Embeddings(MODEL)
    with pytest.raises(ModelUnavailableError):
        embeddings.embed("a")
    (tmp_path / "aside").rename(entry)
    assert len(embeddings.embed_single("a")) == 384
