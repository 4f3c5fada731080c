"""Memory: turns with their vectors, in memory and in files."""

from typing import TYPE_CHECKING

from ffai._lazy import lazy_exports

if TYPE_CHECKING:
    from ffai.core.memory.hit import Entry, TurnHit
    from ffai.core.memory.importing import ImportResult
    from ffai.core.memory.memory import Memory
    from ffai.core.memory.parquet import load_store, persist_store
    from ffai.core.memory.status import FlushResult, ForgetResult, MemoryStatus
    from ffai.core.memory.turn_page import StoredTurn, TurnPage
    from ffai.core.memory.turn_store import TurnVectorStore
    from ffai.core.memory.verifying import VerifyReport
    from ffai.core.similarity import cosine_similarity

__all__ = [
    "Entry",
    "FlushResult",
    "ForgetResult",
    "ImportResult",
    "Memory",
    "MemoryStatus",
    "StoredTurn",
    "TurnHit",
    "TurnPage",
    "TurnVectorStore",
    "VerifyReport",
    "cosine_similarity",
    "load_store",
    "persist_store",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "Entry": "ffai.core.memory.hit",
        "FlushResult": "ffai.core.memory.status",
        "ForgetResult": "ffai.core.memory.status",
        "ImportResult": "ffai.core.memory.importing",
        "Memory": "ffai.core.memory.memory",
        "MemoryStatus": "ffai.core.memory.status",
        "StoredTurn": "ffai.core.memory.turn_page",
        "TurnHit": "ffai.core.memory.hit",
        "TurnPage": "ffai.core.memory.turn_page",
        "TurnVectorStore": "ffai.core.memory.turn_store",
        "VerifyReport": "ffai.core.memory.verifying",
        "cosine_similarity": "ffai.core.similarity",
        "load_store": "ffai.core.memory.parquet",
        "persist_store": "ffai.core.memory.parquet",
    },
)
