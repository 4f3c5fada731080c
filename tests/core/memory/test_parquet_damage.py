"""A file in which single bytes have changed, and one that another program wrote from it."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ffai.core.memory import load_store
from ffai.core.memory.identity import NewTurn
from ffai.core.memory.parquet import FileFacts, frame_of, read_facts, write_frame
from ffai.errors import DamagedFileError, SchemaVersionError


def a_file(path: Path, rows: int = 200) -> None:
    vectors = np.random.default_rng(0).standard_normal((rows, 16))
    turns = [NewTurn("", f"What is {row}? It is {row * row}.", '{"role": "user"}', "{}") for row in range(rows)]
    write_frame(frame_of(turns, vectors), path, FileFacts("j", 3, "m"))


@pytest.mark.parametrize("part", [0.01, 0.1, 0.3, 0.5, 0.7, 0.8])
@pytest.mark.parametrize("bits", [0x01, 0x80, 0xFF])
def test_one_changed_byte_is_damage(tmp_path: Path, part: float, bits: int) -> None:
    path = tmp_path / "turns.parquet"
    a_file(path)
    content = bytearray(path.read_bytes())
    content[int(len(content) * part)] ^= bits
    path.write_bytes(content)
    with pytest.raises(DamagedFileError, match="turns"):
        load_store(path)


def test_a_file_that_another_program_wrote_with_a_copy_of_our_facts_is_read(tmp_path: Path) -> None:
    path = tmp_path / "turns.parquet"
    a_file(path)
    told = {name: text for name, text in pl.read_parquet_metadata(path).items() if name == "ffai"}
    pl.read_parquet(path).head(150).write_parquet(path, metadata=told)
    assert load_store(path).count() == 150
    assert read_facts(path) == FileFacts("j", 3, "m")


def test_facts_of_another_form_are_none(tmp_path: Path) -> None:
    path = tmp_path / "turns.parquet"
    a_file(path)
    frame = pl.read_parquet(path)
    for told in ("[]", "no json", '{"sum": 5, "change": "x"}', "null"):
        frame.write_parquet(path, metadata={"ffai": told})
        assert load_store(path).count() == 200
        assert read_facts(path) == FileFacts()


def test_a_changed_byte_in_what_describes_the_columns_is_an_error_of_ours_or_none(tmp_path: Path) -> None:
    a_file(tmp_path / "ours.parquet", rows=50)
    pl.read_parquet(tmp_path / "ours.parquet").write_parquet(
        tmp_path / "theirs.parquet"
    )  # without a sum over its bytes
    whole, chance = (tmp_path / "theirs.parquet").read_bytes(), random.Random(0)
    refused = 0
    for _ in range(600):
        broken = bytearray(whole)
        broken[chance.randrange(len(whole) - 1500, len(whole) - 8)] = chance.randrange(256)
        (tmp_path / "broken.parquet").write_bytes(broken)
        try:
            load_store(tmp_path / "broken.parquet")
        except (DamagedFileError, SchemaVersionError):
            refused += 1
    assert refused > 100
