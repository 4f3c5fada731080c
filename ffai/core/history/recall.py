"""What a search of the history hands out: each thing that was said once."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Protocol, cast

from ffai.core.history.arguments import check_number, check_text, check_whole


class Hit(Protocol):
    """A turn that a search found; ``ffai.core.memory.TurnHit`` is one."""

    @property
    def score(self) -> float:
        """Cosine similarity to the query, in ``[-1, 1]``."""
        ...

    @property
    def turn(self) -> Any:
        """The turn, in the shape of the permanent history."""
        ...

    @property
    def turn_index(self) -> int:
        """Its position in the store at the time of the search."""
        ...

    @property
    def text(self) -> str:
        """What was said: prompt, newline, response."""
        ...

    @property
    def metadata(self) -> dict[str, Any]:
        """What the caller attached."""
        ...


class RecallMemory(Protocol):
    """A memory that can be searched; ``ffai.core.memory.Memory`` is one."""

    def search(self, query: str, *, top_k: int, threshold: float | None, wait: float) -> Sequence[Any]:
        """Return the turns that are closest in meaning, best first."""
        ...

    async def asearch(self, query: str, *, top_k: int, threshold: float | None, wait: float) -> Sequence[Any]:
        """Search, awaited."""
        ...

    def flush(self, timeout: float | None = None) -> Any:
        """Wait until every turn that was handed over is indexed, or failed."""
        ...

    async def aflush(self, timeout: float | None = None) -> Any:
        """Flush, awaited."""
        ...


def recall(memory: RecallMemory | None, query: str, top_k: int, threshold: float | None, wait: float) -> list[Hit]:
    """Find turns by meaning, each thing that was said once; ``[]`` without a memory.

    Raises:
        InvalidArgumentError: the query is blank; ``threshold`` is NaN; ``wait`` is negative or NaN.
        ArgumentTypeError: an argument has a wrong type.

    Example:
        >>> recall(None, "the database issue", top_k=3, threshold=None, wait=2.0)
        []
    """
    _check(query, top_k, threshold, wait)
    if memory is None or top_k <= 0:
        return []
    flow = distinct_hits(int(top_k))
    asked = next(flow)
    try:
        while True:
            asked = flow.send(memory.search(query, top_k=asked, threshold=threshold, wait=wait))
            wait = 0.0  # what it was to wait for has been waited for
    except StopIteration as done:
        return cast("list[Hit]", done.value)


async def arecall(
    memory: RecallMemory | None, query: str, top_k: int, threshold: float | None, wait: float
) -> list[Hit]:
    """Recall, awaited.

    Example:
        >>> import asyncio
        >>> asyncio.run(arecall(None, "the database issue", top_k=3, threshold=None, wait=2.0))
        []
    """
    _check(query, top_k, threshold, wait)
    if memory is None or top_k <= 0:
        return []
    flow = distinct_hits(int(top_k))
    asked = next(flow)
    try:
        while True:
            asked = flow.send(await memory.asearch(query, top_k=asked, threshold=threshold, wait=wait))
            wait = 0.0
    except StopIteration as done:
        return cast("list[Hit]", done.value)


def distinct_hits(top_k: int) -> Generator[int, Sequence[Hit], list[Hit]]:
    """Collapse exact repeats: the same text in the same scope. The best-ranked one stays.

    A flow: it yields how many hits it needs, and is sent that many, or all there are. It asks again, for more, only
    where repeats took the places of others.

    Args:
        top_k: hits to return, at least 1.

    Example:
        >>> from types import SimpleNamespace
        >>> flow = distinct_hits(2)
        >>> next(flow)
        2
        >>> again, other = (SimpleNamespace(text=text, turn={"metadata": {}}) for text in ("again", "other"))
        >>> flow.send([again, again])
        8
        >>> try:
        ...     flow.send([again, again, other])
        ... except StopIteration as done:
        ...     [hit.text for hit in done.value]
        ['again', 'other']
    """
    asked = top_k
    while True:
        hits = yield asked
        distinct: dict[tuple[str, str], Hit] = {}
        for hit in hits:
            distinct.setdefault((hit.text, _scope(hit.turn)), hit)
        if len(distinct) >= top_k or len(hits) < asked:
            return list(distinct.values())[:top_k]
        asked *= 4


def _check(query: Any, top_k: Any, threshold: Any, wait: Any) -> None:
    check_text("query", query)
    check_whole("top_k", top_k)
    if threshold is not None:
        check_number("threshold", threshold)
    check_number("wait", wait, least=0.0)


def _scope(turn: Any) -> str:
    """Return the scope of a stored turn as text that is equal for equal scopes."""
    metadata = turn.get("metadata") if isinstance(turn, Mapping) else None
    ours = metadata.get("ffai") if isinstance(metadata, Mapping) else None
    scope = ours.get("scope") if isinstance(ours, Mapping) else None
    return json.dumps(scope, sort_keys=True, default=str)
