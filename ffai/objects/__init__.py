"""AI methods, semantic search and memory on records of your own database."""

from typing import TYPE_CHECKING

from ffai._lazy import lazy_exports, require

if TYPE_CHECKING:
    from ffai.objects.asker import Asker, ReplyText
    from ffai.objects.async_collection import AsyncCollection
    from ffai.objects.async_store import AsyncStore
    from ffai.objects.backfill import Backfill, Progress
    from ffai.objects.collection import Collection
    from ffai.objects.declaration import AI, Embedded, Sensitive
    from ffai.objects.hit import Hit
    from ffai.objects.learning import LearningMemory
    from ffai.objects.memory_entry import LearnedEntry, MemoryEntry
    from ffai.objects.record import AIRecord
    from ffai.objects.record_memory import RecordMemory
    from ffai.objects.settings import StoreSettings
    from ffai.objects.store import Store
    from ffai.objects.tools import ai_tool
    from ffai.objects.vector_index import VectorIndex
