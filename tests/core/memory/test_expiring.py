"""Turns that have an end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from ffai import FFAI
from ffai.core.memory import Memory
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.testing import FakeClient, FakeEmbedder
from tests.core.memory.conftest import Opener

PAST, FUTURE = 1.0, 4_000_000_000.0


def in_files(folder: Path, text: str) -> bool:
    return any(text.encode() in path.read_bytes() for path in folder.iterdir())


def test_a_turn_whose_time_is_over_is_not_found_counted_or_listed(opened: Opener) -> None:
    memory = opened()
    memory.remember("Where is the key?", "Under the mat.", expires_at=PAST)
    memory.remember("Where is the door?", "There.", expires_at=FUTURE)
    memory.flush()
    assert [hit.prompt for hit in memory.search("where is the key", top_k=5)] == ["Where is the door?"]
    assert memory.count() == 1
    assert [turn.prompt for turn in memory.list().turns] == ["Where is the door?"]


def test_it_is_taken_out_of_the_files_with_the_next_work(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("Where is zebrafish?", "In the tank.", expires_at=PAST)
    memory.remember("Where is the door?", "There.")
    memory.flush()
    memory.remember("One more?", "Yes.")
    memory.flush()
    memory.close()
    assert not in_files(tmp_path, "zebrafish")
    assert opened(tmp_path).count() == 2


def test_the_next_start_takes_it_out(opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = opened(tmp_path)
    memory.remember("Where is zebrafish?", "In the tank.", expires_at=FUTURE)
    memory.close()
    assert in_files(tmp_path, "zebrafish")
    monkeypatch.setattr(time, "time", lambda: FUTURE + 1.0)
    again = opened(tmp_path)
    again.flush()
    again.close()
    assert not in_files(tmp_path, "zebrafish")


def test_a_failed_turn_ends_too(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path, FakeEmbedder(fail=lambda text: ValueError("no") if "zebrafish" in text else None))
    memory.remember("Where is zebrafish?", "In the tank.", expires_at=PAST)
    memory.flush()
    memory.close()
    again = opened(tmp_path)
    again.retry_failed()
    again.flush()
    again.close()
    assert not in_files(tmp_path, "zebrafish")


def test_a_lifetime_counts_from_when_it_was_said(opened: Opener) -> None:
    memory = Memory(FakeEmbedder(), ttl=3600)
    memory.remember("Just now?", "Yes.")
    memory.remember("Long ago?", "Yes.", timestamp=time.time() - 4000)
    memory.remember("Long ago, kept?", "Yes.", timestamp=0.0, expires_at=FUTURE)
    memory.flush()
    assert sorted(turn.prompt or "" for turn in memory.list().turns) == ["Just now?", "Long ago, kept?"]


def test_the_setting_gives_each_turn_an_end(tmp_path: Path) -> None:
    settings = {"memory": {"enabled": True, "ttl": "2d"}}
    with FFAI(FakeClient(["Under the mat."]), memory=Memory(FakeEmbedder()), config=settings) as ffai:
        ffai.generate_response("Where is the key?")
        ffai.flush()
        assert ffai.memory is not None
        turn = ffai.memory.list().turns[0]
        assert turn.expires_at == pytest.approx(turn.timestamp + 2 * 86_400)


@pytest.mark.parametrize(
    ("value", "error"),
    [("soon", ArgumentTypeError), (float("nan"), InvalidArgumentError), (True, ArgumentTypeError), (1e300, ValueError)],
)
def test_an_end_is_a_time(opened: Opener, value: Any, error: type[Exception]) -> None:
    memory = opened()
    with pytest.raises(error, match="expires_at"):
        memory.remember("Where is the key?", "Under the mat.", expires_at=value)
    assert memory.status().pending == 0


def test_equal_ends_and_reindexing_go_together(opened: Opener) -> None:
    memory = opened()
    memory.remember("Where is the key?", "Under the mat.", expires_at=PAST)
    memory.remember("Where is the door?", "There.")
    memory.flush()
    memory.reindex(FakeEmbedder(16, model="fake/new"))
    assert memory.count() == 1
