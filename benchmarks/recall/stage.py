"""One conversation, ready for every contestant: remembered once, embedded once."""

from __future__ import annotations

import json
import tempfile
from functools import cached_property
from pathlib import Path
from types import TracebackType

import numpy as np

from benchmarks.recall.exchanges import exchanges
from benchmarks.recall.locomo import Conversation
from benchmarks.vectors import VectorFiles
from ffai import FFAI, Memory, MemoryScope
from ffai.core.embeddings import Embedder
from ffai.testing import FakeClient


class Stage:
    """What contestants search.

    Args:
        conversation: what was said, and is asked.
        embedder: makes the vectors of all; it keeps those of texts that it has seen.
    """

    def __init__(self, conversation: Conversation, embedder: Embedder) -> None:
        self.conversation, self.embedder = conversation, embedder
        self.exchanges = exchanges(conversation)
        self.questions = [question.text for question in conversation.questions]
        self.ended_at = max(exchange.said_at for exchange in self.exchanges)
        """When the questions are asked, in seconds since the epoch: none has a time of its own."""
        self._folder = tempfile.TemporaryDirectory()

    @cached_property
    def ffai(self) -> FFAI:
        """A real one, whose memory has all exchanges."""
        ffai = FFAI(FakeClient(), memory=Memory(self.embedder))
        assert ffai.memory is not None
        names = self.conversation.speakers
        for exchange in self.exchanges:
            asker, answerer = exchange.asker, 1 - exchange.asker
            metadata = {"ids": list(exchange.ids)}
            ffai.memory.remember(
                exchange.prompt,
                exchange.response,
                scope=MemoryScope(
                    actor_id=f"u{asker + 1}",
                    actor_type="user",
                    actor_name=names[asker] if names else None,
                    conversation_id=f"{self.conversation.name} {exchange.session}",
                ),
                timestamp=exchange.said_at,
                metadata={**metadata, "assistant_name": names[answerer]} if names else metadata,
            )
        done = ffai.memory.flush()
        assert done.indexed == len(self.exchanges), done
        return ffai

    @cached_property
    def folder(self) -> Path:
        """A folder for other stores: ``rows.npy``, ``queries.npy`` and ``texts.json``."""
        folder = Path(self._folder.name)
        texts = {"rows": [exchange.text for exchange in self.exchanges], "queries": self.questions}
        for name, each in texts.items():
            np.save(folder / f"{name}.npy", np.array(self.embedder.embed(each), dtype=np.float32))
        (folder / "texts.json").write_text(json.dumps(texts), "utf-8")
        return folder

    @cached_property
    def files(self) -> VectorFiles:
        """The vectors in that folder."""
        return VectorFiles("all-MiniLM-L6-v2", self.folder / "rows.npy", self.folder / "queries.npy")

    def __enter__(self) -> Stage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if "ffai" in self.__dict__:
            self.ffai.close()
        self._folder.cleanup()
