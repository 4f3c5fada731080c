"""A sum over a Parquet file's data, kept in its own footer: Parquet as polars writes it would not show a changed byte.

The sum is written over a placeholder of the same length after the file is complete. It goes with the number of bytes it
covers: another program that writes the file anew and copies our metadata has other bytes, of which it says nothing.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import BinaryIO

NO_SUM = "0" * 24
"""Stands for a sum until the file is complete: 16 digits for the number of bytes, 8 for the sum."""
_TAIL = 8
"""Bytes behind the footer: its length, and the four letters that end the file."""
_PIECE = 1 << 20


def write_sum(path: Path) -> None:
    """Put the sum over a file's data where its footer has :data:`NO_SUM`; a file without it is left as it is.

    Raises:
        OSError: the file can't be read or written.

    Examples:
        >>> import tempfile
        >>> footer = b'sum: "' + NO_SUM.encode() + b'"'
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "a.parquet")
        ...     _ = path.write_bytes(b"data" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
        ...     write_sum(path)
        ...     path.read_bytes()[4:-8]
        b'sum: "0000000000000004adf3f363"'
    """
    with path.open("r+b") as file:
        length = _data_length(file)
        file.seek(length)
        place = file.read().rfind(b'"%b"' % NO_SUM.encode())
        if place >= 0:
            total = _sum(file, length)
            file.seek(length + place + 1)
            file.write(total.encode())


def is_as_written(file: BinaryIO, written: object) -> bool:
    """Tell whether a file's data are those that its sum was made of; yes where no sum covers them.

    Args:
        file: the whole Parquet file.
        written: the sum in its footer, if any.
    """
    length = _data_length(file)
    covers = isinstance(written, str) and written.startswith(f"{length:016x}")
    return not covers or written == _sum(file, length)


def _data_length(file: BinaryIO) -> int:
    """Return the number of bytes before the footer."""
    end = file.seek(0, 2)
    file.seek(max(0, end - _TAIL))
    return max(0, end - _TAIL - int.from_bytes(file.read(4), "little"))


def _sum(file: BinaryIO, length: int) -> str:
    file.seek(0)
    total, left = 0, length
    while left and (piece := file.read(min(left, _PIECE))):
        total, left = zlib.crc32(piece, total), left - len(piece)
    return f"{length:016x}{total:08x}"
