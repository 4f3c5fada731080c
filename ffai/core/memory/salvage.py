"""Getting turns out of a damaged journal."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

from ffai.core.memory.journal_file import CONTENTS, Contents


def salvage(path: Path) -> Contents:
    """Read what can be read of a damaged journal: from its beginning up to the damage, and from its end."""
    return Contents(*(_sound([*_read_up_to_damage(path, q), *_read_up_to_damage(path, f"{q} DESC")]) for q in CONTENTS))


def _read_up_to_damage(path: Path, query: str) -> list[Any]:
    rows: list[Any] = []
    if not _has_times(path):
        query = query.replace("accepted_at", "0.0")
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")  # else a file that was cut is not read at all
        rows.extend(connection.execute(query))
    return rows


def _has_times(path: Path) -> bool:
    """Tell whether a journal notes when turns were accepted: those of the first version don't."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("SELECT accepted_at FROM arrivals LIMIT 0")
        return True
    return False


def _sound(rows: list[Any]) -> list[Any]:
    """Keep the rows that are whole, each once."""
    each = {row[:2]: row for row in rows}
    return [row for row in each.values() if _is_sound(row)]


def _is_sound(row: tuple[Any, ...]) -> bool:
    *_, last = row
    if not isinstance(row[0], str) or (isinstance(last, bytes) and len(last) % 8):
        return False
    try:
        return all(isinstance(json.loads(text), (dict, list)) for text in _json_in(row))
    except (TypeError, ValueError):
        return False


def _json_in(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the fields of a turn, or of knowledge, that hold JSON; a message of a thread has none."""
    return row[2:4] if len(row) >= 5 and isinstance(row[1], str) else ()
