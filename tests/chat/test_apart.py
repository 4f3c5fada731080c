"""A client can be asked beside the conversation that it keeps."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest

from ffai.chat.apart import aapart, apart
from ffai.chat.calling import acall, astream, call, stream
from ffai.chat.reply import TokenUsage
from ffai.clients import FallbackClient
from ffai.errors import ArgumentTypeError, ClientError
from ffai.testing import FakeClient
from ffai.workflow.conversation import ClientConversation
from tests.doubles.talker import SAID, Talker


class AsyncTalker(Talker):
    async def generate_response(self, prompt: Any, **kwargs: Any) -> str:  # type: ignore[override]
        self.together += 1
        self.most_together = max(self.most_together, self.together)
        for _ in range(3):
            await asyncio.sleep(0)
        self.together -= 1
        self.heard.append(len(self.messages))
        self.messages.append({"role": "user", "content": prompt})
        return "yes"


class Forgetful:
    model = "forgetful"

    def generate_response(self, prompt: Any, **kwargs: Any) -> str:
        return "yes"


def test_a_client_that_can_be_cloned_is_and_its_usage_told() -> None:
    client = FakeClient(["yes"], usage=TokenUsage(3, 1, 4), cost_usd=0.25)
    client.set_conversation_history(SAID)

    with apart(client) as asked:
        reply = call(asked, "What is my name?")

    assert (reply.text, reply.usage, reply.cost_usd) == ("yes", TokenUsage(3, 1, 4), 0.25)
    assert client.get_conversation_history() == SAID


def test_a_client_that_keeps_nothing_is_asked_itself() -> None:
    client = Forgetful()
    with apart(client) as first, apart(client) as second:
        assert first is second is client


def test_a_conversation_is_put_away_and_back_as_it_was() -> None:
    client = Talker()
    with apart(client) as asked:
        reply = call(asked, "What is my name?")

    assert client.heard == [0]
    assert client.messages == SAID
    assert (reply.usage, reply.cost_usd) == (TokenUsage(16, 1, 17), 0.5)


def test_a_call_that_fails_leaves_the_conversation_as_it_was() -> None:
    client = Talker()
    with pytest.raises(ConnectionError), apart(client) as asked:
        call(asked, "fail")
    assert client.messages == SAID
    with apart(client) as asked:
        assert call(asked, "again").text == "yes"


def test_a_chain_with_a_member_that_cannot_be_cloned_is_asked_all_the_same() -> None:
    talker = Talker()
    client = FallbackClient([talker])
    with apart(client) as asked:
        call(asked, "What is my name?")
    assert client.get_conversation_history() == SAID
    client.generate_response("And now?")
    assert talker.heard == [0, 2]


def test_threads_ask_one_after_the_other() -> None:
    client = Talker()
    client.gate.clear()

    def ask() -> None:
        with apart(client) as asked:
            call(asked, "hello")

    threads = [threading.Thread(target=ask) for _ in range(5)]
    for thread in threads:
        thread.start()
    client.asked.wait(10)
    client.gate.set()
    for thread in threads:
        thread.join(10)

    assert client.heard == [0] * 5
    assert client.most_together == 1
    assert client.messages == SAID


async def test_tasks_ask_one_after_the_other_and_the_loop_goes_on() -> None:
    client = AsyncTalker()

    async def ask() -> str:
        async with aapart(client) as asked:
            return (await acall(asked, "hello")).text

    assert await asyncio.gather(*(ask() for _ in range(20))) == ["yes"] * 20
    assert client.heard == [0] * 20
    assert client.most_together == 1
    assert client.messages == SAID


async def test_threads_and_tasks_wait_for_each_other() -> None:
    client = Talker()
    client.gate.clear()

    def ask() -> None:
        with apart(client) as asked:
            call(asked, "from a thread")

    async def aask() -> None:
        async with aapart(client) as asked:
            await acall(asked, "from a task")

    first = asyncio.create_task(asyncio.to_thread(ask))
    await asyncio.to_thread(client.asked.wait, 10)
    others = asyncio.gather(aask(), aask(), asyncio.to_thread(ask))
    await asyncio.sleep(0)
    client.gate.set()
    await first
    await others

    assert client.heard == [0] * 4
    assert client.most_together == 1
    assert client.messages == SAID


async def test_a_task_that_is_cancelled_while_it_waits_lets_the_others_pass() -> None:
    client = AsyncTalker()

    async def aask() -> None:
        async with aapart(client) as asked:
            await acall(asked, "hello")

    async with aapart(client):
        waiting, patient = asyncio.create_task(aask()), asyncio.create_task(aask())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    await asyncio.wait_for(patient, 10)
    assert client.messages == SAID


async def test_a_task_that_is_cancelled_when_its_turn_comes_gives_it_on() -> None:
    client = AsyncTalker()

    async def aask() -> None:
        async with aapart(client) as asked:
            await acall(asked, "hello")

    async with aapart(client):
        unlucky, patient = asyncio.create_task(aask()), asyncio.create_task(aask())
        await asyncio.sleep(0)
    unlucky.cancel()
    await asyncio.wait_for(patient, 10)
    assert unlucky.cancelled() or unlucky.cancelling()
    assert client.messages == SAID


async def test_a_thread_that_outlives_its_cancelled_task_is_waited_for() -> None:
    client = Talker()
    client.gate.clear()

    async def aask() -> str:
        async with aapart(client) as asked:
            return (await acall(asked, "hello")).text

    task = asyncio.create_task(aask())
    await asyncio.to_thread(client.asked.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert client.messages == []  # its thread is still asking
    client.gate.set()
    assert await aask() == "yes"
    assert (client.heard, client.messages) == ([0, 0], SAID)


def test_who_would_wait_for_itself_is_told() -> None:
    client = Talker()
    with apart(client), pytest.raises(ClientError, match="clone"), apart(client):
        pass
    assert client.messages == SAID
    with apart(client):
        pass


async def test_a_task_that_would_wait_for_itself_is_told() -> None:
    client = Talker()
    async with aapart(client):
        with pytest.raises(ClientError, match="clone"):
            async with aapart(client):
                pass
        with pytest.raises(ClientError, match="clone"), apart(client):  # it would block the loop for ever
            pass


def test_a_stream_that_nobody_reads_on_gives_the_conversation_back() -> None:
    client = Talker()

    def pieces() -> Any:
        with apart(client) as asked:
            yield from stream(asked, "hello")

    running = pieces()
    next(running)
    del running
    gc.collect()
    assert client.messages == SAID


async def test_an_async_stream_leaves_the_conversation_alone() -> None:
    client = Talker()
    async with aapart(client) as asked:
        assert [piece async for piece in astream(asked, "hello")] == ["yes"]
    assert (client.heard, client.messages) == ([0], SAID)


@pytest.mark.parametrize("first_out", ["engine", "apart"])
@pytest.mark.parametrize("first_in", ["engine", "apart"])
def test_a_call_that_brings_its_own_history_meanwhile_loses_nothing_of_the_conversation(
    first_in: str, first_out: str
) -> None:
    client = Talker()
    conversation = ClientConversation(client)
    blocks = {"engine": conversation.put_away(True), "apart": apart(client)}
    second_in, last_out = ({"engine": "apart", "apart": "engine"}[name] for name in (first_in, first_out))
    for name in (first_in, second_in):
        blocks[name].__enter__()
    assert client.messages == []
    client.generate_response("hello")
    for name in (first_out, last_out):
        blocks[name].__exit__(None, None, None)
    assert client.messages[:2] == SAID


@pytest.mark.parametrize("missing", ["get_conversation_history", "set_conversation_history"])
def test_a_conversation_that_cannot_be_put_away_is_refused(missing: str) -> None:
    client = Talker()
    setattr(client, missing, None)
    with pytest.raises(ArgumentTypeError, match="Talker keeps a conversation that can't be put away"), apart(client):
        pass


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="generate_response"), apart("gpt-4o"):
        pass
