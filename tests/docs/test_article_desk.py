"""The example application does what its first lines say."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from sqlalchemy import create_engine

from ffai.chat.reply import ChatReply, ToolCall
from ffai.objects import Store
from ffai.testing import FakeClient, FakeEmbedder

APP = Path(__file__).parents[2] / "examples/article_desk.py"


@pytest.fixture(scope="module")
def app() -> ModuleType:
    spec = importlib.util.spec_from_file_location("article_desk", APP)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["article_desk"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def client() -> FakeClient:
    return FakeClient()


@pytest.fixture
def store(client: FakeClient, tmp_path: Path) -> Store:
    return Store(create_engine(f"sqlite:///{tmp_path}/desk.db"), llm=client, embedder=FakeEmbedder())


def test_articles_are_added_listed_and_found(app: ModuleType, store: Store) -> None:
    assert "Refunds" in app.main(["add", "Refunds", "A refund takes five days."], store)
    app.main(["add", "Shipping", "We ship on Mondays."], store)
    assert len(app.main(["list"], store).splitlines()) == 2
    assert "Shipping" in app.main(["search", "on which days do we ship"], store).splitlines()[0]
    assert "Refunds" not in app.main(["similar", "1"], store)


def test_a_model_judges_and_may_flag(app: ModuleType, store: Store, client: FakeClient) -> None:
    app.main(["add", "Win", "Buy now!"], store)
    client.add_replies(
        '{"result": true}', ChatReply(tool_calls=(ToolCall("c", "flag", '{"reason": "spam"}'),)), "Done."
    )
    assert app.main(["ask", "1", "spam"], store) == "yes"
    assert app.main(["sum", "1", "Flag it if it is spam"], store) == "Done."
    assert "flagged: spam" in app.main(["list"], store)


def test_notes_are_kept(app: ModuleType, store: Store) -> None:
    app.main(["add", "Refunds", "Five days."], store)
    app.main(["note", "1", "source", "the help centre"], store)
    assert "help centre" in app.main(["note", "1", "by", "Ada"], store)


def test_who_types_something_else_is_told_what_there_is(app: ModuleType, store: Store) -> None:
    assert "similar 1" in app.main(["serch", "refunds"], store)
    with pytest.raises(SystemExit, match="no article 7"):
        app.main(["ask", "7", "spam"], store)


@pytest.mark.live
def test_it_runs_with_the_local_model(hub_cache: Path, tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": "",
            "HOME": str(tmp_path),
            "PYTHONPATH": str(APP.parents[1]),
            "FASTEMBED_CACHE_PATH": str(hub_cache),
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, str(APP), *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100, check=False
        )

    assert run("add", "Refunds", "A refund takes five days.").returncode == 0
    run("add", "Parcels", "Parcels leave the house on Mondays.")
    assert "Refunds" in run("search", "when do I get my money back").stdout.splitlines()[0]
    refused = run("ask", "1", "about money")
    assert refused.returncode == 1
    assert "llm" in refused.stderr
    assert "Traceback" not in refused.stderr
