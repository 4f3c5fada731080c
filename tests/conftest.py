"""Real models, made once for a test run."""

from __future__ import annotations

from pathlib import Path

import pytest

from ffai.cli.models import build_minilm


@pytest.fixture(scope="session")
def minilm_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with the real all-MiniLM-L6-v2."""
    return build_minilm(tmp_path_factory.mktemp("models") / "all-MiniLM-L6-v2")
