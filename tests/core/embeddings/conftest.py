"""A hub's cache made by hand, and servers in the place of the hub and of a provider."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub  # noqa: F401 - it reads its switches when it is imported, and some tests set them
import pytest

from .servers import REPO, REVISION, Hub, Provider


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as server:
        yield server


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's cache folder, with nothing in it, and no hub that answers."""
    cache = tmp_path / "hub-cache"
    cache.mkdir()
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(cache))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    for switch in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(switch, raising=False)
    return cache


@pytest.fixture
def full_cache(empty_cache: Path, minilm_folder: Path) -> Path:
    """The hub's cache folder with the real MiniLM, as a download leaves it, and no hub that answers."""
    entry = empty_cache / f"models--{REPO.replace('/', '--')}"
    shutil.copytree(minilm_folder, entry / "snapshots" / REVISION)
    (entry / "refs").mkdir()
    (entry / "refs" / "main").write_text(REVISION)
    return empty_cache


@pytest.fixture
def hub(empty_cache: Path, minilm_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub that answers and has the real MiniLM."""
    with Hub({path.name: path.read_bytes() for path in minilm_folder.iterdir()}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server
