"""What pages and examples need."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def hub_cache(minilm_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model cache as a download leaves it."""
    cache = tmp_path_factory.mktemp("cache")
    model, commit = cache / "models--Qdrant--all-MiniLM-L6-v2-onnx", "0" * 40
    (model / "refs").mkdir(parents=True)
    (model / "refs/main").write_text(commit)
    shutil.copytree(minilm_folder, model / "snapshots" / commit)
    return cache
