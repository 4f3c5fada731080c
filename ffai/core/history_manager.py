"""The read side of the histories, and of the memory behind them: what ``ffai.history`` is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from ffai.core.history.arguments import check_number, check_text, check_whole
from ffai.core.history.export import HistoryExporter
from ffai.core.history.frames import count_frame, counts_by_date, matching, response_lengths, to_frame
from ffai.core.history.interaction import Interaction
from ffai.core.history.ordered import OrderedPromptHistory
from ffai.core.history.permanent import PermanentHistory
from ffai.core.history.recall import Hit, distinct_hits
from ffai.core.history.recorder import HistoryRecorder
from ffai.core.history.records import Record, Records, raw_record

if TYPE_CHECKING:
    import polars as pl
