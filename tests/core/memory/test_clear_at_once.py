"""Forgetting everything."""

from __future__ import annotations

from pathlib import Path

from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener


def test_what_was_forgotten_stands_in_no_file(opened: Opener, tmp_path: Path) -> None:
    embedder = FakeEmbedder(fail=lambda text: ValueError("not this one") if "boat" in text else None)
    memory = opened(tmp_path, embedder)
    memory.remember("Where is the red key?", "SECRET, under the mat.")
    memory.remember("Where is the blue boat?", "SECRET, in the harbour.")
    memory.flush()
    memory.clear()
    assert not [path.name for path in tmp_path.iterdir() if b"SECRET" in path.read_bytes()]
    assert memory.count() == 0


def test_turns_that_come_after_it_are_kept(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("Where is the red key?", "Under the mat.")
    memory.clear()
    memory.remember("Where is the blue boat?", "In the harbour.")
    memory.close()
    again = opened(tmp_path)
    assert [hit.response for hit in again.search("where", top_k=9)] == ["In the harbour."]
