"""What is told while answers and capsules are made."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ffai.core.redact import redact
from ffai.errors import ArgumentTypeError

logger = logging.getLogger(__name__)

COMPACTION_START = "ai:rag:compaction:start"
COMPACTION_END = "ai:rag:compaction:end"
COMPACTION_ERROR = "ai:rag:compaction:error"
RETRIEVE = "ai:rag:retrieve"
ANSWER = "ai:rag:answer"


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """Something that has happened.

    Examples:
        >>> StreamEvent(COMPACTION_END, {"source_count": 4}).label
        'ai:rag:compaction:end'
    """

    label: str
    """One of the labels of this module."""
    payload: Mapping[str, Any]


OnEvent = Callable[[StreamEvent], object]
"""Is called with each event, on the thread that does the work."""


def check_on_event(on_event: object) -> None:
    """Refuse what can't be called with an event.

    Raises:
        ArgumentTypeError: it is not callable, or a coroutine function, which nobody would await.

    Examples:
        >>> check_on_event(None), check_on_event(print)
        (None, None)
    """
    if on_event is None:
        return
    if not callable(on_event):
        raise ArgumentTypeError(f"on_event must be a callable or None, not {on_event!r}.")
    if inspect.iscoroutinefunction(on_event):
        raise ArgumentTypeError(f"on_event must be a plain function, not the coroutine function {on_event!r}.")


def emit(on_event: OnEvent | None, label: str, **payload: Any) -> None:
    """Tell an event.

    An exception that the callback raises is logged as a WARNING and ignored: what is told about goes on.

    Args:
        on_event: who is told; ``None`` for nobody.
        label: what happened; one of the labels of this module.
        **payload: the facts.

    Examples:
        >>> emit(print, ANSWER, question="Where?", answer="Here.")
        StreamEvent(label='ai:rag:answer', payload={'question': 'Where?', 'answer': 'Here.'})
        >>> emit(None, ANSWER)
    """
    if on_event is None:
        return
    try:
        on_event(StreamEvent(label, payload))
    except Exception as error:  # noqa: BLE001 - it is somebody else's, and must not break what it only watches
        told = redact(f"{type(error).__name__}: {error}")
        logger.warning("on_event failed for %s, which goes on: %s", label, told)
