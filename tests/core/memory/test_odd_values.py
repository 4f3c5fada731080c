"""Texts and metadata of every kind: stored, found and reloaded, or refused by name; never a danger to other turns."""

from __future__ import annotations

import json
import math
import threading
from collections import UserDict
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import polars as pl
import pytest

from ffai.core.memory import FlushResult
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener


class Colour(Enum):
    RED = "red"


def itself() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["me"] = value
    return value


def nested(depth: int) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = [value]
    return value


PLAIN = [
    (datetime(2026, 5, 1, 12, 30, tzinfo=UTC), "2026-05-01T12:30:00+00:00"),
    (date(2026, 5, 1), "2026-05-01"),
    (time(12, 30), "12:30:00"),
    (Path("a") / "b", str(Path("a") / "b")),
    ({"b", "a"}, ["a", "b"]),
    (frozenset({1}), [1]),
    ((1, (2, 3)), [1, [2, 3]]),
    (b"bytes", "bytes"),
    (b"\xff", "\ufffd"),
    (np.int64(5), 5),
    (np.float32(0.5), 0.5),
    (np.bool_(True), True),
    (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    (np.datetime64("2026-05-01"), "2026-05-01"),
    (math.nan, "nan"),
    (-math.inf, "-inf"),
    (np.float64("nan"), "nan"),
    (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    (Decimal("1.50"), "1.50"),
    (Colour.RED, "red"),
    (UserDict({"a": 1}), {"a": 1}),
    ({5: "five", None: "none", True: "yes"}, {"5": "five", "null": "none", "true": "yes"}),
    ({(1, 2): "pair"}, {"(1, 2)": "pair"}),
    ("half \ud83d an emoji", "half \ufffd an emoji"),
    ("a\x00b", "a\x00b"),
    (2**200, 2**200),
]


def test_values_of_other_kinds_are_kept_as_plain_ones(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    for number, (value, _) in enumerate(PLAIN):
        memory.remember(f"turn {number}", "x", metadata={"key": value, "list": [value]})
        memory.index_turn_text(f"indexed {number}", {"key": value}, {"key": value})
    memory.close()
    found = {entry.text: entry for entry in opened(tmp_path).store.iter_entries()}
    for number, (value, plain) in enumerate(PLAIN):
        remembered, indexed = found[f"turn {number}\nx"], found[f"indexed {number}"]
        assert remembered.metadata == {"key": plain, "list": [plain]}, value
        assert remembered.turn["metadata"]["key"] == plain
        assert (indexed.turn, indexed.metadata) == ({"key": plain}, {"key": plain})
        json.dumps(remembered.turn, allow_nan=False)


@pytest.mark.parametrize(
    "value",
    [
        object(),
        int,
        np.float32,
        Colour,
        threading.Lock(),
        (item for item in []),
        lambda: None,
        1j,
        np.complex64(1),
        ...,
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_that_have_no_plain_form_are_refused_by_name(opened: Opener, tmp_path: Path, value: Any) -> None:
    memory = opened(tmp_path)
    for metadata, name in (
        ({"key": value}, r"metadata\['key'\]"),
        ({"deep": [0, {"key": value}]}, r"metadata\['deep'\]\[1\]\['key'\]"),
    ):
        with pytest.raises(ArgumentTypeError, match=name):
            memory.remember("a", "b", metadata=metadata)
        with pytest.raises(ArgumentTypeError, match=name):
            memory.index_turn_text("a", {"role": "user"}, metadata)
    with pytest.raises(ArgumentTypeError, match=r"turn\['key'\]"):
        memory.index_turn_text("a", {"key": value})
    memory.remember("next", "turn")
    assert memory.close() == FlushResult(1, 0, 0)
    assert [entry.text for entry in opened(tmp_path).store.iter_entries()] == ["next\nturn"]


@pytest.mark.parametrize(
    "value", [itself(), nested(100_000), {"deep": nested(5_000)}], ids=["itself", "deep", "less deep"]
)
def test_a_value_without_an_end_is_refused_by_name(opened: Opener, value: Any) -> None:
    memory = opened()
    with pytest.raises(InvalidArgumentError, match="metadata"):
        memory.remember("a", "b", metadata={"key": value})
    with pytest.raises(InvalidArgumentError, match="turn"):
        memory.index_turn_text("a", {"key": value})
    assert memory.flush() == FlushResult(0, 0, 0)


def test_values_as_deep_as_programs_nest_them_are_kept(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("a", "b", metadata={"key": nested(60)})
    memory.close()
    assert opened(tmp_path).search("a")[0].metadata == {"key": nested(60)}


def test_what_the_caller_calls_ffai_is_the_callers(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    turn_id = memory.remember("a", "b", metadata={"ffai": "mine", "prompt_name": "p"})
    memory.close()
    hit = opened(tmp_path).search("a")[0]
    assert hit.metadata == {"ffai": "mine", "prompt_name": "p"}
    assert (hit.turn_id, hit.response) == (turn_id, "b")


TEXTS = {
    "half an emoji": ("half \ud83d here", "half \ufffd here"),
    "both halves apart": ("\ud83d\ude00 smile", "\U0001f600 smile"),
    "NUL": ("a\x00b nul", "a\x00b nul"),
    "right to left": ("שלום עולם \u202e override", None),
    "combining": ("e\u0301 n\u0303 zalgo\u0300\u0301\u0302", None),
    "family": ("👩\u200d👩\u200d👧 family", None),
    "line ends": ("one\r\ntwo\u2028three\x0bfour", None),
    "quotes": ('it\'s "quoted" \\ {{not.a.reference}}', None),
    "SQL": ("'); DROP TABLE turns; --", None),
    "only signs": ("!!!", None),
}


def test_texts_of_every_kind_are_stored_found_and_reloaded(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    for given, _ in TEXTS.values():
        memory.remember(given, given, metadata={given: given})
    for _ in range(2):
        for given, plain in TEXTS.values():
            kept = given if plain is None else plain
            hits = {hit.text: hit for hit in memory.search(f"{given}\n{given}", top_k=3)}
            hit = hits[f"{kept}\n{kept}"]
            assert (hit.prompt, hit.response, hit.metadata) == (kept, kept, {kept: kept})
        memory.close()
        memory = opened(tmp_path)
    stored = pl.read_parquet(tmp_path / "ffai_turns.parquet")["text"].to_list()
    assert stored == [f"{plain or given}\n{plain or given}" for given, plain in TEXTS.values()]


def test_a_megabyte_of_text_is_kept_whole_and_found(opened: Opener, tmp_path: Path) -> None:
    words = "".join(f"w{number:06d} " for number in range(125_000))
    assert len(words) == 1_000_000
    memory = opened(tmp_path, FakeEmbedder(16, max_words=50))
    memory.remember("long", words)
    memory.remember("short", "text")
    assert memory.flush() == FlushResult(2, 0, 0)
    memory.close()
    again = opened(tmp_path, FakeEmbedder(16, max_words=50))
    hit = next(hit for hit in again.search("w100000 w100001 w100002", top_k=2) if hit.prompt == "long")
    assert hit.response == words
    assert hit.score > 0.2


def test_a_megabyte_without_a_space_is_kept_whole(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path, FakeEmbedder(16, max_words=50))
    memory.remember("x" * 1_000_000, "", metadata={"key": "y" * 1_000_000})
    memory.close()
    hit = opened(tmp_path, FakeEmbedder(16, max_words=50)).search("anything")[0]
    assert (hit.prompt, hit.metadata) == ("x" * 1_000_000, {"key": "y" * 1_000_000})


def test_an_empty_prompt_and_reply_do_no_harm(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("", "")
    memory.remember("", "only a reply")
    memory.remember("only a prompt", "")
    memory.close()
    hits = {hit.text: hit for hit in opened(tmp_path).search("only")}
    assert (hits[""].prompt, hits[""].response) == ("", "")
    assert (hits["\nonly a reply"].prompt, hits["\nonly a reply"].response) == ("", "only a reply")
    assert (hits["only a prompt"].prompt, hits["only a prompt"].response) == ("only a prompt", "")
