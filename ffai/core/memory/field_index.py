"""Which turns have which value, for the fields that a search asked for."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence, Set
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ffai.core.memory.column import Column
from ffai.core.memory.filters import ACTOR, AGENT, CONVERSATION, Condition, Field, Source, as_key, values_of

Entries = NDArray[np.intp]
T = TypeVar("T")

MOST_FIELDS = 64
"""Fields that an index keeps."""
_AT_ONCE = 1024
"""Turns that are read while nobody else can look: a few milliseconds."""
_MISSING = -1
_NOTHING: Mapping[str, Any] = {}


class FieldIndex:
    """For each field that was asked for of late, a number a turn that stands for its value. Others take no memory.

    Args:
        turns: the turn dicts of a table, as JSON.
        metadata: what the callers attached, as JSON.
        lock: one at a time reads turns that are not in the index yet.

    Examples:
        >>> index = FieldIndex(["{}"] * 3, ['{"page": 1}', "{}", '{"page": 1}'], threading.Lock())
        >>> index.entries([Condition(Field("metadata", "page"), {1})], 3).tolist()
        [0, 2]
    """

    def __init__(self, turns: Sequence[str], metadata: Sequence[str], lock: threading.Lock) -> None:
        self._texts: dict[Source, Sequence[str]] = {"scope": turns, "metadata": metadata}
        self._lock = lock
        self._columns: OrderedDict[Field, _Values] = OrderedDict()
        """The field that was asked for last is the last one."""

    def entries(self, conditions: Sequence[Condition], count: int) -> Entries:
        """Find the entries that fulfil all conditions.

        Args:
            conditions: at least one.
            count: looks among the first ``count`` entries; they must be whole.

        Returns:
            Their numbers, ascending.
        """
        return self._when_read(
            {condition.field for condition in conditions}, count, lambda: self._find(conditions, count)
        )

    def conversations_of(self, person: str, count: int, among: Entries | None) -> set[Hashable]:
        """Find the conversations in which a person took part: spoke, or answered as an agent.

        Args:
            person: an actor's id.
            count: looks among the first ``count`` entries.
            among: only these entries; ``None`` for all.

        Returns:
            Their ids, in the internal form.
        """

        def find() -> set[Hashable]:
            actors, agents, conversations = (self._columns[field] for field in (ACTOR, AGENT, CONVERSATION))
            spoken = np.union1d(actors.entries({person}, count), agents.entries({person}, count))
            return conversations.keys_of(spoken if among is None else np.intersect1d(spoken, among))

        return self._when_read({ACTOR, AGENT, CONVERSATION}, count, find)

    def _when_read(self, fields: Set[Field], count: int, find: Callable[[], T]) -> T:
        while True:
            with self._lock:
                if self._read_some(fields, count):
                    return find()

    def _find(self, conditions: Sequence[Condition], count: int) -> Entries:
        columns = [(self._columns[field], keys) for field, keys in conditions]
        columns.sort(key=lambda pair: pair[0].how_many(pair[1]))
        found: Entries | None = None
        for column, keys in columns:  # the rarest values first: their entries alone are looked at in the others
            found = column.entries(keys, count) if found is None else column.among(found, keys)
        assert found is not None  # noqa: S101 - there is a condition
        return found

    def _read_some(self, fields: Set[Field], count: int) -> bool:
        """Read some of the turns that are not in the index yet; tell whether all are."""
        behind: dict[tuple[Source, int], list[_Values]] = {}
        for field in fields:
            column = self._columns.setdefault(field, _Values(field.name))
            self._columns.move_to_end(field)
            if column.read < count:
                behind.setdefault((field.source, column.read), []).append(column)
        while len(self._columns) > max(MOST_FIELDS, len(fields)):
            self._columns.popitem(last=False)
        for (source, start), columns in behind.items():
            self._read(source, columns, start, min(count, start + _AT_ONCE))
        return not behind

    def _read(self, source: Source, columns: Sequence[_Values], start: int, end: int) -> None:
        marks = [f'"{column.name}"' for column in columns]
        found = []
        for text in self._texts[source][start:end]:
            # Where no character of a key is escaped, it stands in the text as it is. Keys of scopes never are.
            may_have = any(mark in text for mark in marks) or (source == "metadata" and "\\" in text)
            found.append(values_of(source, text) if may_have else _NOTHING)
        for column in columns:
            column.extend(found)

    def of(self, kept: Entries, turns: Sequence[str], metadata: Sequence[str]) -> FieldIndex:
        """Return the index of a table that has only some of the entries, in their order.

        Args:
            kept: their numbers here, ascending.
            turns: the turn dicts of that table.
            metadata: what the callers attached there.
        """
        index = FieldIndex(turns, metadata, self._lock)
        with self._lock:
            index._columns = OrderedDict((field, column.of(kept)) for field, column in self._columns.items())
        return index


class _Values:
    """The values of one field: each different one has a number."""

    def __init__(self, name: str) -> None:
        self.name, self.read = name, 0
        self._numbers = Column(np.int32)
        self._number_of: dict[Hashable, int] = {}
        self._keys: list[Hashable] = []
        self._counts: list[int] = []
        self._found: OrderedDict[frozenset[int], tuple[Entries, int]] = OrderedDict()
        """Entries with one of some values that were asked for, and how far was looked; the latest last."""

    def extend(self, turns: Sequence[Mapping[str, Any]]) -> None:
        """Add the fields of the next turns."""
        numbers = [self._number(values) for values in turns]
        self._numbers.extend(numbers)
        self.read += len(numbers)

    def _number(self, values: Mapping[str, Any]) -> int:
        if self.name not in values:
            return _MISSING
        key = as_key(values[self.name])
        number = self._number_of.setdefault(key, len(self._counts))
        if number == len(self._counts):
            self._counts.append(0)
            self._keys.append(key)
        self._counts[number] += 1
        return number

    def _numbers_of(self, keys: Set[Hashable]) -> list[int]:
        return [number for key in keys if (number := self._number_of.get(key)) is not None]

    def how_many(self, keys: Set[Hashable]) -> int:
        """Tell how many entries have one of some values, of all that were read."""
        return sum(self._counts[number] for number in self._numbers_of(keys))

    def entries(self, keys: Set[Hashable], count: int) -> Entries:
        """Return the entries that have one of some values, of the first ``count``."""
        numbers = frozenset(self._numbers_of(keys))
        if not numbers:
            return np.empty(0, dtype=np.intp)
        found, looked = self._found.pop(numbers, (np.empty(0, dtype=np.intp), 0))
        if looked < self.read:
            new = np.flatnonzero(self._have(numbers, self._numbers.view(self.read)[looked:])) + looked
            found = np.concatenate([found, new]) if new.size else found
        self._found[numbers] = found, self.read
        while sum(len(entries) for entries, _ in self._found.values()) > max(self.read, len(found)):
            self._found.popitem(last=False)
        return found if count == self.read else found[: np.searchsorted(found, count)]

    def _have(self, wanted: Collection[int], numbers: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Tell which numbers are one of some; -1 leads to the last place, which is none."""
        if len(wanted) == 1:
            return np.asarray(numbers == next(iter(wanted)))
        chosen: NDArray[np.bool_] = np.zeros(len(self._counts) + 1, dtype=np.bool_)
        chosen[list(wanted)] = True
        return chosen[numbers]

    def among(self, entries: Entries, keys: Set[Hashable]) -> Entries:
        """Return those of some entries that have one of some values."""
        numbers = self._numbers_of(keys)
        if not numbers:
            return entries[:0]
        if sum(self._counts[number] for number in numbers) == self.read:
            return entries
        chosen: Entries = entries[self._have(numbers, self._numbers.view(self.read)[entries])]
        return chosen

    def keys_of(self, entries: Entries) -> set[Hashable]:
        """Return the values that some entries have."""
        numbers = np.unique(self._numbers.view(self.read)[entries])
        return {self._keys[number] for number in numbers.tolist() if number != _MISSING}

    def of(self, kept: Entries) -> _Values:
        """Return the values of some entries; those that no entry has any more are let go."""
        fresh = _Values(self.name)
        numbers = self._numbers.view(self.read)[kept[: np.searchsorted(kept, self.read)]]
        counts = np.bincount(numbers[numbers != _MISSING], minlength=len(self._counts))
        renumbered = np.append(np.cumsum(counts > 0) - 1, _MISSING)  # the last one is where -1 leads
        fresh._numbers.extend(renumbered[numbers])
        fresh._counts = counts[counts > 0].tolist()
        fresh._number_of = {key: int(renumbered[old]) for key, old in self._number_of.items() if counts[old]}
        fresh._keys = list(fresh._number_of)
        fresh.read = len(numbers)
        return fresh
