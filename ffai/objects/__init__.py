"""AI methods, semantic search and memory on records of your own database."""

from typing import TYPE_CHECKING

from ffai._lazy import lazy_exports

if TYPE_CHECKING:
    from ffai.objects.asking.asker import Asker
    from ffai.objects.asking.reply_text import ReplyText
    from ffai.objects.asking.tools import ai_tool
    from ffai.objects.async_collection import AsyncCollection
    from ffai.objects.async_store import AsyncStore
    from ffai.objects.collection import Collection
    from ffai.objects.declaration import AI, Embedded, Sensitive
    from ffai.objects.memory.entry import MemoryEntry
    from ffai.objects.memory.learned import LearnedEntry
    from ffai.objects.memory.learning import LearningMemory
    from ffai.objects.memory.record_memory import RecordMemory
    from ffai.objects.record import AIRecord
    from ffai.objects.searching.hit import Hit
    from ffai.objects.searching.vector_index import VectorIndex
    from ffai.objects.settings import StoreSettings
    from ffai.objects.store import Store
    from ffai.objects.tables import Tables
    from ffai.objects.vectors.backfill import Backfill
    from ffai.objects.vectors.progress import Progress

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
        "Asker": "ffai.objects.asking.asker",
        "AsyncCollection": "ffai.objects.async_collection",
        "AsyncStore": "ffai.objects.async_store",
        "Backfill": "ffai.objects.vectors.backfill",
        "Collection": "ffai.objects.collection",
        "Embedded": "ffai.objects.declaration",
        "Hit": "ffai.objects.searching.hit",
        "LearnedEntry": "ffai.objects.memory.learned",
        "LearningMemory": "ffai.objects.memory.learning",
        "MemoryEntry": "ffai.objects.memory.entry",
        "Progress": "ffai.objects.vectors.progress",
        "RecordMemory": "ffai.objects.memory.record_memory",
        "ReplyText": "ffai.objects.asking.reply_text",
        "Sensitive": "ffai.objects.declaration",
        "Store": "ffai.objects.store",
        "StoreSettings": "ffai.objects.settings",
        "Tables": "ffai.objects.tables",
        "VectorIndex": "ffai.objects.searching.vector_index",
        "ai_tool": "ffai.objects.asking.tools",
    },
    needs="sqlalchemy",
    extra="objects",
)
