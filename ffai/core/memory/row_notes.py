"""What ffai noted in the turns of a memory file, read for all rows at once.

Reading every turn as JSON costs a second for 100,000 of them. A turn as ffai writes it ends in its time and its notes,
so one regular expression, tied to the end of the text, finds them. It proves where they are: the texts are valid JSON,
a quote behind a blank or a bracket is never inside a string, and between "metadata" and the last three brackets there
is no other one but the scope's. A turn that no expression fits is read as JSON.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ffai.core.memory.identity import content_id, notes_of

if TYPE_CHECKING:
    import polars as pl

_NUMBER = r"(-?[0-9][0-9.eE+-]*)"
_FLAT = r"[^{}\\]*"
_SCOPE = r'(?:, "scope": (\{[^{}]*\}))?'
_TIME = rf', "timestamp": {_NUMBER}'
_NOTES = rf'{_TIME}, "metadata": \{{(?:[^{{}}]*, )?"ffai": \{{"turn_id": "([^"\\]+)"'
_SIMPLE = rf"{_NOTES}{_FLAT}\}}\}}\}}$"
_WHOLE = rf"{_NOTES}((?:, {_FLAT})?){_SCOPE}((?:, {_FLAT})?)\}}\}}\}}$"
_EXPIRES = rf', "expires_at": {_NUMBER}(?:,|$)'
_FOREIGN = rf'{_TIME}(?:, "metadata": \{{{_FLAT}\}})?\}}$'


@dataclass(frozen=True, slots=True)
class RowNotes:
    """One list a note, one entry a row; ``None`` where a turn has none, or one of another type."""

    turn_ids: list[str]
    """The id that ffai noted, else one made from the content."""
    timestamps: list[float | None]
    """When it was said, in seconds since 1970."""
    expires_at: list[float | None]
    """When it is to be forgotten, in seconds since 1970."""
    scopes: list[str | None]
    """The scope's fields, as JSON."""


def row_notes(frame: pl.DataFrame) -> RowNotes:
    """Read the notes of each row of a memory file.

    Args:
        frame: the columns of a memory file; each turn is a dict as JSON.

    Examples:
        >>> import numpy as np
        >>> from ffai.core.memory.identity import NewTurn
        >>> from ffai.core.memory.parquet import frame_of
        >>> turn = '{"timestamp": 5, "metadata": {"ffai": {"turn_id": "a1", "scope": {"user_id": "u"}}}}'
        >>> row_notes(frame_of([NewTurn("a1", "text", turn, "{}")], np.ones((1, 2))))
        RowNotes(turn_ids=['a1'], timestamps=[5.0], expires_at=[None], scopes=['{"user_id": "u"}'])
    """
    import polars as pl

    turns = frame["turn"]
    found = _found(turns)
    columns = {name: found[name].to_list() for name in ("timestamp", "expires_at", "scope")}
    for row in (~found["sure"]).arg_true().to_list():
        turn = json.loads(turns[row])
        notes = notes_of(turn)
        scope = notes.get("scope")
        columns["timestamp"][row] = _number(turn.get("timestamp"))
        columns["expires_at"][row] = _number(notes.get("expires_at"))
        columns["scope"][row] = json.dumps(scope, ensure_ascii=False) if isinstance(scope, dict) else None
    unsure = pl.when(pl.col("sure")).then(pl.col("turn_id")).otherwise(_id_in(pl.col("turn")))
    noted = found.with_columns(turns).select(unsure).to_series() if not found["sure"].all() else found["turn_id"]
    return RowNotes(with_content_ids(noted, frame), columns["timestamp"], columns["expires_at"], columns["scope"])


def _found(turns: pl.Series) -> pl.DataFrame:
    """Read the notes with regular expressions; ``sure`` says of which rows they are all that can be found."""
    import polars as pl

    turn = pl.col("turn")
    mentioned = any(turns.str.contains(word, literal=True).any() for word in ('"expires_at"', '"scope"'))
    whole = turn.str.extract_groups(_WHOLE if mentioned else _SIMPLE).struct
    notes = [whole.field("1").alias("timestamp"), whole.field("2").alias("turn_id")]
    if mentioned:
        expires = [whole.field(group).str.extract(_EXPIRES) for group in ("3", "5")]
        notes += [pl.coalesce(expires).alias("expires_at"), whole.field("4").alias("scope")]
    else:
        notes += [pl.lit(None, pl.String).alias(name) for name in ("expires_at", "scope")]
    found = turns.to_frame("turn").lazy().select(notes).collect(engine="streaming")  # it alone uses all processors
    sure = found["turn_id"].is_not_null()
    if not sure.all():
        foreign = ~sure & ~turns.str.contains('"ffai"', literal=True)
        times = turns.to_frame("turn").select(pl.when(foreign).then(turn.str.extract(_FOREIGN))).to_series()
        sure |= foreign & (times.is_not_null() | ~turns.str.contains('"timestamp"', literal=True))
        found = found.with_columns(pl.coalesce("timestamp", times))
    numbers = pl.col("timestamp", "expires_at").cast(pl.Float64, strict=False)
    return found.with_columns(pl.when(numbers.is_finite()).then(numbers), sure.alias("sure"))


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def noted_ids(frame: pl.DataFrame) -> pl.Series:
    """Return the id that ffai noted in the turn of each row; null where it noted none."""
    import polars as pl

    return frame.lazy().select(_id_in(pl.col("turn"))).collect(engine="streaming").to_series()


def _id_in(turn: pl.Expr) -> pl.Expr:
    return turn.str.json_path_match("$.metadata.ffai.turn_id")


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
