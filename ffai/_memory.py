"""The memory of a wrapper: made as the settings say, or given by the caller and brought into line with them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from ffai.errors import ArgumentTypeError

if TYPE_CHECKING:
    from ffai.config import MemorySettings
    from ffai.core.memory.memory import Memory

logger = logging.getLogger(__name__)


def given_memory(memory: Memory, settings: MemorySettings, persist: bool) -> Memory:
    """Use a memory that the caller made; it is tied to files only where the caller says so."""
    for needed in ("remember", "search", "flush", "when_forgotten"):
        if not callable(getattr(memory, needed, None)):
            raise ArgumentTypeError(f"memory must be a Memory; {memory!r} has no method {needed}.")
    if settings.redact:
        _let_redact(memory)
    if settings.ttl is not None and getattr(memory, "ttl", settings.ttl) is None:
        memory.ttl = settings.ttl
    if persist:
        _persist(memory, settings)
    return memory


def _let_redact(memory: Memory) -> None:
    """Let a memory that the caller made redact, unless it does already, in its own way."""
    from ffai.core.redact import redactor_of

    if not hasattr(memory, "redact"):
        logger.warning("memory.redact is true, and %r can't redact: secrets reach it as they are.", memory)
    elif memory.redact is None:
        memory.redact = redactor_of(True)


def made_memory(settings: MemorySettings) -> Memory | None:
    """Make the memory that the settings ask for; ``None`` where it is off, or nothing can embed."""
    if not settings.enabled:
        return None
    from ffai.core.embeddings.protocol import AbsentEmbedder
    from ffai.core.embeddings.resolve import resolve_embedder
    from ffai.core.memory.memory import Memory
    from ffai.core.memory.opening import remembered_model
    from ffai.core.memory.place import Place

    place = Place.at(settings.persist_dir, settings.collection_name)
    remembered = remembered_model(place) if settings.persist else None
    named = (settings.embedding_model or "").strip()
    resolution = resolve_embedder(named, allow_api=settings.allow_api, remembered=remembered)
    if resolution.embedder is not None:
        memory = Memory(resolution.embedder, redact=settings.redact, ttl=settings.ttl)
    elif remembered is not None and not named:
        absent = AbsentEmbedder(remembered, f"The embedding model can't be used: {resolution.reason}")
        memory = Memory(absent, redact=settings.redact, ttl=settings.ttl)
    else:
        return None
    if settings.persist:
        _persist(memory, settings)
    return memory


def _persist(memory: Memory, settings: MemorySettings) -> None:
    memory.persist_to(
        settings.persist_dir,
        settings.collection_name,
        durability=settings.durability,
        on_model_change=settings.on_model_change,
    )
    logger.info("Memory is kept in %s", Path(settings.persist_dir).resolve())
