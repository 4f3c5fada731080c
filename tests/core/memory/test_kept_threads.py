"""Conversations that are kept as they are: in order, each for its own scope, the oldest dropped first."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ffai import Memory, MemoryScope
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from tests.core.memory.conftest import Opener

ALICE, BOB = MemoryScope.user("alice"), MemoryScope.user("bob")
HER_TRIP = MemoryScope.user("alice", conversation="trip")


def said(memory: Memory, scope: Any = None, limit: int | None = None) -> list[str]:
    return [message.content for message in memory.threads.history(limit, scope=scope)]


def test_messages_stay_in_order_and_the_last_can_be_had(opened: Opener) -> None:
    memory = opened()
    memory.threads.add([("user", "one"), ("assistant", "two")])
    memory.threads.add([("user", "three")])
    assert said(memory) == ["one", "two", "three"]
    assert said(memory, limit=2) == ["two", "three"]
    assert said(memory, limit=0) == []
    assert [message.role for message in memory.threads.history()] == ["user", "assistant", "user"]


def test_the_oldest_are_dropped_and_the_numbers_go_on(opened: Opener) -> None:
    memory = opened()
    for number in range(5):
        memory.threads.add([("user", str(number))], keep=3)
    assert said(memory) == ["2", "3", "4"]
    assert [message.number for message in memory.threads.history()] == [3, 4, 5]
    memory.threads.add([("user", str(number)) for number in range(50)])
    assert len(said(memory)) == 40
    memory.threads.add([("user", "gone")], keep=0)
    assert said(memory) == []


def test_each_scope_has_a_thread_of_its_own(opened: Opener) -> None:
    memory = opened()
    for scope in (None, ALICE, HER_TRIP, BOB):
        memory.threads.add([("user", str(scope))], scope=scope)
    for scope in (None, ALICE, HER_TRIP, BOB):
        assert said(memory, scope) == [str(scope)]
    assert memory.threads.clear(scope=ALICE) == 1
    assert said(memory, ALICE) == []
    assert said(memory, HER_TRIP) == [str(HER_TRIP)]
    view = memory.scoped(BOB)
    view.threads.add([("assistant", "Hi Bob")])
    assert said(memory, BOB) == said(view) == [str(BOB), "Hi Bob"]
    assert view.threads.clear() == 2
    assert memory.threads.clear() == 1


@pytest.mark.parametrize("wrong", [["user"], [("user",)], ["ab"], [("user", 7)], [(None, "x")], [("a", "b", "c")], [7]])
def test_what_is_no_message_is_refused_with_all_others(opened: Opener, wrong: Any) -> None:
    memory = opened()
    with pytest.raises(ArgumentTypeError):
        memory.threads.add([("user", "fine"), *wrong])
    assert said(memory) == []


def test_limits_are_checked(opened: Opener) -> None:
    threads: Any = opened().threads
    for call in (lambda: threads.add([], keep=-1), lambda: threads.history(-1)):
        with pytest.raises(InvalidArgumentError):
            call()
    with pytest.raises(ArgumentTypeError):
        threads.add([], keep="many")


def test_a_thread_is_there_after_a_restart_and_never_searched(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.threads.add([("user", "Where is the key?")], scope=HER_TRIP)
    assert memory.search("key") == []
    assert memory.knowledge.search("key") == ()
    memory.close()
    assert said(opened(tmp_path), HER_TRIP) == ["Where is the key?"]


def test_messages_that_are_added_at_once_stay_together(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)

    def talk(who: str) -> None:
        for number in range(20):
            memory.threads.add([("user", f"{who}{number}"), ("assistant", f"{who}{number}")], keep=1000)

    with ThreadPoolExecutor(3) as threads:
        for done in [threads.submit(talk, who) for who in "abc"]:
            done.result()
    all_said = said(memory)
    assert all_said[::2] == all_said[1::2]
    assert len(all_said) == 120


def test_the_async_calls_do_the_same(opened: Opener) -> None:
    memory = opened()

    async def use() -> list[str]:
        await memory.threads.aadd([("user", "Hi")], scope=ALICE)
        told = [message.content for message in await memory.threads.ahistory(scope=ALICE)]
        assert await memory.threads.aclear(scope=ALICE) == 1
        return told

    assert asyncio.run(use()) == ["Hi"]
