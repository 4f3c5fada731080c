"""The main job with real models: a chat through a local OpenAI-compatible server, recalled by real embeddings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ffai import FFAI
from ffai.clients import AsyncLiteLLMClient, LiteLLMClient
from ffai.testing import FakeClient
from tests.doubles.chat_server import ChatServer

pytestmark = pytest.mark.live

SHORT = {"max_tokens": 24, "temperature": 0}

CONVERSATION = {
    "postgres_debug": ("Let's debug the Postgres migration", "The ALTER TABLE waits for a lock. End that transaction."),
    "schema_update": ("Now update the user table schema", "ALTER TABLE users ADD COLUMN last_login timestamptz;"),
    "travel": ("Where should we travel in spring?", "Lisbon is lovely in May: warm days and few crowds."),
    "baking": ("Why is my sourdough flat?", "Feed the starter twice a day, and let the dough double."),
    "french": ("How do I order a coffee in French?", "Bonjour, je voudrais un café, s'il vous plaît."),
}


def client(server: ChatServer, **options: Any) -> LiteLLMClient:
    return LiteLLMClient("openai/smollm2", api_base=server.api_base, api_key="local", **options)


def remembering(client: Any, model: Path, folder: Path) -> FFAI:
    return FFAI(
        client,
        memory_enabled=True,
        memory_persist=True,
        memory_embeddings=f"local/{model}",
        config={"memory": {"persist_dir": str(folder)}},
    )


def test_a_question_is_answered_counted_and_recalled_after_a_restart(
    chat_server: ChatServer, minilm_folder: Path, tmp_path: Path
) -> None:
    with remembering(client(chat_server), minilm_folder, tmp_path) as ffai:
        result = ffai.generate_response("What is the capital of France?", prompt_name="capital", **SHORT)
        ffai.generate_response("Why does bread rise?", prompt_name="bread", **SHORT)

    assert result.response
    assert result.usage is not None
    assert result.usage.total_tokens
    assert result.cost_usd is None
    with remembering(FakeClient(), minilm_folder, tmp_path) as ffai:
        hit = ffai.history.search("the biggest city of that country", top_k=1)[0]
        assert (hit.metadata, hit.response) == ({"prompt_name": "capital"}, result.response)


async def test_the_async_client_does_the_same(chat_server: ChatServer, minilm_folder: Path, tmp_path: Path) -> None:
    chat = AsyncLiteLLMClient("openai/smollm2", api_base=chat_server.api_base, api_key="local")
    async with remembering(chat, minilm_folder, tmp_path) as ffai:
        result = await ffai.agenerate_response("What is the capital of France?", **SHORT)
        pieces = [piece async for piece in ffai.astream_response("Why does bread rise?", **SHORT)]
        hits = await ffai.history.asearch("baking", top_k=1)

    assert result.usage is not None
    assert hits[0].response == "".join(pieces)


def test_a_stream_comes_in_pieces_and_is_recorded_with_its_usage(
    chat_server: ChatServer, minilm_folder: Path, tmp_path: Path
) -> None:
    with remembering(client(chat_server), minilm_folder, tmp_path) as ffai:
        pieces = list(ffai.stream_response("Why does bread rise?", **SHORT))
        hit = ffai.history.search("baking", top_k=1)[0]

    assert len(pieces) > 1
    assert hit.response == "".join(pieces)
    record = ffai.history.raw[-1]
    assert record["usage"].output_tokens > 1


def test_after_a_dead_server_the_next_one_answers(
    dead_server: str, chat_server: ChatServer, minilm_folder: Path, tmp_path: Path
) -> None:
    dead = LiteLLMClient(
        "openai/gone", api_base=dead_server, api_key="local", fallbacks=[client(chat_server)], retry={"max_attempts": 1}
    )
    with remembering(dead, minilm_folder, tmp_path) as ffai:
        result = ffai.generate_response("What is the capital of France?", **SHORT)

        assert result.response
        assert result.model == "smollm2"
        assert ffai.history.search("a European city", top_k=1)[0].turn_id == result.turn_id


def test_the_database_turns_are_found_first_among_five(minilm_folder: Path, tmp_path: Path) -> None:
    chat = FakeClient([reply for _, reply in CONVERSATION.values()])
    with remembering(chat, minilm_folder, tmp_path) as ffai:
        for name, (prompt, _) in CONVERSATION.items():
            ffai.generate_response(prompt, prompt_name=name)

        hits = ffai.history.search("the database issue from earlier", top_k=3)

    assert {hit.metadata["prompt_name"] for hit in hits[:2]} == {"postgres_debug", "schema_update"}
    assert hits[1].score > hits[2].score + 0.05
