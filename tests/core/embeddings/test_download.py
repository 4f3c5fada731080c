"""A local model that the cache lacks, or has damaged, and a hub that answers."""

import logging

import pytest

from ffai.core.embeddings import Embeddings
from ffai.errors import ModelUnavailableError

MODEL = "local/all-MiniLM-L6-v2"


def cached(folder, name):
    (path,) = folder.glob(f"models--*/snapshots/*/{name}")
    return path


def test_the_first_use_downloads_and_the_next_one_takes_the_cache(hub, capfd):
    embeddings = Embeddings(MODEL)
    embeddings.ensure_available()
    assert hub.sent == []
    assert len(embeddings.embed_single("a red house")) == 384
    sent = list(hub.sent)
    assert "model.onnx" in sent
    assert len(Embeddings(MODEL, threads=1).embed_single("a red house")) == 384
    assert hub.sent == sent
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("content", [b"", b"<html>Sign in to the guest network</html>", "cut"])
def test_a_damaged_model_is_downloaded_again_once(content, full_cache, hub, caplog):
    model = cached(full_cache, "model.onnx")
    model.write_bytes(model.read_bytes()[:1_000_000] if content == "cut" else content)
    assert len(Embeddings(MODEL).embed_single("a red house")) == 384
    assert hub.sent.count("model.onnx") == 1
    assert [record.levelname for record in caplog.records if record.name.startswith("ffai")] == ["WARNING"]
    assert "damaged" in caplog.text


def test_a_damaged_tokenizer_is_downloaded_again(full_cache, hub):
    tokenizer = cached(full_cache, "tokenizer.json")
    tokenizer.write_bytes(tokenizer.read_bytes()[:1000])
    assert len(Embeddings(MODEL).embed_single("a red house")) == 384
    assert "tokenizer.json" in hub.sent


def test_what_is_left_of_a_download_that_broke_off_does_no_harm(empty_cache, hub):
    blobs = empty_cache / "models--Qdrant--all-MiniLM-L6-v2-onnx" / "blobs"
    blobs.mkdir(parents=True)
    (blobs / "0123.incomplete").write_bytes(b"half a model")
    assert len(Embeddings(MODEL).embed_single("a red house")) == 384


def test_a_hub_that_sends_a_damaged_model_is_asked_once_and_the_error_says_where(hub):
    hub.files["model.onnx"] = hub.files["model.onnx"][:1_000_000]
    embeddings = Embeddings(MODEL)
    for _ in range(2):
        with pytest.raises(ModelUnavailableError, match=r"hub-cache.*model\.onnx' is cut"):
            embeddings.embed_single("a red house")
    assert hub.sent.count("model.onnx") == 1


def test_damage_inside_a_file_is_downloaded_once_and_then_told(hub):
    hub.files["model.onnx"] = hub.files["model.onnx"][:-100] + bytes(100)
    embeddings = Embeddings(MODEL)
    for _ in range(2):
        with pytest.raises(ModelUnavailableError, match=r"model"):
            embeddings.embed_single("a red house")
    assert hub.sent.count("model.onnx") == 1


def test_a_hub_without_the_model_is_not_asked_again_and_again(hub):
    hub.files.clear()
    with pytest.raises(ModelUnavailableError, match=r"not all of .*model\.onnx"):
        Embeddings(MODEL).embed_single("a red house")


@pytest.mark.parametrize(("status", "transient"), [(404, False), (503, True)])
def test_a_hub_that_refuses_is_told_with_what_it_said(status, transient, hub):
    hub.refuses = status
    with pytest.raises(ModelUnavailableError, match="failed") as caught:
        Embeddings(MODEL).embed_single("a red house")
    assert caught.value.transient is transient
    assert caught.value.__cause__ is not None


def test_a_cache_that_cannot_be_written_is_told(hub, empty_cache, monkeypatch):
    (empty_cache / "file").write_text("not a folder")
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(empty_cache / "file"))
    with pytest.raises(ModelUnavailableError, match="failed"):
        Embeddings(MODEL).embed_single("a red house")


def test_while_it_downloads_it_says_so(hub, caplog):
    caplog.set_level(logging.INFO, logger="ffai")
    embeddings = Embeddings(MODEL)
    assert not embeddings.is_downloading
    embeddings.embed_single("a red house")
    assert not embeddings.is_downloading
    assert f"Downloading 'Qdrant/all-MiniLM-L6-v2-onnx' from {hub.url}" in caplog.text
