"""Embedding the turns that wait, a batch at a time, and finding out which of them a failure is about."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from ffai.core.embeddings.protocol import AbsentEmbedder, Embedder
from ffai.core.memory.backoff import (
    LONGEST_WAIT,
    MAX_TRIES,
    asked_to_wait,
    concerns_every_text,
    is_transient,
    wait_before_next,
)
from ffai.core.memory.identity import is_redacted
from ffai.core.memory.journal_file import Arrival
from ffai.core.memory.steady_journal import SteadyJournal
from ffai.core.memory.turnstile import Turnstile
from ffai.core.memory.vectorise import SHORT, embed_piecewise, embed_turns
from ffai.core.redact import redact
from ffai.core.similarity import Vector

logger = logging.getLogger(__name__)

MAX_BATCH = 32
"""Turns that are embedded in one call at the most."""
LONG_CALL = 1.0
"""Seconds. A batch that took longer is followed by one of half its size, so that a query never waits much longer."""

Batch = Sequence[Arrival]
Size = Callable[[], int | None]
"""Tells how many numbers a vector must have; ``None`` while any will do."""
Keep = Callable[[Batch, Sequence[Sequence[Vector]]], bool]
"""Keeps the vectors of turns; ``False`` where they are not wanted any more."""


class Indexer:
    """Takes waiting turns from the journal and embeds them. Used by the worker's thread.

    Args:
        journal: where turns wait, and where failures are kept.
        queries: go before each call.
    """

    def __init__(self, journal: SteadyJournal, queries: Turnstile) -> None:
        self._journal, self._queries = journal, queries
        self._size = MAX_BATCH
        self._not_before = 0.0
        self._why = ""

    @property
    def paused(self) -> float | None:
        """Seconds for which a server asked to be left alone; ``None`` if none does."""
        left = self._not_before - time.monotonic()
        return left if left > 0.0 else None

    @property
    def problem(self) -> str | None:
        """Why no turn is embedded just now."""
        return None if self.paused is None else f"The embedder is not asked for {self.paused:.0f} s: {self._why}"

    def go_on(self) -> None:
        """Ask the embedder again, whatever its server said."""
        self._not_before = 0.0

    def index_some(self, embedder: Embedder, size: Size, keep: Keep) -> bool:
        """Embed one batch of the turns that are due.

        Args:
            embedder: makes the vectors.
            size: tells how many numbers each must have; ``None`` for any.
            keep: keeps what was embedded.

        Returns:
            Whether more turns are due.
        """
        if isinstance(embedder, AbsentEmbedder) or self.paused is not None or not (batch := self._due(self._size)):
            return False
        started = time.monotonic()
        self._index(batch, embedder, size, keep)
        self._fit(time.monotonic() - started)
        return self.paused is None and bool(self._due(1))

    def _due(self, limit: int) -> Batch:
        return self._journal.read(lambda journal: journal.due(limit))

    def _fit(self, seconds: float) -> None:
        if seconds > LONG_CALL:
            self._size = max(1, self._size // 2)
        elif seconds < LONG_CALL / 2:
            self._size = min(MAX_BATCH, self._size * 2)

    def _index(self, batch: Batch, embedder: Embedder, size: Size, keep: Keep) -> bool:
        """Embed turns in one call; tells whether they, and the next ones, are still wanted."""
        self._queries.let_pass()
        try:
            vectors = embed_turns(embedder, [arrival.new.text for arrival in batch], size())
        except BaseException as error:  # noqa: BLE001 - a library in Rust panics with one
            return self._after(error, batch, embedder, size, keep)
        return keep(batch, vectors)

    def _after(self, error: BaseException, batch: Batch, embedder: Embedder, size: Size, keep: Keep) -> bool:
        if not keep((), ()):
            return False
        if is_transient(error) and concerns_every_text(error):
            self._pause(error, batch)
        left = self._postpone(error, batch) if is_transient(error) else batch
        if not left or concerns_every_text(error):
            self._give_up(error, left)
            return True
        if len(left) == 1:
            return self._index_piecewise(error, left, embedder, size, keep)
        half = len(left) // 2
        return all(self._index(part, embedder, size, keep) for part in (left[:half], left[half:]))

    def _index_piecewise(self, error: BaseException, batch: Batch, embedder: Embedder, size: Size, keep: Keep) -> bool:
        """Embed a turn that is refused in pieces, if it can be its length that is refused."""
        text = batch[0].new.text
        if len(text) <= SHORT:
            self._give_up(error, batch)
            return True
        try:
            vectors = embed_piecewise(embedder, text, size())
        except BaseException as again:  # noqa: BLE001 - a library in Rust panics with one
            self._give_up(again, self._postpone(again, batch) if is_transient(again) else batch)
            return True
        return keep(batch, [vectors])

    def _pause(self, error: BaseException, batch: Batch) -> None:
        """Leave a server alone as long as it asks, with all turns: they wait, and lose no try by it."""
        wait = asked_to_wait(error)
        if wait is not None and wait < LONGEST_WAIT:  # longer ones are nonsense, or nothing to stand still for
            self._not_before, self._why = time.monotonic() + wait, _reason(error, batch)

    def _postpone(self, error: BaseException, batch: Batch) -> Batch:
        """Try turns again later; returns those that were tried often enough."""
        again = [arrival for arrival in batch if arrival.tries + 1 < MAX_TRIES]
        if again:
            wait = wait_before_next(error, tries=1 + max(arrival.tries for arrival in again))
            until, reason = time.time() + wait, _reason(error, batch)
            self._journal.write(lambda journal: journal.postpone(again, until, reason))
            logger.info("%d turns are tried again in %.1f s: %s", len(again), wait, reason)
        return [arrival for arrival in batch if arrival.tries + 1 >= MAX_TRIES]

    def _give_up(self, error: BaseException, batch: Batch) -> None:
        """Keep turns as failed."""
        if not batch:
            return
        reason = _reason(error, batch)
        self._journal.write(lambda journal: journal.fail(batch, reason))
        logger.warning(
            "%d turns could not be embedded and are kept as failed; memory.status() lists them and "
            "memory.retry_failed() tries again: %s", len(batch), reason,
        )  # fmt: skip


def _reason(error: BaseException, batch: Batch) -> str:
    """Say why turns were not embedded. It goes to the journal and to the log, and may quote a text, or a key."""
    reason = f"{type(error).__name__}: {error}"
    return redact(reason) if any(is_redacted(arrival.new) for arrival in batch) else reason
