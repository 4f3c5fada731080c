"""What a record and a whole collection have in common: they remember."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from ffai.objects.memory.options import Choosing, Listing, Recalling, Remembering

if TYPE_CHECKING:
    from ffai.objects.memory.entry import MemoryEntry
    from ffai.objects.memory.learning import LearningMemory
    from ffai.objects.memory.record_memory import RecordMemory


@dataclass(frozen=True, slots=True)
class Owned:
    """The memories of one record, or of one class."""

    memory: RecordMemory
    whose: Any

    def learning(self, settings: dict[str, Any]) -> LearningMemory:
        """Return what was learned from outcomes."""
        from ffai.objects.memory.learning import LearningMemory

        return LearningMemory(self.memory, self.whose, **settings)


class HasMemory:
    """Values under a scope, which is a path, and a key. Those of another record or tenant are not seen."""

    def _owned(self) -> Owned:
        raise NotImplementedError

    def remember(self, scope: str, key: str, value: Any, **options: Unpack[Remembering]) -> None:
        """Keep a value; see `RecordMemory.remember`."""
        own = self._owned()
        own.memory.remember(own.whose, scope, key, value, **options)

    def recall(self, scope: str, key: str, **options: Unpack[Recalling]) -> Any:
        """Return a value, or ``default``; see `RecordMemory.recall`."""
        own = self._owned()
        return own.memory.recall(own.whose, scope, key, **options)

    def recall_entry(self, scope: str, key: str, **options: Unpack[Choosing]) -> MemoryEntry | None:
        """Return the whole memory that `recall` finds, with its confidence and times."""
        own = self._owned()
        return own.memory.recall_entry(own.whose, scope, key, **options)

    def recall_all(self, scope: str | None = None, **options: Unpack[Listing]) -> dict[str, Any]:
        """Return values by key; see `RecordMemory.recall_all`."""
        own = self._owned()
        return own.memory.recall_all(own.whose, scope, **options)

    def entries(self, scope: str | None = None, **options: Unpack[Listing]) -> list[MemoryEntry]:
        """Return every memory, all versions; see `RecordMemory.entries`."""
        own = self._owned()
        return own.memory.entries(own.whose, scope, **options)

    def forget(self, scope: str, key: str) -> int:
        """Delete a memory, all versions; return how many there were."""
        own = self._owned()
        return own.memory.forget(own.whose, scope, key)

    def forget_scope(self, scope: str, *, include_descendants: bool = False) -> int:
        """Delete what is in a scope, and below it where that is asked for; return how many there were."""
        own = self._owned()
        return own.memory.forget_scope(own.whose, scope, include_descendants=include_descendants)

    def learning(self, **settings: Any) -> LearningMemory:
        """Return what was learned here from success and failure; see `LearningMemory` for the settings."""
        return self._owned().learning(settings)


class AwaitedHasMemory:
    """The async twin of `HasMemory`."""

    def _owned(self) -> Owned:
        raise NotImplementedError

    async def remember(self, scope: str, key: str, value: Any, **options: Unpack[Remembering]) -> None:
        """Await :meth:`HasMemory.remember`."""
        own = self._owned()
        await own.memory.aremember(own.whose, scope, key, value, **options)

    async def recall(self, scope: str, key: str, **options: Unpack[Recalling]) -> Any:
        """Await :meth:`HasMemory.recall`."""
        own = self._owned()
        return await own.memory.arecall(own.whose, scope, key, **options)

    async def recall_entry(self, scope: str, key: str, **options: Unpack[Choosing]) -> MemoryEntry | None:
        """Await :meth:`HasMemory.recall_entry`."""
        own = self._owned()
        return await own.memory.arecall_entry(own.whose, scope, key, **options)

    async def recall_all(self, scope: str | None = None, **options: Unpack[Listing]) -> dict[str, Any]:
        """Await :meth:`HasMemory.recall_all`."""
        own = self._owned()
        return await own.memory.arecall_all(own.whose, scope, **options)

    async def entries(self, scope: str | None = None, **options: Unpack[Listing]) -> list[MemoryEntry]:
        """Await :meth:`HasMemory.entries`."""
        own = self._owned()
        return await own.memory.aentries(own.whose, scope, **options)

    async def forget(self, scope: str, key: str) -> int:
        """Await :meth:`HasMemory.forget`."""
        own = self._owned()
        return await own.memory.aforget(own.whose, scope, key)

    async def forget_scope(self, scope: str, *, include_descendants: bool = False) -> int:
        """Await :meth:`HasMemory.forget_scope`."""
        own = self._owned()
        return await own.memory.aforget_scope(own.whose, scope, include_descendants=include_descendants)

    def learning(self, **settings: Any) -> LearningMemory:
        """Return what was learned here; await its ``arecall`` and ``acapture``."""
        return self._owned().learning(settings)
