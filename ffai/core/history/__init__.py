"""The four histories: raw, clean, ordered and permanent, and what writes them."""

from __future__ import annotations

from ffai.core.history.clean import clean_response
from ffai.core.history.interaction import Interaction
from ffai.core.history.ordered import OrderedPromptHistory
from ffai.core.history.permanent import PermanentHistory
from ffai.core.history.recorder import HistoryRecorder, TurnSink
from ffai.core.turn import turn_text

__all__ = [
    "HistoryRecorder",
    "Interaction",
    "OrderedPromptHistory",
    "PermanentHistory",
    "TurnSink",
    "clean_response",
    "turn_text",
]
