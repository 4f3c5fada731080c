"""Each case of the contract in every world: classes of both kinds, engines that wait and that are awaited."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.objects import models
from tests.contract.objects.world import Awaited, Waiting, World

STYLES = {
    "declarative": (models.Article, models.Author),
    "sqlmodel": (models.ModelArticle, models.ModelAuthor),
}


@pytest.fixture(params=["waiting-declarative", "waiting-sqlmodel", "awaited-declarative", "awaited-sqlmodel"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """A SQLite file."""
    way, style = request.param.split("-")
    article, author = STYLES[style]
    if way == "waiting":
        world: World = Waiting(f"sqlite:///{tmp_path}/app.db", article, author)
    else:
        world = Awaited(f"sqlite+aiosqlite:///{tmp_path}/app.db", article, author)
    yield world
    world.close()
