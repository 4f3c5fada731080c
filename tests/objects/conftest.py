"""What the tests of records share."""

from __future__ import annotations

from tests.objects.memory_places import clock, memory, place, postgres_url  # noqa: F401
