"""Files that are there and can't be taken as they are."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import polars as pl
import pytest

from ffai.core.memory import TurnVectorStore, load_store, persist_store
from ffai.errors import DamagedFileError
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener


def test_a_file_that_can_not_be_opened_just_now_is_left_where_it_is(
    opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as no_file:
        no_file.bind("ffai_turns.parquet")
        memory = opened(tmp_path)
        assert any("ffai_turns.parquet" in note for note in memory.status().notes)
        memory.remember("Where is the red key?", "Under the mat.")
        assert memory.close().indexed == 1
        path = tmp_path / "ffai_turns.parquet"
        assert path.is_socket()
        path.unlink()
    assert opened(tmp_path).search("the red key", top_k=1)[0].response == "Under the mat."


@pytest.mark.parametrize("column", ["turn", "metadata"])
def test_text_that_is_no_json_is_damage(opened: Opener, tmp_path: Path, column: str) -> None:
    store = TurnVectorStore()
    store.add("red house", [1.0] * 64, {"role": "user"}, {"a": 1})
    path = tmp_path / "ffai_turns.parquet"
    persist_store(store, path)
    pl.read_parquet(path).with_columns(pl.lit("{oops}").alias(column)).write_parquet(path)
    with pytest.raises(DamagedFileError, match=column):
        load_store(path)
    memory = opened(tmp_path)
    assert memory.count() == 0
    assert any("damaged" in name.name for name in tmp_path.iterdir())


def test_numbers_that_only_python_writes_as_json_are_read(tmp_path: Path) -> None:
    store = TurnVectorStore()
    store.add("red house", [1.0] * 64, {"role": "user"}, {"a": 1})
    path = tmp_path / "ffai_turns.parquet"
    persist_store(store, path)
    pl.read_parquet(path).with_columns(pl.lit(json.dumps({"a": float("inf")})).alias("metadata")).write_parquet(path)
    assert [entry.metadata for entry in load_store(path).iter_entries()] == [{"a": float("inf")}]


def test_a_file_that_another_program_embedded_again_is_opened(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("Where is the red key?", "word " * 300)
    memory.flush()
    memory.remember("Where is the blue boat?", "In the harbour.")
    memory.close()
    path = tmp_path / "ffai_turns.parquet"
    other, store = FakeEmbedder(16, model="fake/other"), TurnVectorStore()
    for entry in load_store(path).iter_entries():
        store.add(entry.text, other.embed([entry.text])[0], entry.turn, entry.metadata)
    persist_store(store, path)
    again = opened(tmp_path, other)
    again.flush()
    prompts = {hit.prompt for hit in again.search("the red key", top_k=9)}
    assert prompts == {"Where is the red key?", "Where is the blue boat?"}
