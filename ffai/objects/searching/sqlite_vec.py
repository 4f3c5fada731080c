"""sqlite-vec: SQLite compares the vectors, over the same bytes that this process would read."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Dialect, LargeBinary, Select, bindparam, case, func

from ffai._lazy import require
from ffai.errors import MissingExtraError
from ffai.objects.searching.backends import NativeBackend
from ffai.objects.searching.ranking import Condition, Ranked, Run, Wanted, in_database, stored_in
from ffai.objects.tables import Tables

_LOADED = "ffai_sqlite_vec"
"""The mark of a connection that has the extension; it lives as long as the connection does."""


class SqliteVec(NativeBackend):
    """Ranks with ``vec_distance_cosine`` over the ordinary table: a filter is applied before, and there is no copy.

    Not with a virtual table: that one finds its nearest first and filters them afterwards.

    Examples:
        >>> from sqlalchemy.dialects.sqlite import dialect
        >>> SqliteVec(dialect()).name
        'sqlite-vec'
    """

    wanted_name = "sqlite-vec"

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect)
        try:
            self._extension: str = require("sqlite_vec", extra="sqlite-vec").loadable_path()
        except MissingExtraError as error:
            self.give_up(error)

    def install(self, connection: Connection) -> None:
        """Load the extension into the connection."""
        self.prepared(connection)

    def prepared(self, connection: Connection) -> Tables:
        """Return the tables; the connection has the extension, once."""
        if self.name == self.wanted_name and _LOADED not in connection.info:
            self._load(connection)
        return super().prepared(connection)

    def rank_there(self, run: Run, wanted: Wanted) -> Ranked:
        """Rank in SQLite."""
        vectors = self.tables.vectors
        query = bindparam("ffai_query", wanted.query.astype("<f4").tobytes(), type_=LargeBinary)
        right_size = func.length(vectors.c.vector) == 4 * wanted.query.size  # of another size it raises, for all rows
        distance: ColumnElement[float] = case((right_size, func.vec_distance_cosine(vectors.c.vector, query)))

        def ask(condition: Condition | None, limit: int | None) -> Select[Any]:
            rows = wanted.rows(vectors, stored_in(vectors), distance.label("distance"))
            if condition is not None:
                rows = rows.where(condition(distance))
            return rows if limit is None else rows.order_by(distance.nulls_first()).limit(limit)

        return in_database(run, wanted, ask)

    def _load(self, connection: Connection) -> None:
        raw: Any = connection.connection.dbapi_connection
        try:
            if hasattr(raw, "run_async"):
                raw.run_async(self._aload_into)
            else:
                _load_into(raw, self._extension)
        except AttributeError:  # Pythons are built without it
            self.give_up("this Python's SQLite loads no extensions; pysqlite3-binary has one that does")
        except Exception as error:  # noqa: BLE001 - each driver has errors of its own, and none is to stop a search
            self.give_up(error)
        else:
            connection.info[_LOADED] = True

    async def _aload_into(self, raw: Any) -> None:
        await raw.enable_load_extension(True)
        try:
            await raw.load_extension(self._extension)
        finally:
            await raw.enable_load_extension(False)


def _load_into(raw: Any, extension: str) -> None:
    raw.enable_load_extension(True)
    try:
        raw.load_extension(extension)
    finally:
        raw.enable_load_extension(False)
