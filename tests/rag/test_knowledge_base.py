"""What an application teaches: durable, found by meaning, and seen by scope."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ffai import FFAI, Memory, MemoryScope
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.rag import KnowledgeBase
from ffai.testing import FakeClient, FakeEmbedder

ALICE, BOB = MemoryScope.user("alice"), MemoryScope.user("bob")


@pytest.fixture
def ffai() -> FFAI:
    return FFAI(FakeClient(), memory=Memory(FakeEmbedder()))


@pytest.fixture
def kb(ffai: FFAI) -> KnowledgeBase:
    return ffai.rag.kb


def test_a_key_is_taught_replaced_and_forgotten(kb: KnowledgeBase) -> None:
    kb.learn("refunds", "Refunds take five days.", {"page": 3})
    kb.learn("hours", {"content": "Open from nine", "days": ["mon"]})
    kb.learn("refunds", "Refunds take six days.")
    entry = kb.get("refunds")
    assert entry is not None
    assert (entry.value, entry.score) == ({"content": "Refunds take six days."}, None)
    assert [one.key for one in kb.entries()] == ["refunds", "hours"]
    assert (kb.forget("refunds"), kb.forget("refunds"), kb.get("refunds")) == (True, False, None)


def test_a_search_gives_the_best_first_with_scores(kb: KnowledgeBase) -> None:
    kb.learn("refunds", "Refunds take five days")
    kb.learn("bread", "Bread takes an hour")
    found = kb.search("How long do refunds take?")
    assert [one.key for one in found] == ["refunds", "bread"]
    assert found[0].score > found[1].score  # type: ignore[operator]
    assert [one.key for one in kb.search("How long do refunds take?", min_score=found[0].score)] == ["refunds"]
    assert (kb.search("refunds", 0), len(kb.search("refunds", 1))) == ([], 1)


def test_the_narrow_goes_before_the_wide_and_others_see_neither(kb: KnowledgeBase) -> None:
    kb.learn("diet", "Everything is fine")
    kb.learn("diet", "No nuts", scope=ALICE)

    def told(scope: MemoryScope | None) -> Any:
        entry = kb.get("diet", scope=scope)
        return entry and entry.value["content"]

    assert [told(scope) for scope in (ALICE, BOB, None)] == ["No nuts", "Everything is fine", "Everything is fine"]
    assert not kb.forget("diet", scope=BOB)
    assert kb.forget("diet", scope=ALICE)
    assert told(ALICE) == "Everything is fine"


def test_what_was_taught_is_a_source_of_answers_and_a_copy(ffai: FFAI) -> None:
    value = {"content": "Refunds take five days", "tags": ["money"]}
    ffai.rag.kb.learn("refunds", value)
    value["tags"] = ["changed"]
    entry = ffai.rag.kb.get("refunds")
    assert entry is not None
    assert entry.value["tags"] == ["money"]
    source = ffai.ask("How long do refunds take, five days?").sources[0]
    assert (source.kind, source.id, source.label) == ("kb", "refunds", "refunds")
    assert source.provenance is not None
    assert source.provenance.source_id == "refunds"


def test_what_failed_to_be_embedded_is_found_later(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    embedder.fail = lambda text: ConnectionError("away") if "Refunds" in text else None
    memory = Memory(embedder)
    memory.persist_to(tmp_path)
    ffai = FFAI(FakeClient(), memory=memory)
    ffai.rag.kb.learn("refunds", "Refunds take five days")
    assert ffai.rag.kb.get("refunds") is not None
    memory.close(0.0)
    memory = Memory(FakeEmbedder())
    memory.persist_to(tmp_path)
    assert [one.key for one in FFAI(FakeClient(), memory=memory).rag.kb.search("Refunds")] == ["refunds"]
    memory.close()


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (("", "text"), InvalidArgumentError),
        ((3, "text"), ArgumentTypeError),
        (("key", "  "), InvalidArgumentError),
        (("key", 3), ArgumentTypeError),
        (("key", {"content": object()}), (InvalidArgumentError, ArgumentTypeError)),
        (("key", "text", ["a"]), ArgumentTypeError),
    ],
)
async def test_what_cannot_be_kept_is_refused(kb: KnowledgeBase, args: tuple[Any, ...], error: Any) -> None:
    with pytest.raises(error):
        kb.learn(*args)
    with pytest.raises(error):
        await kb.alearn(*args)
    assert kb.entries() == []


@pytest.mark.parametrize(
    "wrong", [{"limit": -1}, {"limit": 1.5}, {"min_score": "x"}, {"mode": "telepathy"}, {"query": ""}]
)
def test_a_wrong_search_is_named(kb: KnowledgeBase, wrong: dict[str, Any]) -> None:
    with pytest.raises((InvalidArgumentError, ArgumentTypeError), match=next(iter(wrong))):
        kb.search(**{"query": "refunds", **wrong})


async def test_awaited_it_is_the_same(kb: KnowledgeBase) -> None:
    await kb.alearn("refunds", "Refunds take five days", scope=ALICE)
    entry = await kb.aget("refunds", scope=ALICE)
    assert entry == kb.get("refunds", scope=ALICE) == (await kb.aentries(scope=ALICE))[0]
    assert await kb.asearch("refunds", scope=ALICE) == kb.search("refunds", scope=ALICE)
    assert (await kb.acapsules(), await kb.anodes(), await kb.aedges()) == ([], [], [])
    assert await kb.aforget("refunds", scope=ALICE)
