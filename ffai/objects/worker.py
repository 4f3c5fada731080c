"""A thread that works on jobs beside the program, and work where it is called."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy.pool import AssertionPool, SingletonThreadPool, StaticPool

from ffai._fork import renew_after_fork
from ffai.chat.flow import Flow
from ffai.errors import ClosedError
from ffai.objects.steps import InDatabase, Place, Step, given
from ffai.objects.work import Round

if TYPE_CHECKING:
    from sqlalchemy import Engine

logger = logging.getLogger(__name__)

PAUSE_AFTER_ERROR = 0.2
"""Seconds; each later pause is twice as long."""
LONGEST_PAUSE = 10.0
IDLE = 10.0
"""Seconds without work after which the thread ends; the next wake starts another."""


class Drained(NamedTuple):
    """What was there at the end of a wait for vectors.

    Examples:
        >>> Drained(done=2, failed=0, left=0).left
        0
    """

    done: int
    """Jobs that were done meanwhile."""
    failed: int
    """Jobs that failed: given up, or waiting for their next try."""
    left: int
    """Jobs that were not tried: there was no time, or another process works on them."""


class Working:
    """The work of a store: one round at a time, as flows.

    Args:
        round_flow: makes the flow of one round; see `work_flow`.
        count_flow: makes the flow that counts jobs: how many wait, and how many of them failed.
    """

    def __init__(
        self, round_flow: Callable[[], Flow[Step, Round]], count_flow: Callable[[], Flow[Step, tuple[int, int]]]
    ) -> None:
        self.round_flow, self.count_flow = round_flow, count_flow
