"""Settings, folders, clocks: what users of such libraries report, kind 12."""

from __future__ import annotations

from pathlib import Path

import pytest

from ffai import FFAI, Memory
from ffai.testing import FakeClient, FakeEmbedder


@pytest.mark.parametrize("folder", ["a file/memory", "x" * 300], ids=["below a file", "too long"])
@pytest.mark.parametrize("named", [True, False], ids=["a model that is named", "a memory that is given"])
def test_a_folder_that_can_not_even_be_looked_into_costs_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, named: bool
) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "")
    (tmp_path / "a file").write_text("no folder")
    config = {"memory": {"enabled": True, "persist_dir": str(tmp_path / folder)}}
    if named:
        config["memory"]["embedding_model"] = "mistral/mistral-embed"
    memory = None if named else Memory(FakeEmbedder())

    with FFAI(FakeClient(["Under the mat."]), memory=memory, memory_persist=True, config=config) as ffai:
        assert ffai.generate_response("Where is the key?").response == "Under the mat."
        assert ffai.memory is not None
        assert ffai.memory.status().not_durable == 1
        assert str(tmp_path / folder) in str(ffai.memory.status().problem)
