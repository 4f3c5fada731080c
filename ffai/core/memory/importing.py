"""Bringing turns into a memory, from lines of JSON and from chat logs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from ffai.core.embeddings.protocol import embedder_name
from ffai.core.memory.chat_logs import NOBODYS_LOG, LogFormat, LogOwner, reader_for
from ffai.core.memory.collection import Collection
from ffai.core.memory.identity import NewTurn, is_content_id, redacted_turn
from ffai.core.memory.jsonl import Line
from ffai.core.redact import Redactor
from ffai.core.similarity import Vector
from ffai.errors import InvalidArgumentError, JournalError

BATCH = 256
"""Turns that are written in one transaction at the most: whoever adds a turn meanwhile waits for it."""
BATCH_BYTES = 4 * 1024 * 1024
"""Bytes of lines that are in memory at once, where no single line has more."""

Receiving = Callable[[], AbstractContextManager[Collection]]
"""Gives the collection turns go to at present, and holds it there."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What became of the turns of a file.

    Examples:
        >>> ImportResult(added=2, known=1, expired=0, waiting=2).added
        2
    """

    added: int
    """Turns that are new in the memory."""
    known: int
    """Turns that it has already, or that were in the file before; they stay as they are."""
    expired: int
    """Turns that are not wanted any more by what they say themselves; they are not taken in."""
    waiting: int
    """Of those added, how many wait to be embedded; a search finds the others at once."""


def import_turns(
    path: Path,
    receiving: Receiving,
    redact: Redactor | None = None,
    *,
    format: LogFormat | None = None,  # noqa: A002 - what import_jsonl calls it
    whose: LogOwner = NOBODYS_LOG,
) -> ImportResult:
    """Bring the turns of a file into a collection; each is there once, however often that is done.

    The whole file is read before the first turn is written, then a second time.

    Args:
        path: the file.
        receiving: gives the collection.
        redact: replaces secrets in what comes in.
        format: what kind of file it is; ``None`` looks.
        whose: whose log it is, if it is a chat log.

    Raises:
        ClosedError: the memory is closed.
        InvalidArgumentError: a line can't be used; names it. Nothing is taken in.
        JournalError: the journal can't be written just now. What was taken in stays, and is known the next time.
        OSError: the file can't be read.
    """
    with receiving() as collection:
        if not collection.heal():
            raise JournalError(f"Nothing was imported: {collection.journal.problem}")
    with path.open("rb") as file:
        if not file.seekable():
            raise InvalidArgumentError(f"{str(path)!r} can't be read twice; save what it gives to a file first.")
        read = reader_for(file, format, whose)
        for _ in read(file, path):
            pass
        file.seek(0)
        known, now = Known(), time.time()
        for batch in _batches(read(file, path)):
            with receiving() as collection, collection.changing:  # what is checked stays so until it is written
                collection.catch_up()
                known.look_at(collection)
                new = known.choose([_redacted(line, redact) for line in batch] if redact else batch, now)
                known.waiting += _write(new, collection)
                if not collection.journal.healthy:
                    raise JournalError(f"Only a part was imported; do it again later. {collection.journal.problem}")
    return ImportResult(known.added, known.known, known.expired, known.waiting)


def _redacted(line: Line, redact: Redactor) -> Line:
    """Redact a turn; its vectors stay where its text does."""
    turn = redacted_turn(line.turn, redact, keep_id=line.is_named)
    return replace(line, turn=turn, vectors=line.vectors if turn.text == line.turn.text else ())


def _batches(lines: Iterable[tuple[Line, int]]) -> Iterator[list[Line]]:
    batch: list[Line] = []
    size = 0
    for line, length in lines:
        batch.append(line)
        size += length
        if len(batch) == BATCH or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class Known:
    """Which turns a collection has, and what became of those that were looked at.

    Of turns without an id of their own only their number counts: where three have the same content, the third and no
    more are known if the collection has three.
    """

    def __init__(self) -> None:
        self.added = self.known = self.expired = self.waiting = 0
        self._ids: set[str] = set()
        self._there: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()
        self._store_seen: tuple[object, int] = None, 0
        self._change = 0

    def look_at(self, collection: Collection) -> None:
        """Note the turns that have come since the last look."""
        table, count = collection.store._snapshot()
        before = self._store_seen[1] if self._store_seen[0] is table else 0
        self._note(table.ids[before:count])
        self._store_seen = table, count
        change, waiting = collection.journal.read(
            lambda journal: (journal.last_change(), journal.unembedded_ids(since=self._change))
        )
        self._note(waiting)
        self._change = change

    def _note(self, turn_ids: Sequence[str] | set[str]) -> None:
        for turn_id in turn_ids:
            if turn_id not in self._ids:
                self._ids.add(turn_id)
                if is_content_id(turn_id):
                    self._there[_original(turn_id)] += 1

    def choose(self, batch: Sequence[Line], now: float) -> list[Line]:
        """Return the turns that are new and not expired, each with the id it gets."""
        chosen: list[Line] = []
        for line in batch:
            if line.expires_at is not None and line.expires_at <= now:
                self.expired += 1
            elif self._has(line):
                self.known += 1
            else:
                turn = line.turn if line.is_named else line.turn._replace(turn_id=self._free(line.turn.turn_id))
                self._note([turn.turn_id])
                self.added += 1
                chosen.append(replace(line, turn=turn))
        return chosen

    def _has(self, line: Line) -> bool:
        turn_id = line.turn.turn_id
        if line.is_named:
            return turn_id in self._ids
        self._seen[turn_id] += 1
        return self._seen[turn_id] <= self._there[turn_id]

    def _free(self, original: str) -> str:
        turn_id, copy = original, 1
        while turn_id in self._ids:
            copy += 1
            turn_id = f"{original}-{copy}"
        return turn_id


def _original(turn_id: str) -> str:
    return turn_id.partition("-")[0]


def _write(lines: Sequence[Line], collection: Collection) -> int:
    """Keep turns: with their vectors those whose vectors are of the collection's model; returns how many wait."""
    name, sizes = embedder_name(collection.embedder), _sizes(collection)
    embedded: list[tuple[NewTurn, Sequence[Vector]]] = []
    waiting: list[NewTurn] = []
    for line in lines:
        if line.vectors and line.model == name:
            size = line.vectors[0].size
            if not sizes:  # only a vector of the model itself tells for sure
                sizes, collection.model_is_unknown = {size}, True
            if sizes == {size}:
                embedded.append((line.turn, line.vectors))
                continue
        waiting.append(line.turn)
    collection.accept_embedded(embedded)
    collection.accept_all(waiting)
    return len(waiting)


def _sizes(collection: Collection) -> set[int]:
    """Return how many numbers a vector has: as the stored ones, and as the embedder says."""
    said = getattr(collection.embedder, "dimensions", None)
    return {size for size in (collection.store.dimensions, said) if isinstance(size, int)}
