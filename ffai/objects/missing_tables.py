"""What to do about tables of the store that are not there: told with the database's own error."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from sqlalchemy.exc import OperationalError, ProgrammingError

_NAMES = ("ai_vectors", "ai_vector_jobs", "ai_memories")
_SAYS = ("no such table", "does not exist", "doesn't exist")


@contextlib.contextmanager
def told_of_missing_tables() -> Iterator[None]:
    """Add a note to an error of the database that is about a missing table of the store.

    Examples:
        >>> from sqlalchemy import create_engine, text
        >>> try:
        ...     with told_of_missing_tables(), create_engine("sqlite://").connect() as connection:
        ...         connection.execute(text("SELECT * FROM ai_vectors"))
        ... except OperationalError as error:
        ...     print(*error.__notes__)
        The tables of the store are missing. Make them with store.create_all(), or in a migration.
    """
    try:
        yield
    except (OperationalError, ProgrammingError) as error:
        said = str(error.orig)
        told = getattr(error, "__notes__", ())
        if not told and any(name in said for name in _NAMES) and any(words in said for words in _SAYS):
            error.add_note("The tables of the store are missing. Make them with store.create_all(), or in a migration.")
        raise
