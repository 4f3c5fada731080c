"""The ids of the turns in a memory file: those that ffai noted in them, else ids made from their content."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from ffai.core.memory.identity import content_id

if TYPE_CHECKING:
    import polars as pl


def noted_ids(frame: pl.DataFrame) -> pl.Series:
    """Return the id that ffai noted in the turn of each row; null where it noted none."""
    import polars as pl

    noted = pl.col("turn").str.json_path_match("$.metadata.ffai.turn_id")
    return frame.lazy().select(noted).collect(engine="streaming").to_series()  # it alone uses all processors


def row_ids(frame: pl.DataFrame) -> list[str]:
    """Return the id of each row: the one that ffai noted in its turn, else one made from its content."""
    return with_content_ids(noted_ids(frame), frame)


def with_content_ids(noted: pl.Series, frame: pl.DataFrame) -> list[str]:
    """Give each row that has no id one made from its content."""
    ids = noted.to_list()
    copies: Counter[str] = Counter()
    for row in noted.is_null().arg_true().to_list():
        content = frame["text"][row], json.loads(frame["turn"][row]), json.loads(frame["metadata"][row])
        made = content_id(*content)
        copies[made] += 1
        ids[row] = made if copies[made] == 1 else content_id(*content, copies[made])
    return ids
