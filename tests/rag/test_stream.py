"""An answer in pieces is recorded when its last piece has come, and not before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ffai import FFAI, Memory
from ffai.chat.reply import TokenUsage
from ffai.errors import ClientError
from ffai.rag import StreamEvent, Thread
from ffai.testing import FakeClient, FakeEmbedder
from tests.doubles.talker import SAID, Talker

QUESTION = "Where is the key?"


class Stream:
    """An answer in pieces, read in one of the two ways."""

    def __init__(self, ffai: FFAI, is_async: bool, **options: Any) -> None:
        self._is_async = is_async
        self.pieces: list[str] = []
        self.answer: Any = (ffai.rag.astream_ask if is_async else ffai.rag.stream_ask)(QUESTION, **options)

    async def next(self) -> None:
        self.pieces.append(await anext(self.answer) if self._is_async else next(self.answer))

    async def rest(self) -> None:
        if self._is_async:
            self.pieces += [piece async for piece in self.answer]
        else:
            self.pieces += list(self.answer)

    async def close(self) -> None:
        if self._is_async:
            await self.answer.aclose()
        else:
            self.answer.close()


@pytest.fixture(params=[False, True], ids=["waiting", "awaited"])
def is_async(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def knowing(*replies: Any, client: Any = None) -> tuple[FFAI, Thread]:
    chat = client or FakeClient(replies, usage=TokenUsage(9, 3, 12), cost_usd=0.5)
    ffai = FFAI(chat, memory=Memory(FakeEmbedder()))
    assert ffai.memory is not None
    ffai.memory.remember("The key is under the mat", "Noted.", scope={"actor_id": "alice", "actor_type": "user"})
    ffai.memory.flush()
    return ffai, ffai.rag.thread(actor_id="alice")


def recorded(ffai: FFAI, thread: Thread) -> tuple[int, int]:
    return len(ffai.history.raw), len(thread.history())


async def test_the_result_is_there_after_the_last_piece(is_async: bool) -> None:
    ffai, thread = knowing("It is under the mat.", "It is under the mat.")
    events: list[StreamEvent] = []
    stream = Stream(ffai, is_async, thread=thread, remember=True, on_event=events.append)
    await stream.next()
    with pytest.raises(ClientError, match="not complete"):
        _ = stream.answer.result
    assert recorded(ffai, thread) == (0, 0)
    assert [event.label for event in events] == ["ai:rag:retrieve"]
    await stream.rest()
    result = stream.answer.result
    assert len(stream.pieces) > 2
    assert "".join(stream.pieces) == result.answer == "It is under the mat."
    assert (result.usage, result.cost_usd, result.grounded) == (TokenUsage(9, 3, 12), 0.5, True)
    assert recorded(ffai, thread) == (1, 2)
    assert ffai.history.raw[-1]["turn_id"] == result.turn_id
    assert [event.label for event in events] == ["ai:rag:retrieve", "ai:rag:answer"]
    whole = ffai.ask(QUESTION, scope=thread.scope)
    assert [source.id for source in whole.sources][-1] == result.sources[0].id


@pytest.mark.parametrize("read", [0, 1])
async def test_a_stream_that_is_left_records_nothing(is_async: bool, read: int) -> None:
    ffai, thread = knowing("It is under the mat.")
    stream = Stream(ffai, is_async, thread=thread, remember=True)
    for _ in range(read):
        await stream.next()
    await stream.close()
    await stream.rest()
    assert recorded(ffai, thread) == (0, 0)
    with pytest.raises(ClientError, match="not complete"):
        _ = stream.answer.result


async def test_an_error_midway_records_nothing(is_async: bool) -> None:
    def breaking() -> Iterator[str]:
        yield "It is "
        raise ConnectionError("cut off")

    ffai, thread = knowing(breaking())
    stream = Stream(ffai, is_async, thread=thread, remember=True)
    with pytest.raises(ConnectionError, match="cut off"):
        await stream.rest()
    assert recorded(ffai, thread) == (0, 0)
    with pytest.raises(ClientError):
        _ = stream.answer.result


async def test_a_client_that_cannot_be_cloned_hears_nothing_of_it(is_async: bool) -> None:
    talker = Talker()
    ffai, _ = knowing(client=talker)
    stream = Stream(ffai, is_async)
    await stream.rest()
    assert (stream.answer.result.answer, talker.heard, talker.messages) == ("yes", [0], SAID)
    left = Stream(ffai, is_async)
    await left.next()
    await left.close()
    assert talker.messages == SAID


async def test_a_memory_that_is_down_is_raised_before_the_model_is_asked(is_async: bool) -> None:
    embedder = FakeEmbedder()
    ffai = FFAI(FakeClient(), memory=Memory(embedder))
    assert ffai.memory is not None
    ffai.memory.remember("The key is under the mat", "Noted.")
    ffai.memory.flush()
    embedder.fail = lambda text: RuntimeError("no embedding just now")
    with pytest.raises(RuntimeError, match="no embedding"):
        await Stream(ffai, is_async).rest()
    assert isinstance(ffai.client, FakeClient)
    assert not ffai.client.calls
    stream = Stream(ffai, is_async, on_context_error="ignore")
    await stream.rest()
    assert "no embedding" in stream.answer.result.context_error


async def test_a_wrong_option_is_named_when_the_stream_is_made(is_async: bool) -> None:
    ffai, _ = knowing()
    with pytest.raises(TypeError, match="limt"):
        Stream(ffai, is_async, limt=3)
