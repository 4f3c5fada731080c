"""Listing a memory: every turn once, oldest first, whatever comes and goes between two pages."""

from __future__ import annotations

import base64
import dataclasses
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ffai import Memory, MemoryScope
from ffai.core.embeddings.protocol import AbsentEmbedder
from ffai.core.memory import StoredTurn, TurnPage
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener

ALICE = MemoryScope(actor_id="alice", actor_type="user")


def pages(memory: Memory, limit: int, **wanted: Any) -> list[TurnPage]:
    found = [memory.list(limit=limit, **wanted)]
    while found[-1].cursor is not None:
        found.append(memory.list(limit=limit, cursor=found[-1].cursor, **wanted))
    return found


def prompts(page: TurnPage) -> list[str | None]:
    return [turn.prompt for turn in page.turns]


def test_an_empty_memory_has_one_empty_page(opened: Opener) -> None:
    assert opened().list() == TurnPage((), None)


def test_a_listed_turn_tells_all_that_is_known(opened: Opener) -> None:
    memory = opened()
    turn_id = memory.remember("How?", "Thus.", scope=ALICE, timestamp=12.5, metadata={"tags": ["a"]})
    memory.flush()
    (turn,) = memory.list().turns
    assert (turn.turn_id, turn.text, turn.prompt, turn.response) == (turn_id, "How?\nThus.", "How?", "Thus.")
    assert (turn.scope, turn.timestamp, turn.expires_at, turn.state) == (ALICE.validate("add"), 12.5, None, "indexed")
    assert (turn.metadata, turn.turn["role"]) == ({"tags": ["a"]}, "assistant")
    with pytest.raises(dataclasses.FrozenInstanceError):
        turn.text = "changed"  # type: ignore[misc]
    turn.metadata["tags"].append("b")
    turn.turn["role"] = "changed"
    assert memory.list().turns[0].metadata == {"tags": ["a"]}
    assert memory.search("How?")[0].turn["role"] == "assistant"


@pytest.mark.parametrize("limit", [1, 2, 7, 19, 20, 21, 1000])
def test_pages_together_are_everything_in_order(opened: Opener, limit: int) -> None:
    memory = opened()
    times = [5, 1, 3, 3, 3, 9, 3, 0, 5, 7, -4, 3.5, 3, 8, 2, 2, 2, 6, 4, 3]
    ids = [memory.remember(f"turn {place}", "Yes.", timestamp=at) for place, at in enumerate(times)]
    memory.flush()
    found = pages(memory, limit)
    assert all(len(page.turns) == limit for page in found[:-1])
    assert [turn.turn_id for page in found for turn in page.turns] == [
        turn_id for _, turn_id in sorted(zip(map(float, times), ids, strict=True))
    ]


def test_turns_that_wait_and_turns_that_failed_are_listed_in_their_places(opened: Opener) -> None:
    embedder = FakeEmbedder(fail=lambda text: RuntimeError("no") if "bad" in text else None)
    memory = opened(embedder=embedder)
    for place, prompt in enumerate(("bad one", "good one", "bad two")):
        memory.remember(prompt, "Yes.", timestamp=place, scope=ALICE)
    memory.flush()
    embedder.gate.clear()
    for at in (0.5, 3):
        memory.remember(f"late {at}", "Yes.", timestamp=at)
    listed = [(turn.prompt, turn.state) for page in pages(memory, 2) for turn in page.turns]
    assert listed == [
        ("bad one", "failed"),
        ("late 0.5", "waiting"),
        ("good one", "indexed"),
        ("bad two", "failed"),
        ("late 3", "waiting"),
    ]
    assert prompts(memory.list(scope=ALICE)) == ["bad one", "good one", "bad two"]
    embedder.gate.set()


def test_a_list_takes_the_filters_of_a_search(opened: Opener) -> None:
    memory = opened()
    for number in range(30):
        scope = ALICE if number % 3 == 0 else None
        memory.remember(f"turn {number}", "Yes.", timestamp=number, scope=scope, metadata={"even": number % 2 == 0})
    memory.flush()
    assert [number for page in pages(memory, 4, scope=ALICE) for number in prompts(page)] == [
        f"turn {number}" for number in range(0, 30, 3)
    ]
    assert prompts(memory.list(scope={"actor_id": "alice", "actor_type": "user"}, where={"even": True})) == [
        f"turn {number}" for number in range(0, 30, 6)
    ]
    assert prompts(memory.list(where={"even": 1})) == []


