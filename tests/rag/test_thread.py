"""A thread is kept as it is, for one person in one conversation, and goes along with its questions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ffai import FFAI, Memory, MemoryScope
from ffai.errors import ArgumentTypeError, ClosedError, InvalidArgumentError
from ffai.rag import ChatMessage, Role, Thread
from ffai.testing import FakeClient, FakeEmbedder


@pytest.fixture
def ffai() -> FFAI:
    return FFAI(FakeClient(["Lisbon.", "In May."]), memory=Memory(FakeEmbedder()))


def contents(thread: Thread) -> list[str]:
    return [message.content for message in thread.history()]


def test_messages_are_added_one_by_one_or_together(ffai: FFAI) -> None:
    thread = ffai.rag.thread("trip", "alice")
    thread.add("user", "Where to?")
    thread.add_all([(Role.ASSISTANT, "Lisbon."), ("system", "Be brief."), ("tool", "")])
    assert thread.history() == [
        ChatMessage(Role.USER, "Where to?"),
        ChatMessage(Role.ASSISTANT, "Lisbon."),
        ChatMessage(Role.SYSTEM, "Be brief."),
        ChatMessage(Role.TOOL, ""),
    ]
    assert (thread.clear(), thread.history(), thread.clear()) == (4, [], 0)


async def test_awaited_it_is_the_same(ffai: FFAI) -> None:
    thread = ffai.rag.thread("trip", "alice")
    await thread.aadd("user", "Hello")
    await thread.aadd_all([("assistant", "Hi.")])
    await thread.aask("Where to?")
    assert [one.content for one in await thread.ahistory()] == ["Hello", "Hi.", "Where to?", "Lisbon."]
    assert await thread.aclear() == 4


async def test_it_answers_in_pieces_in_both_ways(ffai: FFAI) -> None:
    thread = ffai.rag.thread("trip", "alice")
    pieces, later = thread.stream_ask("Where to?"), thread.astream_ask("And when?")
    assert "".join(pieces) == "Lisbon."
    assert "".join([piece async for piece in later]) == "In May."
    assert contents(thread) == ["Where to?", "Lisbon.", "And when?", "In May."]
    assert "assistant: Lisbon." in later.result.prompt


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([("user", "a"), ("robot", "b")], InvalidArgumentError),
        ([("user", "a"), (3, "b")], ArgumentTypeError),
        ([("user", "a"), ("user", None)], ArgumentTypeError),
    ],
)
def test_all_are_added_or_none(ffai: FFAI, messages: list[Any], error: type[Exception]) -> None:
    thread = ffai.rag.thread("trip", "alice")
    with pytest.raises(error):
        thread.add_all(messages)
    with pytest.raises(error):
        asyncio.run(thread.aadd_all(messages))
    assert thread.history() == []


def test_the_oldest_go_when_there_are_too_many(ffai: FFAI) -> None:
    thread = ffai.rag.thread("trip", "alice", max_turns=1)
    for number in range(5):
        thread.add("user", str(number))
    assert contents(thread) == ["3", "4"]
    assert [one.content for one in thread.history(1)] == ["4"]
    for wrong in (-1, 1.5, "2"):
        with pytest.raises((InvalidArgumentError, ArgumentTypeError), match="limit"):
            thread.history(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="max_turns"):
        ffai.rag.thread("trip", max_turns=0)


def test_there_is_one_for_each_person_in_each_conversation(ffai: FFAI) -> None:
    rag = ffai.rag
    threads = [rag.thread("trip", "alice"), rag.thread("trip", "bob"), rag.thread("home", "alice"), rag.thread("trip")]
    threads += [rag.thread(actor_id="alice"), rag.thread()]
    for number, thread in enumerate(threads):
        thread.add("user", str(number))
    assert [contents(thread) for thread in threads] == [[str(number)] for number in range(6)]
    alice = ffai.scoped(MemoryScope.user("alice"))
    assert contents(alice.rag.thread("trip")) == ["0"]
    assert contents(rag.thread(scope=MemoryScope.user("bob", conversation="trip"))) == ["1"]


def test_ids_with_colons_do_not_meet(ffai: FFAI) -> None:
    ffai.rag.thread("a:b", "c").add("user", "one")
    assert ffai.rag.thread("a", "b:c").history() == []


def test_nobody_elses_question_sees_it_and_no_search_finds_it(ffai: FFAI) -> None:
    thread = ffai.rag.thread("trip", "alice")
    thread.add("user", "The password is xyzzy")
    assert ffai.rag.build_context("The password is xyzzy", min_score=-1.0) == ""
    assert "xyzzy" not in ffai.ask("The password", scope=thread.scope).prompt
    assert "xyzzy" in thread.ask("The password").prompt


def test_it_is_there_after_a_restart_and_takes_nothing_after_the_end(tmp_path: Path) -> None:
    config = {"memory": {"persist_dir": str(tmp_path)}}

    def opened() -> FFAI:
        client = FakeClient(["Lisbon."])
        return FFAI(client, memory=Memory(FakeEmbedder()), memory_persist=True, config=config)

    with opened() as ffai:
        thread = ffai.rag.thread("trip", "alice")
        thread.ask("Where to?")
    with pytest.raises(ClosedError):
        thread.add("user", "Hello?")
    with pytest.raises(ClosedError):
        thread.ask("Hello?")
    with opened() as ffai:
        assert contents(ffai.rag.thread("trip", "alice")) == ["Where to?", "Lisbon."]


async def test_many_questions_at_once_lose_no_message() -> None:
    ffai = FFAI(FakeClient(delay=0.01), memory=Memory(FakeEmbedder()))
    thread = ffai.rag.thread("trip", "alice", max_turns=50)
    await asyncio.gather(*(thread.aask(f"Question {number}?") for number in range(12)))
    said = thread.history()
    assert [one.role.value for one in said] == ["user", "assistant"] * 12
    assert {one.content for one in said[::2]} == {f"Question {number}?" for number in range(12)}
