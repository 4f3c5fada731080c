"""Thinking written once and sent twice: a flow asks for steps, a driver takes them, with threads or a loop.

A flow is a generator. It yields steps and receives their outcomes; it knows no thread, loop or network.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

S = TypeVar("S")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Failed:
    """The outcome of a step that raised."""

    error: Exception


Flow = Generator[S, Any, R]
"""A generator of steps; each ``yield`` gives what the step gave, or `Failed`."""


def run(flow: Flow[S, R], take: Callable[[S], Any]) -> R:
    """Drive a flow: take its steps one after the other and return its result.

    Args:
        flow: the steps.
        take: takes one step; what it raises reaches the flow as `Failed`.

    Examples:
        >>> def halve_until_one(n):
        ...     while n > 1:
        ...         n = yield n
        ...     return "done"
        >>> run(halve_until_one(8), lambda n: n // 2)
        'done'
    """
    outcome: Any = None
    try:
        step = next(flow)
        while True:
            try:
                outcome = take(step)
            except Exception as error:  # noqa: BLE001 - a client may raise anything; the flow decides what it means
                outcome = Failed(error)
            step = flow.send(outcome)
    except StopIteration as done:
        result: R = done.value
        return result
    finally:
        flow.close()  # also where it was cancelled: what the flow holds is given up now, not when it is collected


async def arun(flow: Flow[S, R], take: Callable[[S], Awaitable[Any]]) -> R:
    """Drive a flow whose steps are awaited; see `run`.

    Examples:
        >>> import asyncio
        >>> async def take(step): return step + 1
        >>> def once(): return (yield 1)
        >>> asyncio.run(arun(once(), take))
        2
    """
    outcome: Any = None
    try:
        step = next(flow)
        while True:
            try:
                outcome = await take(step)
            except Exception as error:  # noqa: BLE001 - as in `run`
                outcome = Failed(error)
            step = flow.send(outcome)
    except StopIteration as done:
        result: R = done.value
        return result
    finally:
        flow.close()  # also where it was cancelled: what the flow holds is given up now, not when it is collected
