"""A process is killed between its commit and the embedding: the next one embeds what is missing, once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from ffai.objects import Store
from ffai.testing import FakeEmbedder
from tests.contract.objects.models import Article, Base

ROOT = Path(__file__).parents[3]
RECORDS = 12

COMMITS = f"""
import sys
from sqlalchemy import create_engine
from ffai.objects import Store
from ffai.testing import FakeEmbedder
from tests.contract.objects.models import Article, Base

class Blocked(FakeEmbedder):
    def embed(self, texts):
        print("embedding", flush=True)
        return super().embed(texts)

embedder = Blocked()
embedder.gate.clear()
store = Store(create_engine(sys.argv[1]), embedder=embedder)
store.create_all(Base)
with store.session() as session:
    session.add_all([Article(id=f"a{{n}}", title=f"text {{n}}") for n in range({RECORDS})])
store.drain()
"""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/app.db"
    return str(request.getfixturevalue("empty_postgres").render_as_string(hide_password=False))


def test_the_next_process_embeds_what_a_killed_one_has_left(url: str) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", COMMITS, url],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert child.stdout is not None
    assert child.stdout.readline().strip() == "embedding"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()

    embedder = FakeEmbedder()
    engine = create_engine(url)
    with Store(engine, embedder=embedder) as store:
        articles = store[Article]
        assert store.status(Article).spaces == {}
        assert store.drain(60).left == 0
        assert len(articles.semantic_search("text", limit=100, min_similarity=-1)) == RECORDS
        texts = [text for call in embedder.calls for text in call if text.startswith("text ") and "|" not in text]
        assert sorted(texts) == sorted(f"text {n}" for n in range(RECORDS))
    Base.metadata.drop_all(engine)
    engine.dispose()
