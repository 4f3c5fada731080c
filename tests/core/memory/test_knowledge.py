"""What was taught under keys: who sees it, what it is found by, and what is refused."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffai import FFAI, Memory, MemoryScope
from ffai.core.embeddings.protocol import AbsentEmbedder
from ffai.core.scope_policy import ScopePolicy
from ffai.errors import (
    ArgumentTypeError,
    ClosedError,
    InvalidArgumentError,
    ModelUnavailableError,
    ScopeValidationError,
    StoreError,
)
from ffai.testing import FakeClient, FakeEmbedder
from tests.core.memory.conftest import Opener
from tests.doubles.embedders import WatchedEmbedder
from tests.doubles.processes import Another, embedder_of, opened_at

ALICE, BOB = MemoryScope.user("alice"), MemoryScope.user("bob")
TRIP, HER_TRIP = MemoryScope(conversation_id="trip"), MemoryScope.user("alice", conversation="trip")


def contents(memory: Memory, scope: Any = None) -> list[str]:
    return [known.value["content"] for known in memory.knowledge.list(scope=scope)]


def found(memory: Memory, query: str, scope: Any = None, **kwargs: Any) -> list[str]:
    return [known.key for known in memory.knowledge.search(query, scope=scope, **kwargs)]


# Under keys


def test_what_is_learned_is_there_at_once_and_is_found(opened: Opener) -> None:
    memory = opened()
    memory.knowledge.learn("refunds", "Refunds take five days.", {"source": "handbook"}, cites=["t1"])
    known = memory.knowledge.get("refunds")
    assert known is not None
    assert known.value == {"content": "Refunds take five days.", "metadata": {"source": "handbook"}}
    assert (known.scope, known.cites, known.score) == (MemoryScope(), ("t1",), None)
    [hit] = memory.knowledge.search("How many days do refunds take?")
    assert (hit.key, hit.value) == ("refunds", known.value)
    assert hit.score is not None
    assert hit.explained


def test_a_key_that_is_learned_again_has_the_new_value_alone(opened: Opener) -> None:
    memory = opened()
    memory.knowledge.learn("place", "The office is in Lisbon.")
    memory.flush()
    first = memory.knowledge.list()[0]
    memory.knowledge.learn("other", "Cats sleep.")
    memory.knowledge.learn("place", "Bananas are yellow.")
    assert contents(memory) == ["Bananas are yellow.", "Cats sleep."]
    again = memory.knowledge.list()[0]
    assert again.created_at == first.created_at < again.updated_at
    assert found(memory, "office in Lisbon", mode="keyword") == []
    assert found(memory, "yellow bananas", top_k=1, mode="vector") == ["place"]


def test_a_mapping_without_a_text_is_kept_and_not_found(opened: Opener) -> None:
    memory = opened()
    memory.knowledge.learn("edge", {"from": "a", "to": "b"})
    memory.knowledge.learn("blank", {"content": "  "})
    memory.knowledge.learn("number", {"content": 7})
    memory.flush()
    assert [known.key for known in memory.knowledge.list()] == ["edge", "blank", "number"]
    assert found(memory, "a b 7", mode="keyword") == found(memory, "a b 7") == []
    assert memory.status().knowledge == 3
    assert memory.status().knowledge_pending == 0


@pytest.mark.parametrize("key", ["a\0b", "\0", "é\u2028%_'\"", "\u202e🗝️"])
def test_what_has_an_odd_key_is_found_and_forgotten_as_any_other(opened: Opener, key: str) -> None:
    knowledge = opened().knowledge
    knowledge.learn(key, "The office is in Lisbon.")
    assert knowledge.get(key) is not None
    assert knowledge.forget(key)
    assert (knowledge.get(key), knowledge.list()) == (None, [])


@pytest.mark.parametrize("key", ["", " \n"])
def test_a_blank_key_or_text_is_refused(opened: Opener, key: str) -> None:
    knowledge = opened().knowledge
    for refused in (lambda: knowledge.learn(key, "x"), lambda: knowledge.get(key), lambda: knowledge.forget(key)):
        with pytest.raises(InvalidArgumentError, match="key"):
            refused()
    with pytest.raises(InvalidArgumentError, match="content"):
        knowledge.learn("key", key)
    assert knowledge.list() == []


def test_what_json_can_not_hold_is_refused_and_nothing_is_kept(opened: Opener) -> None:
    knowledge: Any = opened().knowledge
    with pytest.raises(ArgumentTypeError, match="content"):
        knowledge.learn("key", {"content": "x", "thing": object()})
    for wrong in (7, None, ["text"]):
        with pytest.raises(ArgumentTypeError, match="content"):
            knowledge.learn("key", wrong)
    with pytest.raises(ArgumentTypeError, match="metadata"):
        knowledge.learn("key", "x", ["no"])
    with pytest.raises(ArgumentTypeError, match="cites"):
        knowledge.learn("key", "x", cites=[7])
    with pytest.raises(ArgumentTypeError, match="key"):
        knowledge.learn(7, "x")
    assert knowledge.list() == []


def test_secrets_are_replaced_before_they_are_kept(tmp_path: Path) -> None:
    secret = "sk-proj-" + "a1B2" * 10
    with FFAI(
        FakeClient(),
        memory=Memory(FakeEmbedder(), redact=True),
        memory_persist=True,
        config={"memory": {"persist_dir": str(tmp_path)}},
    ) as ffai:
        assert ffai.memory is not None
        ffai.memory.knowledge.learn(f"key {secret}", {"content": f"It is {secret}", "more": [secret]}, {"m": secret})
        ffai.memory.threads.add([("user", f"Mine is {secret}")])
        ffai.flush()
        known = ffai.memory.knowledge.get(f"key {secret}")
        assert known is not None
        assert secret not in str(known) + str(ffai.memory.threads.history())
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


# Whose it is


def test_a_key_is_one_in_each_scope_and_the_narrowest_is_given(opened: Opener) -> None:
    memory = opened()
    for scope, text in ((None, "all"), (TRIP, "trip"), (ALICE, "alice"), (HER_TRIP, "her trip")):
        memory.knowledge.learn("diet", text, scope=scope)
    given = {str(scope): memory.knowledge.get("diet", scope=scope) for scope in (HER_TRIP, ALICE, TRIP, BOB, None)}
    assert [known.value["content"] for known in given.values() if known] == ["her trip", "alice", "trip", "all", "all"]
    assert memory.knowledge.forget("diet", scope=HER_TRIP)
    assert not memory.knowledge.forget("diet", scope=HER_TRIP)
    for expected, scope in (("alice", ALICE), ("trip", TRIP), ("all", None)):
        known = memory.knowledge.get("diet", scope=HER_TRIP)
        assert known is not None
        assert known.value["content"] == expected
        assert memory.knowledge.forget("diet", scope=scope)
    assert memory.knowledge.get("diet", scope=HER_TRIP) is None


def test_what_is_found_by_a_list_is_found_by_its_key_in_the_internal_form_of_a_conversation(opened: Opener) -> None:
    memory = opened()
    memory.remember("Hi", "Hello", scope=HER_TRIP)
    memory.flush()
    internal = MemoryScope.user("alice", conversation=memory.search("Hi")[0].conversation_id)
    memory.knowledge.learn("diet", "No nuts.", scope=HER_TRIP)
    assert contents(memory, internal) == ["No nuts."]
    assert memory.knowledge.get("diet", scope=internal) is not None
    memory.knowledge.learn("diet", "All nuts.", scope=internal)
    assert contents(memory, HER_TRIP) == ["All nuts."]
    assert memory.knowledge.forget("diet", scope=internal)


def test_what_is_of_no_scope_may_be_kept_from_those_who_have_one(opened: Opener) -> None:
    memory = opened()
    memory.knowledge.learn("diet", "Hidden nuts.", shared=False)
    memory.knowledge.learn("diet", "Shared nuts.")
    assert contents(memory) == ["Hidden nuts.", "Shared nuts."]
    assert contents(memory, ALICE) == ["Shared nuts."]
    assert len(found(memory, "nuts")) == 2
    for scope in (ALICE, TRIP, HER_TRIP, MemoryScope.shared("alice")):
        assert [known.value["content"] for known in memory.knowledge.search("nuts", scope=scope)] == ["Shared nuts."]
    known = memory.knowledge.get("diet")
    assert known is not None
    assert known.value["content"] == "Hidden nuts."
    memory.knowledge.learn("hers", "Her nuts.", scope=ALICE, shared=False)
    assert contents(memory, ALICE) == ["Shared nuts.", "Her nuts."]
    assert memory.knowledge.forget("diet")
    assert contents(memory) == ["Her nuts."]


def test_one_who_asks_with_participants_sees_their_conversations(opened: Opener) -> None:
    memory = opened()
    memory.remember("Hi", "Hello", scope=HER_TRIP)
    memory.remember("Hi", "Hello", scope=MemoryScope.user("bob", conversation="trip"))
    memory.remember("Hi", "Hello", scope=MemoryScope.user("alice", conversation="work"))
    for conversation in ("trip", "work"):
        memory.knowledge.learn(conversation, f"In {conversation}.", scope=MemoryScope(conversation_id=conversation))
    memory.knowledge.learn("all", "Everybody's.")
    assert contents(memory, MemoryScope.shared("alice", "bob")) == ["In trip.", "Everybody's."]
    with pytest.raises(ScopeValidationError, match="participant_ids"):
        memory.knowledge.learn("key", "x", scope=MemoryScope.shared("alice", "bob"))
    with pytest.raises(ScopeValidationError, match="participant_ids"):
        memory.threads.add([("user", "x")], scope=MemoryScope.shared("alice", "bob"))


def test_a_view_teaches_and_sees_for_its_own_scope(opened: Opener) -> None:
    memory = opened()
    alice, bob = memory.scoped(ALICE), memory.scoped(BOB)
    alice.knowledge.learn("diet", "No nuts.")
    bob.knowledge.learn("diet", "No fish.")
    assert (contents(alice), contents(bob)) == (["No nuts."], ["No fish."])
    assert found(alice, "nuts fish") == ["diet"]
    assert [known.value["content"] for known in bob.knowledge.search("nuts fish")] == ["No fish."]
    assert bob.knowledge.forget("diet")
    assert contents(alice) == ["No nuts."]


def test_a_required_scope_is_required_and_a_guard_has_the_last_word(opened: Opener) -> None:
    memory = opened().under(ScopePolicy(is_required=True))
    knowledge, threads = memory.knowledge, memory.threads
    for call in (
        lambda: knowledge.learn("k", "x"),
        lambda: knowledge.get("k"),
        lambda: knowledge.forget("k"),
        knowledge.list,
        lambda: knowledge.search("x"),
        knowledge.refused,
        lambda: threads.add([("user", "x")]),
        threads.history,
        threads.clear,
        lambda: memory.retrieve("x"),
        lambda: memory.recent(0.0),
        lambda: memory.get("x"),
        lambda: memory.place_of("x", "y"),
        lambda: memory.note_recalled(["x"]),
    ):
        with pytest.raises(ScopeValidationError, match="scope is required"):
            call()
    guarded = opened().under(ScopePolicy(guard=lambda _: BOB))
    guarded.knowledge.learn("diet", "No fish.", scope=ALICE)
    guarded.threads.add([("user", "Hi")], scope=ALICE)
    assert guarded.knowledge.list(scope=ALICE)[0].scope == BOB
    assert "bob" in guarded.threads.history(scope=ALICE)[0].place


ACTORS, CONVERSATIONS = (None, "alice", "bob"), (None, "trip", "work")
PLACES = [
    MemoryScope(actor_id=actor, actor_type="user" if actor else None, conversation_id=conversation)
    for actor, conversation in itertools.product(ACTORS, CONVERSATIONS)
]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), st.booleans()), max_size=6), st.sampled_from(PLACES))
def test_an_entry_is_seen_where_it_is_within_what_is_asked_for_or_wider(
    taught: list[tuple[MemoryScope, bool]], asked: MemoryScope
) -> None:
    memory = Memory(FakeEmbedder(4))
    for number, (scope, shared) in enumerate(taught):
        memory.knowledge.learn(f"k{number}", "A fact.", scope=scope, shared=shared)

    def is_seen(scope: MemoryScope, shared: bool) -> bool:
        own, theirs = scope.as_dict(), asked.as_dict()
        is_within, is_wider = theirs.items() <= own.items(), own.items() <= theirs.items()
        return is_within or (is_wider and (shared or bool(own)))

    expected = [f"k{number}" for number, (scope, shared) in enumerate(taught) if is_seen(scope, shared)]
    assert [known.key for known in memory.knowledge.list(scope=asked)] == expected
    for mode in ("vector", "keyword", "hybrid"):
        assert sorted(found(memory, "A fact", asked, top_k=20, mode=mode, wait=None)) == expected
    assert sorted(known.key for known in memory.retrieve("A fact", 20, scope=asked).knowledge) == expected
    for number, (scope, _) in enumerate(taught):
        known = memory.knowledge.get(f"k{number}", scope=asked)
        is_wider = scope.as_dict().items() <= asked.as_dict().items()
        assert (known is not None) == (f"k{number}" in expected and is_wider)
    memory.close()


# Durable


def test_a_second_process_sees_what_is_learned_and_forgotten_at_once(tmp_path: Path) -> None:
    memory = opened_at(tmp_path)
    with Another(tmp_path) as other:
        memory.knowledge.learn("diet", "No nuts.")
        assert other.do(contents) == ["No nuts."]
        assert other.do(found, "nuts") == ["diet"]
        other.do(learn, "diet", "No fish.")
        assert contents(memory) == ["No fish."]
        assert found(memory, "fish", mode="keyword") == ["diet"]
        memory.knowledge.forget("diet")
        assert other.do(contents) == other.do(found, "fish") == []
        other.do(say, "Hello")
        assert [message.content for message in memory.threads.history()] == ["Hello"]
        other.do(learn, "again", "A cat.")
        memory.clear()
        assert other.do(contents) == other.do(found, "cat") == []
    memory.close()


def learn(memory: Memory, key: str, content: str) -> None:
    memory.knowledge.learn(key, content)


def say(memory: Memory, content: str) -> None:
    memory.threads.add([("user", content)])


def test_a_memory_that_moves_to_files_takes_all_with_it(opened: Opener, tmp_path: Path) -> None:
    before = opened(tmp_path)
    before.knowledge.learn("old", "An old fact.")
    before.threads.add([("user", "Before")])
    memory = opened()
    memory.knowledge.learn("new", "A new fact.", scope=ALICE)
    memory.knowledge.learn("old", "A newer one.")
    memory.threads.add([("user", "After")])
    memory.flush()
    memory.persist_to(tmp_path)
    assert [(known.key, known.value["content"]) for known in before.knowledge.list()] == [
        ("old", "A newer one."),
        ("new", "A new fact."),
    ]
    assert [message.content for message in memory.threads.history()] == ["Before", "After"]
    assert set(found(before, "fact")) == {"old", "new"}
    memory.knowledge.learn("last", "The last.")
    assert "last" in found(before, "last")
    memory.close()
    before.close()
    again = opened(tmp_path)
    assert len(again.knowledge.list()) == 3
    assert len(again.threads.history()) == 2


def test_a_closed_memory_learns_nothing_and_still_knows(opened: Opener, tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        memory = opened(folder)
        memory.knowledge.learn("diet", "No nuts.")
        memory.threads.add([("user", "Hi")])
        memory.close()
        calls: list[Callable[[], Any]] = [
            partial(memory.knowledge.learn, "k", "x"),
            partial(memory.knowledge.forget, "diet"),
            partial(memory.threads.add, [("user", "x")]),
            memory.threads.clear,
        ]
        for call in calls:
            with pytest.raises(ClosedError):
                call()
        assert found(memory, "nuts") == ["diet"]
        assert contents(memory) == ["No nuts."]
        assert memory.knowledge.get("diet") is not None
        assert [message.content for message in memory.threads.history()] == ["Hi"]


# Embedding


def test_it_is_embedded_in_the_background_and_who_asks_waits(opened: Opener) -> None:
    embedder = WatchedEmbedder()
    memory = opened(None, embedder)
    with embedder.held():
        memory.knowledge.learn("diet", "No nuts.")
        assert memory.status().knowledge_pending == 1
        assert memory.flush(0.05).pending == 0
        assert memory.status().knowledge_pending == 1
    memory.flush()
    assert memory.status().knowledge_pending == 0
    memory.knowledge.learn("pet", "A cat.")
    assert "pet" in found(memory, "cat")


def test_a_flush_ends_while_others_go_on_teaching(opened: Opener) -> None:
    memory = opened(None, FakeEmbedder(4, delay=0.01))
    ended = threading.Event()

    def teach() -> None:
        for number in itertools.count():
            if ended.is_set():
                return
            memory.knowledge.learn(f"k{number}", f"Fact {number}.")

    teacher = threading.Thread(target=teach)
    teacher.start()
    try:
        flusher = threading.Thread(target=memory.flush, daemon=True)
        flusher.start()
        flusher.join(20)
        assert not flusher.is_alive()
    finally:
        ended.set()
        teacher.join()


def test_what_is_refused_is_told_found_by_words_and_tried_again(opened: Opener) -> None:
    embedder = FakeEmbedder(fail=lambda text: ValueError("too hot") if "nuts" in text else None)
    memory = opened(None, embedder)
    memory.knowledge.learn("pet", "A cat.")
    memory.knowledge.learn("diet", "No nuts.", scope=ALICE)
    memory.flush()
    assert memory.knowledge.refused() == {"diet": "ValueError: too hot"}
    assert memory.knowledge.refused(scope=BOB) == {}
    assert found(memory, "A cat") == ["pet"]
    assert found(memory, "cat or dog", mode="vector") == ["pet"]
    embedder.fail = None
    assert found(memory, "no nuts", ALICE, mode="keyword") == ["diet"]
    assert found(memory, "no nuts", BOB, mode="keyword") == []
    assert memory.retry_failed() == 1
    assert found(memory, "no nuts", top_k=1) == ["diet"]
    assert memory.knowledge.refused() == {}


def test_what_was_refused_is_found_after_a_change_of_models(opened: Opener) -> None:
    memory = opened(None, FakeEmbedder(fail=lambda text: ValueError("too hot") if "nuts" in text else None))
    memory.knowledge.learn("diet", "No nuts.")
    memory.flush()
    memory.reindex(FakeEmbedder(12, model="fake/other"))
    assert found(memory, "nuts", mode="vector") == ["diet"]


@pytest.mark.parametrize("how", ["asked to", "by itself"])
def test_an_outage_is_waited_out(opened: Opener, how: str) -> None:
    down = [True]
    memory = opened(None, FakeEmbedder(fail=lambda _: ConnectionError("down") if down[0] else None))
    memory.knowledge.learn("diet", "No nuts.")
    memory.flush()
    assert "down" in (memory.status().problem or "")
    assert memory.status().knowledge_pending == 1
    assert memory.knowledge.refused() == {}
    down[0] = False
    if how == "asked to":
        memory.retry_failed()
        memory.flush()
    deadline = time.monotonic() + 30
    while memory.status().knowledge_pending:
        memory.flush(0.05)
        assert time.monotonic() < deadline
    assert memory.status().problem is None
    assert found(memory, "nuts", mode="vector") == ["diet"]


@pytest.mark.parametrize("model", ["fake/hashed-words", "fake/other"])
@pytest.mark.parametrize("size", [8, 64])
@pytest.mark.parametrize("with_turns", [False, True])
def test_a_new_model_embeds_it_again(opened: Opener, tmp_path: Path, model: str, size: int, with_turns: bool) -> None:
    memory = opened(tmp_path, FakeEmbedder(64))
    if with_turns:
        memory.remember("Hi", "Hello")
    for number in range(40):
        memory.knowledge.learn(f"k{number}", f"Fact number{number}.")
    assert len(found(memory, "fact", top_k=50, mode="vector", wait=None)) == 40
    new = WatchedEmbedder(size, model=model)
    memory.reindex(new)
    assert len(found(memory, "fact", top_k=50, mode="vector", wait=None)) == 40
    [best] = memory.knowledge.search("Fact number7.", 1, mode="vector")
    assert best.key == "k7"
    assert best.score == pytest.approx(1.0)
    memory.close()
    again = opened(tmp_path, FakeEmbedder(size, model=model))
    assert len(found(again, "fact", top_k=50, mode="vector", wait=None)) == 40


def test_without_a_model_words_find_it(opened: Opener, tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.knowledge.learn("pet", "A cat.")
    first.flush()
    first.close()
    memory = opened(tmp_path, AbsentEmbedder("fake/hashed-words", "not installed"))
    memory.knowledge.learn("diet", "No nuts.")
    for mode in ("keyword", "hybrid"):
        assert found(memory, "nuts", mode=mode) == ["diet"]
        assert found(memory, "cat", mode=mode) == ["pet"]
    assert [known.key for known in memory.retrieve("cat and nuts").knowledge] == ["pet", "diet"]
    with pytest.raises(ModelUnavailableError):
        memory.knowledge.search("nuts", mode="vector")
    memory.close()
    again = opened(tmp_path)
    assert set(found(again, "nuts", mode="vector", wait=None)) == {"diet", "pet"}


def test_what_waits_at_the_end_is_embedded_at_the_next_start(opened: Opener, tmp_path: Path) -> None:
    embedder = WatchedEmbedder()
    memory = opened(tmp_path, embedder)
    embedder.gate.clear()
    memory.knowledge.learn("diet", "No nuts.")
    assert embedder.entered.wait(5)
    memory.close(timeout=0.05)
    embedder.gate.set()
    again = opened(tmp_path)
    again.flush()
    assert again.status().knowledge_pending == 0
    assert found(again, "nuts", wait=0.0, mode="vector") == ["diet"]


def test_vectors_of_another_size_than_the_turns_are_refused(opened: Opener) -> None:
    class Shrinks:
        model, size = "fake/shrinks", 8

        def embed(self, texts: list[str]) -> list[list[float]]:
            return [[1.0] * self.size for _ in texts]

    embedder = Shrinks()
    memory = opened(None, embedder)
    memory.remember("Hi", "Hello")
    memory.flush()
    embedder.size = 4
    memory.knowledge.learn("diet", "No nuts.")
    memory.flush()
    assert "4" in memory.knowledge.refused()["diet"]


# Races


def test_who_searches_while_others_teach_and_change_the_model_sees_no_error(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path, embedder_of(8))
    with ThreadPoolExecutor(4) as threads:
        done = [threads.submit(teach_and_forget, memory, who) for who in "ab"]
        done += [threads.submit(search_often, memory), threads.submit(change_models, memory)]
        for each in done:
            each.result()
    assert len(found(memory, "fact", top_k=100, mode="vector", wait=None)) == 48
    assert len(memory.knowledge.list()) == 48


def teach_and_forget(memory: Memory, who: str) -> None:
    for number in range(30):
        memory.knowledge.learn(f"{who}{number}", f"{who} fact {number}.")
        if number % 5 == 4:
            memory.knowledge.forget(f"{who}{number}")


def search_often(memory: Memory) -> None:
    for _ in range(30):
        memory.knowledge.search("fact", 100, wait=0.01)
        memory.retrieve("fact", wait=0.0)


def change_models(memory: Memory) -> None:
    for size in (16, 8, 16):
        memory.reindex(embedder_of(size))


def test_what_was_made_from_a_turn_that_is_forgotten_meanwhile_is_not_kept(opened: Opener, tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        memory = opened(folder)
        turn_id = memory.remember("My code is 4711", "Noted.")
        memory.flush()
        memory.forget(turn_id)
        with pytest.raises(StoreError, match="forgotten"):
            memory.knowledge.learn("capsule", "The code is 4711.", cites=[turn_id])
        assert memory.knowledge.list() == []


def test_the_async_calls_do_the_same(opened: Opener) -> None:
    memory = opened()

    async def use() -> None:
        await memory.knowledge.alearn("diet", "No nuts.", scope=ALICE)
        known = await memory.knowledge.aget("diet", scope=ALICE)
        assert known is not None
        assert [one.key for one in await memory.knowledge.alist(scope=ALICE)] == ["diet"]
        assert [one.key for one in await memory.knowledge.asearch("nuts", scope=ALICE)] == ["diet"]
        assert await memory.knowledge.aforget("diet", scope=ALICE)
        assert await memory.knowledge.asearch("nuts", scope=ALICE) == ()

    asyncio.run(use())
