"""AI methods, semantic search and memory on records of your own database."""

from typing import TYPE_CHECKING

from ffai._lazy import lazy_exports

if TYPE_CHECKING:
    from ffai.objects.asker import Asker
    from ffai.objects.async_collection import AsyncCollection
    from ffai.objects.async_store import AsyncStore
    from ffai.objects.backfill import Backfill
    from ffai.objects.collection import Collection
    from ffai.objects.declaration import AI, Embedded, Sensitive
    from ffai.objects.hit import Hit
    from ffai.objects.learned import LearnedEntry
    from ffai.objects.learning import LearningMemory
    from ffai.objects.memory_entry import MemoryEntry
    from ffai.objects.progress import Progress
    from ffai.objects.record import AIRecord
    from ffai.objects.record_memory import RecordMemory
    from ffai.objects.reply_text import ReplyText
    from ffai.objects.settings import StoreSettings
    from ffai.objects.store import Store
    from ffai.objects.tables import Tables
    from ffai.objects.tools import ai_tool
    from ffai.objects.vector_index import VectorIndex

__all__ = [
    "AI",
    "AIRecord",
    "Asker",
    "AsyncCollection",
    "AsyncStore",
    "Backfill",
    "Collection",
    "Embedded",
    "Hit",
    "LearnedEntry",
    "LearningMemory",
    "MemoryEntry",
    "Progress",
    "RecordMemory",
    "ReplyText",
    "Sensitive",
    "Store",
    "StoreSettings",
    "Tables",
    "VectorIndex",
    "ai_tool",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "AI": "ffai.objects.declaration",
        "AIRecord": "ffai.objects.record",
        "Asker": "ffai.objects.asker",
        "AsyncCollection": "ffai.objects.async_collection",
        "AsyncStore": "ffai.objects.async_store",
        "Backfill": "ffai.objects.backfill",
        "Collection": "ffai.objects.collection",
        "Embedded": "ffai.objects.declaration",
        "Hit": "ffai.objects.hit",
        "LearnedEntry": "ffai.objects.learned",
        "LearningMemory": "ffai.objects.learning",
        "MemoryEntry": "ffai.objects.memory_entry",
        "Progress": "ffai.objects.progress",
        "RecordMemory": "ffai.objects.record_memory",
        "ReplyText": "ffai.objects.reply_text",
        "Sensitive": "ffai.objects.declaration",
        "Store": "ffai.objects.store",
        "StoreSettings": "ffai.objects.settings",
        "Tables": "ffai.objects.tables",
        "VectorIndex": "ffai.objects.vector_index",
        "ai_tool": "ffai.objects.tools",
    },
    needs=("sqlalchemy", "objects"),
)
