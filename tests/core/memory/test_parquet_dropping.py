"""Files that are rewritten without some of their turns."""

from __future__ import annotations

import json
import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ffai.core.memory import load_store
from ffai.core.memory.dropping import drop_rows
from ffai.core.memory.identity import NewTurn
from ffai.core.memory.parquet import FileFacts, frame_of, read_facts, read_file, write_frame
from ffai.errors import DamagedFileError, SchemaVersionError, StoreFileNotFoundError

FACTS = FileFacts("j", 7, "fake/model")
ids = st.sampled_from([f"id{number}" for number in range(6)])
vectors = st.lists(st.floats(width=64), min_size=2, max_size=2)


def a_turn(turn_id: str | None, note: str = "") -> str:
    return json.dumps({"metadata": {"ffai": {"turn_id": turn_id, "note": note}} if turn_id else {}, "note": note})


def a_file(path: Path, turn_ids: list[str | None]) -> None:
    turns = [NewTurn("", f"text {row}", a_turn(turn_id), "{}") for row, turn_id in enumerate(turn_ids)]
    write_frame(frame_of(turns, np.eye(len(turns), 4)), path, FACTS)


def bits(frame: pl.DataFrame) -> list[Any]:
    """Give the rows so that only equal bits are equal."""
    columns = frame.to_dict(as_series=False)
    columns["embedding"] = [struct.pack(f"{len(vector)}d", *vector) for vector in columns["embedding"]]
    return list(zip(*columns.values(), strict=True))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)
@given(st.lists(st.tuples(ids, vectors, st.text(max_size=5)), max_size=8), st.frozensets(ids))
def test_the_other_rows_keep_every_bit_and_their_order(
    rows: list[tuple[str, list[float], str]], dropped: frozenset[str]
) -> None:
    turns = [NewTurn(turn_id, note, a_turn(turn_id, note), "{}") for turn_id, _, note in rows]
    frame = frame_of(turns, np.array([row[1] for row in rows]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "turns.parquet")
        write_frame(frame, path, FACTS)
        before = bits(read_file(path)[0])
        kept = [row for row, (turn_id, _, _) in zip(before, rows, strict=True) if turn_id not in dropped]
        assert drop_rows(path, dropped) == len(before) - len(kept)
        after, facts = read_file(path)
        assert (bits(after), facts) == (kept, FACTS)
        assert [found.name for found in Path(folder).iterdir()] == ["turns.parquet"]


def test_what_is_dropped_is_in_no_byte_of_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "turns.parquet"
    a_file(path, ["a", "b", "c"])
    assert drop_rows(path, ["b"]) == 1
    assert pl.read_parquet(path)["text"].to_list() == ["text 0", "text 2"]
    assert [found.name for found in tmp_path.iterdir()] == ["turns.parquet"]
    assert b"text 1" not in path.read_bytes()


def test_a_file_that_has_none_of_them_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "turns.parquet"
    a_file(path, ["a", "b"])
    before = path.stat()
    assert drop_rows(path, ["x"]) == drop_rows(path, []) == 0
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_turns_from_elsewhere_are_dropped_by_the_id_of_their_content(tmp_path: Path) -> None:
    path = tmp_path / "turns.parquet"
    a_file(path, [None, None])
    best = load_store(path).search([0.0, 1.0, 0.0, 0.0])[0]
    assert best.turn_id is not None
    assert drop_rows(path, [best.turn_id]) == 1
    assert [entry.text for entry in load_store(path).iter_entries()] == ["text 0"]


def test_all_rows_may_be_dropped(tmp_path: Path) -> None:
    path = tmp_path / "turns.parquet"
    a_file(path, ["a", "b"])
    assert drop_rows(path, ["a", "b"]) == 2
    assert load_store(path).count() == 0
    assert read_facts(path) == FACTS


def test_files_that_can_not_be_read_are_refused_and_left(tmp_path: Path) -> None:
    path = tmp_path / "turns.parquet"
    with pytest.raises(StoreFileNotFoundError):
        drop_rows(path, ["a"])
    path.write_bytes(b"garbage")
    with pytest.raises(DamagedFileError):
        drop_rows(path, ["a"])
    assert path.read_bytes() == b"garbage"
    pl.DataFrame({"_schema_version": pl.Series([2], dtype=pl.Int8)}).write_parquet(path)
    with pytest.raises(SchemaVersionError):
        drop_rows(path, ["a"])
