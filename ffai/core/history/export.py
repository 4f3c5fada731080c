"""Writing histories to Parquet files, and dropping turns from them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Set
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from ffai._atomic import replace_file
from ffai._fork import held_over_forks
from ffai.core.arguments import check_text
from ffai.core.history.exported import drop_turns
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

    Raises:
        InvalidArgumentError: the name is blank, or names a folder.

    Examples:
        >>> HistoryExporter(None, None).write({})
        False
    """

    def __init__(self, folder: str | Path | None, name: str | None) -> None:
        if name is not None and set(check_text("persist_name", name)) & set("/\\\0"):
            raise InvalidArgumentError(f"persist_name is the start of a file's name and can't hold {name!r}.")
        self._folder, self._name = None if folder is None else Path(folder), name

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
                replace_file(path, frame.write_parquet)
        except (OSError, PolarsError, StoreError):
            logger.exception("History not written to %r", str(path))
            return False
        return True
