"""Opening a store for whatever engine there is."""

from __future__ import annotations

from typing import Any, overload

from sqlalchemy import Engine
from sqlalchemy.ext.asyncio import AsyncEngine

from ffai.objects.async_store import AsyncStore
from ffai.objects.store import Store


@overload
def open_store(engine: Engine, **told: Any) -> Store: ...
@overload
def open_store(engine: AsyncEngine, **told: Any) -> AsyncStore: ...
def open_store(engine: Engine | AsyncEngine, **told: Any) -> Store | AsyncStore:
    """Return a `Store`, or an `AsyncStore` for an async engine; the arguments are those of `Store`.

    Examples:
        >>> from sqlalchemy import create_engine
        >>> type(open_store(create_engine("sqlite://"))).__name__
        'Store'
    """
    return AsyncStore(engine, **told) if isinstance(engine, AsyncEngine) else Store(engine, **told)
