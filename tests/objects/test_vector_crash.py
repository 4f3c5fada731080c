"""A process that is killed while a model embeds: the next one makes the vector, once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import func, select

from ffai.objects.vectors.work import Work
from ffai.objects.vectors.worker import Worker
from tests.objects.library import Library

ROOT = Path(__file__).parents[2]

COMMIT = """
import sys
from pathlib import Path
from ffai.objects.vectors.work import Work
from ffai.objects.vectors.worker import Worker
from ffai.testing import FakeEmbedder
from tests.objects.library import Library, Note

class Telling(FakeEmbedder):
    def embed(self, texts):
        print("embedding", flush=True)
        return super().embed(texts)

embedder = Telling(8)
embedder.gate.clear()
library = Library(Path(sys.argv[1]), embedder)
worker = Worker(library.engine, Work(library.kinds, library.tables))
library.add(*(Note(id=f"n{at}", text=f"hello {at}") for at in range(int(sys.argv[2]))))
worker.wake()
worker.drain()
"""


@pytest.mark.parametrize("many", [1, 3])
def test_records_committed_before_the_kill_have_their_vectors_after_the_next_start(tmp_path, many):
    child = subprocess.Popen(
        [sys.executable, "-c", COMMIT, str(tmp_path / "a.db"), str(many)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert child.stdout
    assert child.stdout.readline().strip() == "embedding"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    library = Library(tmp_path / "a.db")
    claimed = select(func.count()).where(library.tables.jobs.c.claimed_by.is_not(None))
    with library.engine.connect() as connection:
        assert connection.scalar(claimed) == many
    worker = Worker(library.engine, Work(library.kinds, library.tables))
    assert worker.drain(60) == (many, 0, 0)
    worker.close(30)
    assert library.vectors() == {("notes", f"n{at}", "text") for at in range(many)}
    assert sorted(library.texts) == [f"hello {at}" for at in range(many)]
