"""Writing histories to Parquet files, and dropping turns from them."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping, Set
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffai._atomic import replace_file
from ffai._fork import held_over_forks
from ffai.core.arguments import check_text
from ffai.core.history.exported import drop_turns
from ffai.core.redact import Redactor, redact_strings
from ffai.errors import InvalidArgumentError, StoreError

if TYPE_CHECKING:
    import polars as pl

logger = logging.getLogger(__name__)

_writing = held_over_forks(threading.RLock())  # between a frame that is made and its file, in the whole process


class HistoryExporter:
    """Writes frames as ``<folder>/<name>_<history>.parquet``; an outage is logged, and told by the result.

    Args:
        folder: made when the first file is written; ``None`` writes nothing.
        name: how the names of the files start; ``None`` writes nothing.
        redact: replaces secrets in what is written; ``None`` writes everything as it is.

    Raises:
        InvalidArgumentError: the name is blank, or names a folder.

    Examples:
        >>> HistoryExporter(None, None).write({})
        False
    """

    def __init__(self, folder: str | Path | None, name: str | None, redact: Redactor | None = None) -> None:
        if name is not None and set(check_text("persist_name", name)) & set("/\\\0"):
            raise InvalidArgumentError(f"persist_name is the start of a file's name and can't hold {name!r}.")
        self._folder, self._name = None if folder is None else Path(folder), name
        self._redact = redact

    def kept_still(self) -> AbstractContextManager[object]:
        """Let no turn be dropped from files meanwhile: a frame that was made before would bring it back."""
        return _writing

    def forget(self, turn_ids: Set[str]) -> dict[str, int]:
        """Drop the rows of turns from every exported history in the folder, whatever its name and whoever wrote it.

        Returns:
            ``exported_rows``: rows dropped; ``export_files_left``: files that may still hold some, each logged. They
            can't be read or written, another process is writing them, or they don't say which turn a row is of.
        """
        if self._folder is None:
            return {"exported_rows": 0, "export_files_left": 0}
        with self.kept_still():
            rows, left = drop_turns(self._folder, turn_ids)
        for path, reason in left.items():
            logger.error("%r may still hold turns that were forgotten: %s", str(path), reason)
        return {"exported_rows": rows, "export_files_left": len(left)}

    def write(self, histories: Mapping[str, Callable[[], pl.DataFrame]]) -> bool:
        """Write each history that has rows, each file whole or not at all.

        Args:
            histories: a history's name to what makes its frame.

        Returns:
            Whether all are written.
        """
        if self._folder is None or self._name is None:
            logger.warning("Histories are not written: persist_dir is %r, persist_name %r", self._folder, self._name)
            return False
        start = self._folder / self._name
        files = {start.with_name(f"{start.name}_{key}.parquet"): make for key, make in histories.items()}
        with self.kept_still():
            written = [self._write(path, make) for path, make in files.items()]
        return all(written)

    def _write(self, path: Path, make: Callable[[], pl.DataFrame]) -> bool:
        from polars.exceptions import PolarsError

        try:
            frame = make()
            if not frame.is_empty():
                frame = frame if self._redact is None else redacted_frame(frame, self._redact)
                replace_file(path, frame.write_parquet)
        except (OSError, PolarsError, StoreError):
            logger.exception("History not written to %r", str(path))
            return False
        return True


_SAID = ("prompt", "response", "prompt_name", "history", "error", "resolved_prompt")
_JSON = ("usage", "tool_calls", "metadata")


def redacted_frame(frame: pl.DataFrame, redact: Redactor) -> pl.DataFrame:
    """Return a history's frame with its texts redacted; that of the caller stays as it is.

    Examples:
        >>> from ffai.core.history.frames import to_frame
        >>> from ffai.core.history.interaction import Interaction
        >>> call = Interaction(sequence_number=1, prompt="Ann?", response="Ann!", clean_response="Ann!", model="m",
        ...                    timestamp=0.0)
        >>> frame = to_frame([call], lambda call: call.response)
        >>> redacted_frame(frame, lambda text: text.replace("Ann", "[name]")).select("prompt", "response").row(0)
        ('[name]?', '[name]!')
    """
    import polars as pl

    def column(name: str, redacted: Callable[[Any], Any]) -> pl.Series:
        cells = (None if cell is None else redacted(cell) for cell in frame[name].to_list())
        return pl.Series(name, list(cells), dtype=frame.schema[name])

    texts = [column(name, lambda cell: redact_strings(cell, redact)) for name in _SAID]
    values = [column(name, lambda cell: _redacted_json(cell, redact)) for name in _JSON]
    return frame.with_columns(texts + values)


def _redacted_json(cell: str, redact: Redactor) -> str:
    try:
        return json.dumps(redact_strings(json.loads(cell), redact), ensure_ascii=False)
    except ValueError:  # not everything that is attached to a call has a form in JSON
        return redact(cell)