def test_pages_go_on_where_they_ended_whatever_comes_and_goes(opened: Opener) -> None:
    memory = opened()
    for number in range(0, 40, 2):
        memory.remember(f"turn {number}", "Yes.", timestamp=number)
    memory.flush()
    seen, cursor = [], None
    for step in range(100):
        page = memory.list(limit=3, cursor=cursor)
        seen += prompts(page)
        if (cursor := page.cursor) is None:
            break
        memory.remember(f"later {step}", "Yes.", timestamp=page.turns[-1].timestamp + 0.5)  # type: ignore[operator]
        memory.remember(f"before {step}", "Yes.", timestamp=page.turns[0].timestamp - 0.5)  # type: ignore[operator]
        memory.store._drop([turn.turn_id for turn in page.turns[1:]])  # also the one where the page ended
    assert [prompt for prompt in seen if prompt and prompt.startswith("turn")] == [f"turn {n}" for n in range(0, 40, 2)]
    assert not any(prompt and prompt.startswith("before") for prompt in seen)
    assert len(seen) == len(set(seen))
    assert sum(bool(prompt and prompt.startswith("later")) for prompt in seen) > 3


def test_turns_without_a_time_come_first_and_expired_ones_do_not_come(opened: Opener) -> None:
    memory = opened()
    now = time.time()
    for name, turn in {
        "b": {"timestamp": "noon", "metadata": {"ffai": {"turn_id": "b"}}},
        "a": {"metadata": {"ffai": {"turn_id": "a"}}},
        "c": {"timestamp": -1e9, "metadata": {"ffai": {"turn_id": "c", "expires_at": now + 100}}},
        "d": {"timestamp": 0, "metadata": {"ffai": {"turn_id": "d", "expires_at": now - 100}}},
    }.items():
        memory.index_turn_text(name, turn)
    found = [turn for page in pages(memory, 1) for turn in page.turns]
    assert [(turn.turn_id, turn.timestamp) for turn in found] == [("a", None), ("b", None), ("c", -1e9)]
    assert found[2].expires_at == now + 100


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_nothing_is_refused(opened: Opener, limit: int) -> None:
    with pytest.raises(InvalidArgumentError, match="limit must be at least 1"):
        opened().list(limit=limit)


@pytest.mark.parametrize("limit", ["5", 5.0, None, True])
def test_a_limit_that_is_no_whole_number_is_refused(opened: Opener, limit: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="limit"):
        opened().list(limit=limit)


def packed(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    ["", "a1", "ä", "====", packed("[1]"), packed('["x", "y"]'), packed("[1, 2]"), packed("[NaN, 'x']"), packed("5"),
     packed('[true, "a"]'), packed("[" * 5000), packed('{"a": 1, "b": 2}')],
)  # fmt: skip
def test_a_cursor_that_no_page_had_is_refused(opened: Opener, cursor: str) -> None:
    with pytest.raises(InvalidArgumentError, match="cursor must be one that a page had"):
        opened().list(cursor=cursor)


def test_a_cursor_is_text(opened: Opener) -> None:
    with pytest.raises(ArgumentTypeError, match="cursor must be text"):
        opened().list(cursor=5)  # type: ignore[arg-type]


async def test_the_async_twin_gives_the_same(opened: Opener) -> None:
    memory = opened()
    for number in range(5):
        memory.remember(f"turn {number}", "Yes.", timestamp=number)
    memory.flush()
    first = await memory.alist(limit=3)
    assert first == memory.list(limit=3)
    assert await memory.alist(limit=3, cursor=first.cursor) == memory.list(limit=3, cursor=first.cursor)
    with pytest.raises(InvalidArgumentError):
        await memory.alist(cursor="x")


def test_a_memory_lists_without_an_embedder_and_after_it_was_closed(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("kept", "Yes.", timestamp=1)
    memory.close()
    assert [(turn.prompt, turn.state) for turn in memory.list().turns] == [("kept", "indexed")]
    absent = opened(tmp_path, AbsentEmbedder("fake/hashed-words", "gone"))
    absent.remember("new", "Yes.", timestamp=2)
    assert [(turn.prompt, turn.state) for turn in absent.list().turns] == [("kept", "indexed"), ("new", "waiting")]


def test_turns_on_their_way_are_listed_exactly_once(opened: Opener) -> None:
    memory, missed, done = opened(), list[Any](), threading.Event()
    accepted: list[str] = []

    def look() -> None:
        while not done.is_set():
            known = list(accepted)
            found = [turn.turn_id for page in pages(memory, 40) for turn in page.turns]
            if len(found) != len(set(found)) or not set(known) <= set(found):
                missed.append((known, found))

    looking = threading.Thread(target=look)
    looking.start()
    for number in range(150):
        accepted.append(memory.remember(f"turn {number}", "Yes."))  # noqa: PERF401 - one after the other
    memory.flush()
    done.set()
    looking.join()
    assert not missed
    assert all(isinstance(turn, StoredTurn) and turn.state == "indexed" for turn in memory.list(limit=200).turns)
