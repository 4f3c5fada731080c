"""Memory: turns with their vectors, in memory and in files."""

from ffai._lazy import lazy_exports

__all__ = [
    "Entry",
    "FlushResult",
    "Memory",
    "MemoryStatus",
    "TurnHit",
    "TurnVectorStore",
    "cosine_similarity",
    "load_store",
    "persist_store",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "Entry": "ffai.core.memory.hit",
        "FlushResult": "ffai.core.memory.status",
        "Memory": "ffai.core.memory.memory",
        "MemoryStatus": "ffai.core.memory.status",
        "TurnHit": "ffai.core.memory.hit",
        "TurnVectorStore": "ffai.core.memory.turn_store",
        "cosine_similarity": "ffai.core.similarity",
        "load_store": "ffai.core.memory.parquet",
        "persist_store": "ffai.core.memory.parquet",
    },
)
