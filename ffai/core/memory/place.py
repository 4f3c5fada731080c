"""Where a collection keeps its files."""

from __future__ import annotations

import contextlib
import glob
import os
import time
from dataclasses import dataclass
from pathlib import Path

from ffai.core.arguments import check_str
from ffai.errors import InvalidArgumentError


@dataclass(frozen=True, slots=True)
class Place:
    """The files of one collection.

    Examples:
        >>> Place(Path("data"), "turns").file.as_posix()
        'data/turns.parquet'
    """

    folder: Path
    name: str

    @classmethod
    def at(cls, folder: str | os.PathLike[str], name: str) -> Place:
        """Take a folder as it is written; a relative one stays where it is when the program changes its folder.

        Raises:
            ArgumentTypeError, InvalidArgumentError: the name is not the name of a file.
        """
        check_str("name", name)
        if name in ("", ".", "..") or any(character in name for character in "/\\\0"):
            raise InvalidArgumentError(f"name must be the name of a file, without a folder, not {name!r}.")
        return cls(Path(folder).expanduser().resolve(), name)

    @property
    def file(self) -> Path:
        """The memory file: every indexed turn, as of the last time it was written."""
        return self.folder / f"{self.name}.parquet"

    @property
    def backup(self) -> Path:
        """The memory file before that one."""
        return self.folder / f"{self.name}.bak"

    @property
    def journal(self) -> Path:
        """The journal: what the memory file does not hold yet."""
        return self.folder / f"{self.name}.sqlite3"

    @property
    def lock(self) -> Path:
        """Held by the process that writes the memory file; the system frees it when its holder dies."""
        return self.folder / f"{self.name}.lock"

    def files(self) -> dict[str, Path]:
        """Return the files by what they are."""
        return {"file": self.file, "backup": self.backup, "journal": self.journal}

    def set_aside(self) -> list[Path]:
        """Return the damaged files that were moved aside, without what SQLite keeps beside them."""
        found: list[Path] = []
        for path in (self.file, self.backup, self.journal):
            found += self.folder.glob(f"{glob.escape(path.name)}.damaged-*")
        return sorted(path for path in found if not path.name.endswith(("-wal", "-shm")))


def move_aside(path: Path) -> Path:
    """Move a damaged file out of the way, with what SQLite keeps beside it.

    Returns:
        Where it is now: a dated name that nothing else has.
    """
    stamp = f"{path.name}.damaged-{time.strftime('%Y%m%dT%H%M%S')}"
    names = (path.with_name(f"{stamp}-{number}" if number else stamp) for number in range(1000))
    aside = next(name for name in names if not name.exists())
    os.replace(path, aside)
    for suffix in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.replace(f"{path}{suffix}", f"{aside}{suffix}")
    return aside
