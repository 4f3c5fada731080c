"""Settings, folders, clocks: what users of such libraries report, kind 12."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ffai import FFAI, Memory
from ffai.errors import ConfigError
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


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="no time zones to set")
def test_a_time_is_the_same_instant_wherever_the_clock_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"memory": {"persist_dir": str(tmp_path)}}
    began = time.time()
    for zone in ("Pacific/Kiritimati", "America/New_York", "UTC"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        try:
            with FFAI(FakeClient(), memory=Memory(FakeEmbedder()), memory_persist=True, config=config) as ffai:
                ffai.generate_response(zone)
                (record,) = ffai.history.raw
                assert datetime.fromisoformat(record["datetime"]).timestamp() == pytest.approx(record["timestamp"])
                assert record["datetime"].endswith("+00:00")
                (in_frame,) = ffai.history.history_to_dataframe()["datetime"]
                assert in_frame.timestamp() == pytest.approx(record["timestamp"])
                times = [hit.turn["timestamp"] for hit in ffai.history.search("zone", top_k=10)]
                assert all(began <= instant <= time.time() for instant in times)
        finally:
            monkeypatch.delenv("TZ")
            time.tzset()


BARE = """
import os
from ffai import FFAI, Memory
from ffai.testing import FakeClient, FakeEmbedder
from ffai.core.embeddings import resolve_embedder

resolve_embedder(None, allow_api=False)
with FFAI(FakeClient(["Under the mat."]), memory=Memory(FakeEmbedder())) as ffai:
    print(ffai.generate_response("Where is the key?").response, os.listdir())
"""


def test_without_a_home_and_any_variable_it_works_and_leaves_no_file(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-c", BARE],
        cwd=tmp_path,
        env={"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path]), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "Under the mat. []\n", done.stderr


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("settings", "memory.enabeld: is not a setting"),
        ("model", "the embedding model can't be used. local/no-such-model"),
        ("folder", "The journal"),
        ("file", "is not a memory file that can be read"),
    ],
)
def test_whatever_is_broken_at_the_start_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, broken: str, told: str
) -> None:
    memory: dict[str, Any] = {"enabled": True, "persist": True, "persist_dir": str(tmp_path / "memory")}
    given: Memory | None = Memory(FakeEmbedder())
    if broken == "settings":
        memory["enabeld"] = True
    elif broken == "model":
        memory["embedding_model"], given = "local/no-such-model", None
    elif broken == "folder":
        (tmp_path / "memory").write_text("no folder")
    else:
        (tmp_path / "memory").mkdir()
        (tmp_path / "memory" / "ffai_turns.parquet").write_bytes(b"no file of turns")
    try:
        with FFAI(FakeClient(["hi"]), memory=given, memory_persist=True, config={"memory": memory}) as ffai:
            assert ffai.generate_response("hello").response == "hi"
    except ConfigError as error:
        said = [str(error)]
    else:
        said = [record.getMessage() for record in caplog.records]
    assert told in said[0]
