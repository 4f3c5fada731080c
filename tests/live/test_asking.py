"""A real small model is asked beside its conversation, and for objects. What it says is nonsense; its form is not."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from ffai.chat.flow import run
from ffai.chat.structured import structured
from ffai.clients import LiteLLMClient
from ffai.errors import StructuredReplyError
from ffai.rag.asker import Asker, ChatRequest
from ffai.rag.extraction import EXTRACTION_SYSTEM, Extracted, extraction
from tests.doubles.chat_server import ChatServer

pytestmark = pytest.mark.live

LINES = "[alice]: The launch moved to Friday.\n[bob]: The budget is 10k."


class City(BaseModel):
    name: str
    capital: bool


@pytest.fixture
def client(chat_server: ChatServer) -> LiteLLMClient:
    return LiteLLMClient(
        chat_server.model, api_base=chat_server.api_base, api_key=chat_server.api_key, temperature=0, max_tokens=24
    )


async def test_it_is_asked_beside_its_conversation_in_four_ways(client: LiteLLMClient) -> None:
    client.generate_response("What is the capital of France?")
    said = client.get_conversation_history()
    asker, request = Asker(client), ChatRequest("What is the capital of Italy?", "Answer in one short sentence.")

    replies = [asker.ask(request), await asker.aask(request)]
    stream, astream = asker.stream(request), asker.astream(request)
    texts = ["".join(stream), "".join([piece async for piece in astream])]

    assert len({*texts, *(reply.text for reply in replies)}) == 1
    usages = [reply.usage for reply in (*replies, stream.reply, astream.reply)]
    assert all(usage is not None and usage.total_tokens for usage in usages)
    assert len({usage.input_tokens for usage in usages if usage}) == 1
    assert client.get_conversation_history() == said


def test_an_object_is_read_from_what_it_says(client: LiteLLMClient) -> None:
    schema = {"type": "json_schema", "json_schema": {"name": "city", "schema": City.model_json_schema()}}

    def take(prompt: str) -> Any:
        return client.generate_response(prompt, response_format=schema, max_tokens=60).text

    assert isinstance(run(structured("What is the capital of France?", City), take), City)


def test_messages_are_noted_or_it_is_said_that_they_are_not(client: LiteLLMClient) -> None:
    asker = Asker(client)
    prompts = []

    def take(prompt: str) -> Any:
        prompts.append(prompt)
        return asker.ask(ChatRequest(prompt, EXTRACTION_SYSTEM)).text

    try:
        found = run(extraction(LINES), take)
    except StructuredReplyError as error:
        found = None
        reply = error.reply
    assert isinstance(found, Extracted) or (reply and len(prompts) == 2)
