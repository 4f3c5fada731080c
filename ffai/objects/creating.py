"""Making the tables: those beside the user's own, and the user's own where that is asked for."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, MetaData

from ffai.errors import ArgumentTypeError
from ffai.objects.searching.backends import Backend


def metadata_of(base: Any) -> MetaData:
    """Return the tables of a base class, of a mapped class, or a collection of tables.

    Raises:
        ArgumentTypeError: it has none.
    """
    found = base if isinstance(base, MetaData) else getattr(base, "metadata", None)
    if not isinstance(found, MetaData):
        raise ArgumentTypeError(f"{base!r:.80} has no tables: give a declarative base, a mapped class or a MetaData.")
    return found


def create_all(connection: Connection, backend: Backend, tables: list[MetaData]) -> None:
    """Make the tables that are missing, the user's own first."""
    for metadata in tables:
        metadata.create_all(connection)
    backend.create_tables(connection)
