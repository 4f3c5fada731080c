"""Histories as polars frames."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ffai._fork import has_lost_polars
from ffai.core.history.interaction import Interaction
from ffai.errors import StoreError

if TYPE_CHECKING:
    import polars as pl


def to_frame(calls: Iterable[Interaction], response: Callable[[Interaction], Any]) -> pl.DataFrame:
    """Return one row a call.

    Args:
        calls: oldest first.
        response: what goes into the ``response`` column.

    Returns:
        The fields of ``Interaction``; ``datetime`` (microseconds, UTC); ``usage``, ``tool_calls``, ``scope`` and
        ``metadata`` as JSON, as is a response that is not text; the token counts of ``usage``. Without calls, the same
        columns and no row. Characters that can't be encoded (half an emoji) are replaced.

    Raises:
        StoreError: this process was forked from one that had loaded polars.

    Examples:
        >>> call = Interaction(sequence_number=1, prompt="Hi", response="Hello!", clean_response="Hello!", model="m",
        ...                    timestamp=0.0)
        >>> to_frame([call], lambda call: call.response).select("prompt", "response", "datetime").row(0)
        ('Hi', 'Hello!', datetime.datetime(1970, 1, 1, 0, 0, tzinfo=...'UTC'...))
    """
    _refuse_after_fork()
    import polars as pl

    text, whole, real = pl.String, pl.Int64, pl.Float64
    columns: dict[str, tuple[Any, Callable[[Interaction], Any]]] = {
        "sequence_number": (whole, lambda call: call.sequence_number),
        "prompt": (text, lambda call: _text(call.prompt)),
        "response": (text, lambda call: _text(response(call))),
        "prompt_name": (text, lambda call: _text(call.prompt_name)),
        "timestamp": (real, lambda call: call.timestamp),
        "model": (text, lambda call: _text(call.model)),
        "history": (pl.List(text), lambda call: None if call.history is None else [_text(n) for n in call.history]),
        "status": (text, lambda call: call.status),
        "error": (text, lambda call: _text(call.error)),
        "resolved_prompt": (text, lambda call: _text(call.resolved_prompt)),
        "usage": (text, lambda call: _text(call.usage)),
        "input_tokens": (whole, lambda call: _whole(getattr(call.usage, "input_tokens", None))),
        "output_tokens": (whole, lambda call: _whole(getattr(call.usage, "output_tokens", None))),
        "total_tokens": (whole, lambda call: _whole(getattr(call.usage, "total_tokens", None))),
        "cost_usd": (real, lambda call: call.cost_usd),
        "duration_ms": (real, lambda call: call.duration_ms),
        "tool_calls": (text, lambda call: _text(call.tool_calls)),
        "turn_id": (text, lambda call: call.turn_id),
        "scope": (text, lambda call: _text(call.scope.to_metadata())),
        "agent_actor_id": (text, lambda call: call.agent_actor_id),
        "metadata": (text, lambda call: _text(call.metadata)),
    }
    rows = list(calls)
    frame = pl.DataFrame(
        {name: [read(call) for call in rows] for name, (_, read) in columns.items()},
        schema={name: kind for name, (kind, _) in columns.items()},
        strict=False,
    )
    microseconds = (pl.col("timestamp") * 1_000_000).round().cast(pl.Int64)
    return frame.with_columns(datetime=microseconds.cast(pl.Datetime("us", "UTC")))


def matching(
    calls: Iterable[Interaction],
    *,
    text: str | None = None,
    prompt_name: str | None = None,
    model: str | None = None,
    start_time: float | None = None,
    end_time: float | None = None,
) -> list[Interaction]:
    """Return the calls that all given filters accept.

    Args:
        calls: the calls.
        text: looked for literally, in either case, in the prompt, the resolved prompt and the response.
        prompt_name: the whole name.
        model: the whole name.
        start_time: seconds since the epoch, inclusive.
        end_time: seconds since the epoch, inclusive.

    Examples:
        >>> call = Interaction(sequence_number=1, prompt="What is Python?", response="A language.",
        ...                    clean_response="A language.", model="m", timestamp=0.0)
        >>> len(matching([call], text="PYTHON")), len(matching([call], start_time=1))
        (1, 0)
    """
    earliest = float("-inf") if start_time is None else start_time
    latest = float("inf") if end_time is None else end_time
    wanted = None if text is None else text.casefold()
    return [
        call
        for call in calls
        if earliest <= call.timestamp <= latest
        and prompt_name in (None, call.prompt_name)
        and model in (None, call.model)
        and (wanted is None or _mentions(call, wanted))
    ]


def count_frame(column: str, counts: Mapping[str, int]) -> pl.DataFrame:
    """Return counts as a frame of two columns: the name's, and ``count``.

    Examples:
        >>> count_frame("model", {"m": 2}).rows()
        [('m', 2)]
    """
    _refuse_after_fork()
    import polars as pl

    names = [_text(name) for name in counts]
    return pl.DataFrame({column: names, "count": list(counts.values())}, schema={column: pl.String, "count": pl.Int64})


def response_lengths(history: pl.DataFrame) -> pl.DataFrame:
    """Return how long the responses are, in characters, by prompt name; the longest mean first.

    Returns:
        ``prompt_name`` (null for calls without one), ``mean_length``, ``min_length``, ``max_length``, ``count``.
        Calls without a response are left out.

    Examples:
        >>> call = Interaction(sequence_number=1, prompt="Hi", response="Hello!", clean_response="Hello!", model="m",
        ...                    timestamp=0.0)
        >>> response_lengths(to_frame([call], lambda call: call.response)).row(0)
        (None, 6.0, 6, 6, 1)
    """
    _refuse_after_fork()
    import polars as pl

    length = pl.col("response").str.len_chars().cast(pl.Int64)
    return (
        history.filter(pl.col("response").is_not_null())
        .group_by("prompt_name", maintain_order=True)
        .agg(
            mean_length=length.mean(),
            min_length=length.min(),
            max_length=length.max(),
            count=length.count().cast(pl.Int64),
        )
        .sort("mean_length", descending=True, maintain_order=True)
    )


def counts_by_date(history: pl.DataFrame) -> pl.DataFrame:
    """Return how many calls each day has: ``date`` (UTC) and ``len``, the oldest day first.

    Examples:
        >>> call = Interaction(sequence_number=1, prompt="Hi", response="Hello!", clean_response="Hello!", model="m",
        ...                    timestamp=0.0)
        >>> counts_by_date(to_frame([call], lambda call: call.response)).row(0)
        (datetime.date(1970, 1, 1), 1)
    """
    _refuse_after_fork()
    import polars as pl

    return history.group_by(pl.col("datetime").dt.date().alias("date")).len().sort("date")


def _mentions(call: Interaction, folded: str) -> bool:
    return any(folded in said.casefold() for said in (call.prompt, call.resolved_prompt, call.response) if said)


def _text(value: Any) -> str | None:
    """Return text that can be encoded; JSON for what is not text; ``None`` for nothing."""
    if value is None:
        return None
    text = value if isinstance(value, str) else _json(value)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone half of a surrogate pair; two halves that meet are one character
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError, RecursionError):  # a key that is not text, or a value that contains itself
        return str(value)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return list(value) if isinstance(value, (set, frozenset)) else str(value)


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _refuse_after_fork() -> None:
    """The threads of polars do not exist in a forked child, which would wait for them for ever."""
    if has_lost_polars():
        raise StoreError(
            "Frames can't be made in a process that was forked after polars was loaded: polars would hang. "
            "Make them in the parent, or start the process with the 'spawn' method."
        )
