"""Work that is written once, as a flow, and done with threads or awaited."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ffai.chat.flow import Failed, Flow, arun, run
from ffai.core.memory.halving import told
from ffai.errors import ArgumentTypeError, InvalidArgumentError

logger = logging.getLogger(__name__)

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Step:
    """One piece of work, in both ways.

    Examples:
        >>> import asyncio
        >>> async def later(): return 2
        >>> def flow(): return 1 + taken((yield Step(lambda: 2, later)))
        >>> do(flow()), asyncio.run(ado(flow()))
        (3, 3)
    """

    now: Callable[[], Any]
    """Does it, and waits."""
    later: Callable[[], Awaitable[Any]]
    """Does it, awaited."""


def do(flow: Flow[Step, R]) -> R:
    """Take the steps of a flow, and return its result."""
    return run(flow, lambda step: step.now())


async def ado(flow: Flow[Step, R]) -> R:
    """Await the steps of a flow, and return its result."""
    return await arun(flow, lambda step: step.later())


def taken(outcome: Any) -> Any:
    """Return the outcome of a step; raise, where it is an error."""
    if isinstance(outcome, Failed):
        raise outcome.error
    return outcome


def is_the_callers(error: Exception) -> bool:
    """Tell whether an error is about wrong arguments, and no outage.

    Examples:
        >>> is_the_callers(InvalidArgumentError("limit")), is_the_callers(OSError("disk"))
        (True, False)
    """
    return isinstance(error, (InvalidArgumentError, ArgumentTypeError))


def or_nothing(what: str, flow: Flow[Step, str]) -> Flow[Step, str]:
    """Give a text; ``""`` where an outage keeps it from being made, which is logged. Wrong arguments are raised.

    Args:
        what: what the text is, for the log.
        flow: makes it.
    """
    try:
        return (yield from flow)
    except Exception as error:
        if is_the_callers(error):
            raise
        logger.warning("There is no %s just now: %s", what, told(error))
        return ""
