"""Nobody sees what another one said: kinds 2 and 10 of what users of such systems report.

Every public call that reads is tried by somebody else. A new one that is not listed here fails a test.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ffai import FFAI, FFAIError, Memory, MemoryScope
from ffai.clients import FallbackClient, LiteLLMClient, RetryClient
from ffai.core.history.ordered import OrderedPromptHistory
from ffai.core.history.permanent import PermanentHistory
from ffai.core.history_manager import HistoryManager
from ffai.core.memory import TurnVectorStore
from ffai.core.memory.knowledge import Knowledge
from ffai.core.memory.retrieving import TurnPlace
from ffai.core.memory.threads import Threads
from ffai.errors import ArgumentTypeError, InvalidArgumentError, ScopeValidationError
from ffai.testing import FakeClient, FakeEmbedder
from tests.doubles.openai_server import OpenAIServer

MARKER = "zebra4711"
ALICE, BOB = (MemoryScope.user(name) for name in ("alice", "bob"))


@pytest.fixture(params=["by actor", "by actor, one conversation id", "by participants"])
def two(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[FFAI, FFAI]]:
    """Alice's view and Bob's, after Alice has said something and Bob has too."""
    scopes = {
        "by actor": (ALICE, BOB, BOB),
        "by actor, one conversation id": (
            MemoryScope.user("alice", conversation="1"),
            MemoryScope.user("bob", conversation="1"),
            MemoryScope.user("bob", conversation="1"),
        ),
        "by participants": (
            MemoryScope.user("alice", conversation="a"),
            MemoryScope.user("bob", conversation="b"),
            MemoryScope.shared("bob"),
        ),
    }
    alice, bob, seen_by_bob = scopes[request.param]
    ffai = FFAI(
        FakeClient(model="m"),
        memory=Memory(FakeEmbedder(fail=lambda text: ValueError("too hot") if "failing" in text else None)),
        memory_persist=True,
        persist_dir=tmp_path / "histories",
        persist_name="all",
        config={"memory": {"persist_dir": str(tmp_path / "memory")}},
    )
    with ffai:
        hers, his = ffai.scoped(alice), ffai.scoped(bob)
        said = {"metadata": {"secret": MARKER}}
        hers.generate_response(f"My code is {MARKER}", prompt_name=f"secret_{MARKER}")
        hers.generate_response(f"My code is {MARKER}", prompt_name="shared_name")
        hers.generate_response(f"A failing {MARKER}")
        assert hers.memory is not None
        hers.memory.remember(f"Another {MARKER}", "Yes.", **said)
        hers.memory.knowledge.learn("secret", f"The code is {MARKER}")
        hers.memory.knowledge.learn(f"failing {MARKER}", f"A failing {MARKER}")
        hers.memory.threads.add([("user", f"My code is {MARKER}")])
        his.generate_response("My code is plain", prompt_name="his")
        ffai.flush()
        yield hers, ffai.scoped(seen_by_bob)


def told(value: Any) -> str:
    """All that a value says, frames and pages too."""
    rows = getattr(value, "rows", None)
    if callable(rows):
        return f"{value.columns} {rows()}"
    return repr(list(value) if not isinstance(value, (str, bytes)) and hasattr(value, "__iter__") else value)


def public(thing: Any) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


async def tried(call: Callable[[], Any]) -> str:
    """What a call tells, also by its error."""
    try:
        value = call()
        return told(await value if inspect.isawaitable(value) else value)
    except (FFAIError, KeyError, IndexError) as error:
        return f"{error!r} {error}"


HISTORY: dict[str, Callable[[HistoryManager], Any]] = {
    "raw": lambda history: history.raw,
    "clean": lambda history: history.clean,
    "permanent": lambda history: history.permanent.get_all_turns(),
    "ordered": lambda history: history.ordered.to_dict(),
    "search": lambda history: history.search(f"My code is {MARKER}", 100),
    "asearch": lambda history: history.asearch(f"My code is {MARKER}", 100),
    "get_interaction_history": lambda history: history.get_interaction_history(),
    "get_clean_interaction_history": lambda history: history.get_clean_interaction_history(),
    "get_all_interactions": lambda history: history.get_all_interactions(),
    "get_latest_interaction": lambda history: history.get_latest_interaction(),
    "get_latest_interaction_by_prompt_name": lambda history: history.get_latest_interaction_by_prompt_name(
        "shared_name"
    ),
    "get_last_n_interactions": lambda history: history.get_last_n_interactions(100),
    "get_interaction": lambda history: [history.get_interaction(number) for number in range(10)],
    "get_model_interactions": lambda history: history.get_model_interactions("m"),
    "get_interactions_by_prompt_name": lambda history: history.get_interactions_by_prompt_name("shared_name"),
    "get_prompt_history": lambda history: history.get_prompt_history(),
    "get_response_history": lambda history: history.get_response_history(),
    "get_model_usage_stats": lambda history: history.get_model_usage_stats(),
    "get_prompt_name_usage_stats": lambda history: history.get_prompt_name_usage_stats(),
    "get_prompt_dict": lambda history: history.get_prompt_dict(),
    "get_latest_responses_by_prompt_names": lambda history: history.get_latest_responses_by_prompt_names(
        ["shared_name"]
    ),
    "get_formatted_responses": lambda history: history.get_formatted_responses(["shared_name"]),
    "history_to_dataframe": lambda history: history.history_to_dataframe(),
    "clean_history_to_dataframe": lambda history: history.clean_history_to_dataframe(),
    "ordered_history_to_dataframe": lambda history: history.ordered_history_to_dataframe(),
    "search_history": lambda history: history.search_history("code"),
    "get_model_stats_df": lambda history: history.get_model_stats_df(),
    "get_prompt_name_stats_df": lambda history: history.get_prompt_name_stats_df(),
    "get_response_length_stats": lambda history: history.get_response_length_stats(),
    "interaction_counts_by_date": lambda history: history.interaction_counts_by_date(),
    "flush": lambda history: history.flush(),
    "aflush": lambda history: history.aflush(),
    "persist_all_histories": lambda history: history.persist_all_histories(),
    "forget": lambda history: history.forget([]),
}
HISTORY_OTHERS = {"memory", "scoped", "under"}

ORDERED: dict[str, Callable[[OrderedPromptHistory], Any]] = {
    "get_all_interactions": lambda ordered: ordered.get_all_interactions(),
    "get_last_n_interactions": lambda ordered: ordered.get_last_n_interactions(100),
    "get_interaction": lambda ordered: [ordered.get_interaction(number) for number in range(10)],
    "get_all_prompt_names": lambda ordered: ordered.get_all_prompt_names(),
    "get_prompt_name_usage_stats": lambda ordered: ordered.get_prompt_name_usage_stats(),
    "get_interactions_by_prompt_name": lambda ordered: ordered.get_interactions_by_prompt_name("shared_name"),
    "get_interactions_by_model": lambda ordered: ordered.get_interactions_by_model("m"),
    "get_interactions_by_model_and_prompt_name": lambda ordered: ordered.get_interactions_by_model_and_prompt_name(
        "m", "shared_name"
    ),
    "get_latest_interaction_by_prompt_name": lambda ordered: ordered.get_latest_interaction_by_prompt_name(
        "shared_name"
    ),
    "get_interaction_by_prompt": lambda ordered: ordered.get_interaction_by_prompt(f"A failing {MARKER}"),
    "get_latest_responses_by_prompt_names": lambda ordered: ordered.get_latest_responses_by_prompt_names(
        ["shared_name"]
    ),
    "get_formatted_responses": lambda ordered: ordered.get_formatted_responses(["shared_name"]),
    "to_dict": lambda ordered: ordered.to_dict(),
}

PERMANENT: dict[str, Callable[[PermanentHistory], Any]] = {
    "get_all_turns": lambda permanent: permanent.get_all_turns(),
    "get_turns_since": lambda permanent: permanent.get_turns_since(0.0),
}

MEMORY: dict[str, Callable[[Memory], Any]] = {
    "search": lambda memory: memory.search(f"My code is {MARKER}", 100),
    "asearch": lambda memory: memory.asearch(f"My code is {MARKER}", 100),
    "list": lambda memory: memory.list(),
    "alist": lambda memory: memory.alist(),
    "count": lambda memory: memory.count(),
    "store": lambda memory: memory.store,
    "status": lambda memory: memory.status(),
    "flush": lambda memory: memory.flush(),
    "aflush": lambda memory: memory.aflush(),
    "retry_failed": lambda memory: memory.retry_failed(),
    "verify": lambda memory: memory.verify(),
    "averify": lambda memory: memory.averify(),
    "repair": lambda memory: memory.repair(),
    "arepair": lambda memory: memory.arepair(),
    "forget": lambda memory: memory.forget(where={"secret": MARKER}),
    "aforget": lambda memory: memory.aforget(where={"secret": MARKER}),
    "embeddings": lambda memory: memory.embeddings.model,
    "knowledge": lambda memory: memory.knowledge.list(),
    "threads": lambda memory: memory.threads.history(),
    "retrieve": lambda memory: memory.retrieve(f"My code is {MARKER}", 100),
    "aretrieve": lambda memory: memory.aretrieve(f"My code is {MARKER}", 100),
    "recent": lambda memory: memory.recent(0.0, 1000),
    "arecent": lambda memory: memory.arecent(0.0, 1000),
}
MEMORY_OTHERS = {
    *("index_turn", "index_turn_text", "aindex_turn", "aindex_turn_text", "remember", "import_jsonl", "aimport_jsonl"),
    *("reindex", "areindex", "clear", "close", "aclose", "persist_to", "when_forgotten", "redact", "ttl"),
    *("scoped", "under", "settled", "accepted_scope"),
    *("export_jsonl", "aexport_jsonl"),
    *("get", "aget", "place_of", "aplace_of", "kept_scope", "note_recalled", "without_recalled"),
}
"""What brings turns in, tells nothing, or has a test of its own below."""

KNOWLEDGE: dict[str, Callable[[Knowledge], Any]] = {
    "get": lambda knowledge: knowledge.get("secret"),
    "aget": lambda knowledge: knowledge.aget("secret"),
    "list": lambda knowledge: knowledge.list(),
    "alist": lambda knowledge: knowledge.alist(),
    "search": lambda knowledge: [knowledge.search(MARKER, 100, mode=mode) for mode in ("vector", "keyword", "hybrid")],
    "asearch": lambda knowledge: knowledge.asearch(f"The code is {MARKER}", 100),
    "refused": lambda knowledge: knowledge.refused(),
    "forget": lambda knowledge: knowledge.forget("secret"),
    "aforget": lambda knowledge: knowledge.aforget("secret"),
    "learn": lambda knowledge: knowledge.learn("secret", "his own"),
    "alearn": lambda knowledge: knowledge.alearn("secret", "his own"),
}
THREADS: dict[str, Callable[[Threads], Any]] = {
    "history": lambda threads: threads.history(),
    "ahistory": lambda threads: threads.ahistory(),
    "clear": lambda threads: threads.clear(),
    "aclear": lambda threads: threads.aclear(),
    "add": lambda threads: threads.add([("user", "his own")]),
    "aadd": lambda threads: threads.aadd([("user", "his own")]),
}


def test_no_call_is_forgotten_here() -> None:
    assert public(HistoryManager) == {*HISTORY, *HISTORY_OTHERS}
    assert public(OrderedPromptHistory) == {*ORDERED, "add_interaction"}
    assert public(PermanentHistory) == {*PERMANENT, "add_turn_user", "add_turn_assistant", "forget"}
    assert public(Memory(FakeEmbedder())) == {*MEMORY, *MEMORY_OTHERS}
    assert public(Knowledge) == {*KNOWLEDGE}
    assert public(Threads) == {*THREADS}


@pytest.mark.parametrize("name", HISTORY)
async def test_no_call_of_the_history_shows_what_another_said(two: tuple[FFAI, FFAI], name: str) -> None:
    hers, his = two
    assert MARKER not in await tried(lambda: HISTORY[name](his.history))
    assert MARKER not in await tried(lambda: HISTORY[name](hers.history.scoped(BOB)))


@pytest.mark.parametrize("name", sorted({*HISTORY} - {"raw", "clean", "permanent", "ordered", "forget"}))
async def test_each_query_takes_a_scope(two: tuple[FFAI, FFAI], name: str) -> None:
    hers, _ = two
    method = getattr(hers.history, name)
    if "scope" not in inspect.signature(method).parameters:
        assert name in {"flush", "aflush", "persist_all_histories"}
        return
    given = {
        "prompt_name": "shared_name",
        "prompt_names": ["shared_name"],
        "n": 100,
        "sequence_number": 1,
        "model": "m",
    }
    wanted = {key: value for key, value in given.items() if key in inspect.signature(method).parameters}
    if "query" in inspect.signature(method).parameters:
        wanted = {"query": f"My code is {MARKER}"}
    if name == "search_history":
        wanted = {"text": "code"}
    assert MARKER not in await tried(lambda: method(**wanted, scope=BOB))


@pytest.mark.parametrize("name", ORDERED)
async def test_no_call_of_the_ordered_history_shows_it(two: tuple[FFAI, FFAI], name: str) -> None:
    assert MARKER not in await tried(lambda: ORDERED[name](two[1].history.ordered))


@pytest.mark.parametrize("name", PERMANENT)
async def test_no_call_of_the_permanent_history_shows_it(two: tuple[FFAI, FFAI], name: str) -> None:
    permanent: Any = two[1].history.permanent
    assert MARKER not in await tried(lambda: PERMANENT[name](permanent))


@pytest.mark.parametrize("mode", ["vector", "keyword", "hybrid"])
async def test_no_mode_of_search_shows_it(two: tuple[FFAI, FFAI], mode: Any) -> None:
    hers, his = two
    assert his.memory is not None
    asked = f"What did Alice say of {MARKER}, my code and the secret?"
    for search in (his.memory.search, his.memory.asearch, his.history.search, his.history.asearch):
        assert MARKER not in await tried(lambda search=search: search(asked, 100, mode=mode, explain=True))
    assert MARKER not in await tried(lambda: hers.history.search(asked, 100, mode=mode, scope=BOB, explain=True))
    assert len(his.history.search("my code", 100, mode=mode)) == 1


@pytest.mark.parametrize("name", MEMORY)
async def test_no_call_of_the_memory_shows_it(two: tuple[FFAI, FFAI], name: str) -> None:
    hers, his = two
    assert his.memory is not None
    assert MARKER not in await tried(lambda: MEMORY[name](his.memory))
    assert hers.memory is not None
    assert hers.memory.count() == 3


@pytest.mark.parametrize("name", KNOWLEDGE)
async def test_no_call_of_the_knowledge_shows_or_changes_it(two: tuple[FFAI, FFAI], name: str) -> None:
    hers, his = two
    assert hers.memory is not None
    assert his.memory is not None
    assert MARKER not in await tried(lambda: KNOWLEDGE[name](his.memory.knowledge))
    known = hers.memory.knowledge.get("secret")
    assert known is not None
    assert known.value["content"] == f"The code is {MARKER}"
    assert hers.memory.knowledge.refused() == {f"failing {MARKER}": "ValueError: too hot"}


@pytest.mark.parametrize("name", THREADS)
async def test_no_call_of_the_threads_shows_or_changes_it(two: tuple[FFAI, FFAI], name: str) -> None:
    hers, his = two
    assert hers.memory is not None
    assert his.memory is not None
    assert MARKER not in await tried(lambda: THREADS[name](his.memory.threads))
    assert [message.content for message in hers.memory.threads.history()] == [f"My code is {MARKER}"]


async def test_a_turn_is_neither_given_by_its_id_nor_placed(two: tuple[FFAI, FFAI]) -> None:
    hers, his = two
    assert hers.memory is not None
    assert his.memory is not None
    for turn in hers.memory.list().turns:
        assert hers.memory.get(turn.turn_id) == turn
        assert his.memory.get(turn.turn_id) is await his.memory.aget(turn.turn_id) is None
        assert his.memory.place_of(MARKER, turn.turn_id) == TurnPlace(None)
        assert await his.memory.aplace_of(MARKER, turn.turn_id) == TurnPlace(None)


def test_what_she_recalled_is_new_where_he_says_it(two: tuple[FFAI, FFAI]) -> None:
    hers, his = two
    assert hers.memory is not None
    assert his.memory is not None
    hers.memory.note_recalled([f"My code is {MARKER}"])
    prompt = f"My code is {MARKER}\nSo what?"
    assert hers.memory.without_recalled(prompt) == "So what?"
    assert hers.memory.without_recalled(prompt, scope=BOB) == prompt


def test_her_own_view_shows_it(two: tuple[FFAI, FFAI]) -> None:
    hers, _ = two
    assert hers.memory is not None
    for seen in (hers.history.raw, hers.history.ordered.to_dict(), hers.history.permanent.get_all_turns()):
        assert MARKER in told(seen)
    assert [hit.repeats for hit in hers.history.search(f"My code is {MARKER}", 100)] == [2, 1]
    assert len(hers.memory.list().turns) == 4


async def test_an_export_holds_nothing_of_another(two: tuple[FFAI, FFAI], tmp_path: Path) -> None:
    _, his = two
    assert his.memory is not None
    assert his.memory.export_jsonl(tmp_path / "his.jsonl") == 1
    assert await his.memory.aexport_jsonl(tmp_path / "too.jsonl", vectors=True) == 1
    assert MARKER not in (tmp_path / "his.jsonl").read_text() + (tmp_path / "too.jsonl").read_text()


def test_what_a_scoped_memory_takes_in_is_of_its_scope(tmp_path: Path) -> None:
    file = tmp_path / "turns.jsonl"
    lines = [{"prompt": "Hi", "response": "Hello!"}, {"prompt": "Hi", "response": "You!", "scope": BOB.as_dict()}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    memory = Memory(FakeEmbedder())
    assert memory.scoped(ALICE).import_jsonl(file).added == 2
    assert [turn.response for turn in memory.list(scope=ALICE).turns] == ["Hello!"]
    assert [turn.response for turn in memory.list(scope=BOB).turns] == ["You!"]
    with FFAI(FakeClient(), memory=memory, require_scope=True) as ffai:
        assert ffai.memory is not None
        with pytest.raises(InvalidArgumentError, match="line 1: a scope is required"):
            ffai.memory.import_jsonl(file)
    memory.close()


def test_nobody_forgets_what_another_said(two: tuple[FFAI, FFAI]) -> None:
    hers, his = two
    assert hers.memory is not None
    assert his.memory is not None
    ids = [turn.turn_id for turn in hers.memory.list().turns]
    assert his.memory.forget(ids).count == 0
    assert his.memory.forget(where={"secret": MARKER}).count == 0
    his.history.forget(ids)
    his.memory.clear()
    assert his.memory.count() == 0
    assert len(hers.memory.knowledge.list()) == 2
    assert len(hers.memory.threads.history()) == 1
    assert len(hers.memory.list().turns) == 4
    assert len(hers.history.raw) == 3


# Talking


def test_a_reference_never_stands_for_the_words_of_another(two: tuple[FFAI, FFAI]) -> None:
    _, his = two
    asked = his.generate_response("Say {{shared_name.response}} again", history=["shared_name"])
    assert MARKER not in asked.resolved_prompt
    assert MARKER not in told([his.client.calls[-1].prompt, his.client.get_conversation_history()])
    for wrong in ("{{shared_name.response}}", f"{{{{secret_{MARKER[:5]}.response}}}}"):
        with pytest.raises(FFAIError) as caught:
            his.generate_response(wrong, options={"strict": True})
        assert MARKER not in str(caught.value)


def test_a_reference_stands_for_ones_own_words() -> None:
    ffai = FFAI(FakeClient(["Porto", "Rome", "Fine"]))
    alice, bob = ffai.scoped(ALICE), ffai.scoped(BOB)
    alice.generate_response("Where to?", prompt_name="where")
    bob.generate_response("Where to?", prompt_name="where")
    assert alice.generate_response("Why {{where.response}}?").resolved_prompt == "Why Porto?"
    assert bob.generate_response("Why {{where.response}}?").resolved_prompt == "Why Rome?"
    assert ffai.generate_response("Why {{where.response}}?").resolved_prompt == "Why Rome?"


@pytest.mark.parametrize("how", ["call", "async", "stream", "async stream"])
async def test_the_model_is_sent_nothing_that_another_said(openai_server: OpenAIServer, how: str) -> None:
    model = LiteLLMClient("openai/any", api_base=openai_server.api_base, api_key="none")

    async def ask(ffai: FFAI, prompt: str) -> None:
        if how == "call":
            ffai.generate_response(prompt)
        elif how == "async":
            await ffai.agenerate_response(prompt)
        elif how == "stream":
            assert list(ffai.stream_response(prompt))
        else:
            assert [piece async for piece in ffai.astream_response(prompt)]

    for client in (model, FallbackClient([model, FakeClient()]), RetryClient(model)):
        ffai = FFAI(client)
        alice, bob = ffai.scoped(ALICE), ffai.scoped(BOB)
        await ask(alice, f"My code is {MARKER}")
        await ask(bob, "My code is plain")
        assert MARKER not in told(openai_server.requests[-1].messages)
        await ask(alice, "What is my code?")
        messages = openai_server.requests[-1].messages
        assert [message["content"] for message in messages][::2] == [f"My code is {MARKER}", "What is my code?"]
        await ask(ffai, "Nobody asks")
        assert MARKER not in told(openai_server.requests[-1].messages)


def test_a_client_that_cannot_be_cloned_is_refused_before_it_is_asked() -> None:
    class OneForAll:
        model = "m"

        def __init__(self) -> None:
            self.messages: list[Any] = []

        def generate_response(self, prompt: str, **_: Any) -> str:
            self.messages += [prompt]
            return str(self.messages)

        def get_conversation_history(self) -> list[Any]:
            return self.messages

        def set_conversation_history(self, messages: list[Any]) -> None:
            self.messages = messages

    for client in (OneForAll(), RetryClient(OneForAll()), FallbackClient([OneForAll()])):
        ffai = FFAI(client)
        with pytest.raises(ArgumentTypeError, match=r"OneForAll keeps a conversation and has no clone\(\)"):
            ffai.scoped(ALICE).generate_response("Hi")
        assert "Hi" in ffai.generate_response("Hi").response


def test_another_client_is_asked_by_every_view() -> None:
    ffai, other = FFAI(FakeClient(["old"])), FakeClient(["new"])
    alice = ffai.scoped(ALICE)
    alice.generate_response("Hi")
    ffai.set_client(other)
    assert alice.generate_response("Hi").response == "new"
    assert len(alice.client.get_conversation_history()) == 2
    assert other.get_conversation_history() == []


# At once


def talk_in_a_thread(ffai: FFAI, name: str, failed: list[Any]) -> None:
    mine = ffai.scoped(MemoryScope.user(name))
    for number in range(25):
        asked = f"{name} says {number}"
        if mine.generate_response(asked, prompt_name="last").response != f"Reply to: {asked}":
            failed.append(asked)
        again = mine.generate_response("{{last.response}}").resolved_prompt
        if again != f"Reply to: {asked}":
            failed.append(again)


async def talk_in_tasks(ffai: FFAI) -> None:
    async def talk(name: str) -> None:
        mine = ffai.scoped(MemoryScope.user(name))
        for number in range(25):
            await mine.agenerate_response(f"{name} says {number}")
            await asyncio.sleep(0)

    await asyncio.gather(*(talk(f"task{number}") for number in range(4)))


def test_threads_and_tasks_never_mix_people_up() -> None:
    ffai, failed = FFAI(FakeClient(), memory=Memory(FakeEmbedder())), []
    names = [f"thread{number}" for number in range(4)]
    threads = [threading.Thread(target=talk_in_a_thread, args=(ffai, name, failed)) for name in names]
    threads.append(threading.Thread(target=lambda: asyncio.run(talk_in_tasks(ffai))))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ffai.flush()
    assert not failed
    assert ffai.memory is not None
    for turn in ffai.memory.list(limit=1000).turns:
        assert str(turn.scope.actor_id) in str(turn.prompt)
    for number in range(4):
        assert ffai.memory.scoped(MemoryScope.user(f"thread{number}")).count() == 50
        assert ffai.memory.scoped(MemoryScope.user(f"task{number}")).count() == 25
    ffai.close()


async def test_the_scope_is_that_of_the_moment_a_call_is_made() -> None:
    ffai, scope = FFAI(FakeClient()), {"actor_type": "user"}
    tasks = []
    for name in ("alice", "bob", "carol"):
        scope["actor_id"] = name
        tasks.append(asyncio.create_task(ffai.agenerate_response(f"I am {name}", scope=scope)))
    await asyncio.gather(*tasks)
    for name in ("alice", "bob", "carol"):
        assert ffai.history.scoped(MemoryScope.user(name)).get_prompt_history() == [f"I am {name}"]


@pytest.mark.parametrize("name", ["search", "list", "forget", "export", "index", "history"])
async def test_no_other_call_follows_a_scope_that_changes(tmp_path: Path, name: str) -> None:
    memory = Memory(FakeEmbedder())
    for scope in (ALICE, BOB):
        memory.remember(f"{scope.actor_id} was here", "Yes.", scope=scope)
    memory.flush()
    history = FFAI(FakeClient(), memory=memory).history
    calls: dict[str, Callable[[Any], Any]] = {
        "search": lambda scope: memory.asearch("was here", scope=scope),
        "list": lambda scope: memory.alist(scope=scope),
        "forget": lambda scope: memory.aforget(scope=scope),
        "export": lambda scope: memory.aexport_jsonl(tmp_path / "out.jsonl", scope=scope),
        "index": lambda scope: memory.aindex_turn({"role": "user", "content": "alice is new"}, scope=scope),
        "history": lambda scope: history.asearch("was here", scope=scope),
    }
    given = ALICE.as_dict()
    asked = calls[name](given)
    given["actor_id"] = "bob"
    result = told(await asked)
    exported = (tmp_path / "out.jsonl").read_text() if name == "export" else ""
    assert "bob" not in result + exported
    assert memory.scoped(BOB).count() == 1
    memory.close()


@pytest.mark.parametrize("scope", [MemoryScope.shared("bob"), {"source_type": "document"}])
def test_a_view_without_a_person_hears_nobody(scope: Any) -> None:
    ffai = FFAI(FakeClient())
    ffai.scoped(ALICE).generate_response(MARKER, prompt_name="secret")
    ffai.generate_response(MARKER, prompt_name="secret")
    view = ffai.scoped(scope)
    assert MARKER not in view.generate_response("Say {{secret.response}}").resolved_prompt
    assert MARKER not in told(view.client.get_conversation_history())


# What a person said and is forgotten


def test_who_is_forgotten_begins_a_new_conversation_with_the_model() -> None:
    with FFAI(FakeClient(), memory=Memory(FakeEmbedder())) as ffai:
        alice, bob = ffai.scoped(ALICE), ffai.scoped(BOB)
        for mine in (alice, bob):
            mine.generate_response("Hi")
        assert ffai.memory is not None
        assert ffai.memory.forget(scope=ALICE).removed["client_conversations"] == 1
        assert alice.client.get_conversation_history() == []
        assert len(bob.client.get_conversation_history()) == 2
        bob.client.clear_conversation()
        bob.generate_response("Again")
        assert len(bob.client.get_conversation_history()) == 2


def test_a_scoped_memory_takes_no_other_store() -> None:
    memory = Memory(FakeEmbedder())
    memory.remember("Hi", "Hello!", scope=ALICE)
    memory.flush()
    with pytest.raises(ScopeValidationError, match="has no store"):
        memory.scoped(BOB).store = TurnVectorStore()
    assert memory.count() == 1
    assert memory.scoped(MemoryScope.all()).store is memory.store


# Without a memory


def test_without_a_memory_the_histories_know_who_took_part() -> None:
    ffai = FFAI(FakeClient(["Yes.", "Yes.", ConnectionError("down")]))
    for name in ("alice", "bob"):
        ffai.generate_response("Hi", scope=MemoryScope.user(name, conversation="trip"))
    with pytest.raises(ConnectionError):
        ffai.generate_response("Hi", scope=MemoryScope.user("carol", conversation="trip"))
    assert len(ffai.history.scoped(MemoryScope.shared("alice", "bob")).raw) == 3
    assert len(ffai.history.scoped(MemoryScope.shared("alice", "carol")).raw) == 0
    internal = MemoryScope(conversation_id="trip").internal_conversation_id
    assert internal is not None
    ffai.generate_response("Hi", scope=MemoryScope.user("dave", conversation=internal))
    assert ffai.history.raw[-1]["scope"]["conversation_id"] == "trip"
    with pytest.raises(ScopeValidationError, match="no known conversation"):
        ffai.generate_response("Hi", scope=MemoryScope.user("dave", conversation="cnv_other"))


# What applies to all calls


def test_where_a_scope_is_required_no_call_goes_without() -> None:
    client = FakeClient()
    ffai = FFAI(client, memory=Memory(FakeEmbedder()), require_scope=True)
    ffai.generate_response("Hi", scope=ALICE)
    ffai.flush()
    memory: Any = ffai.memory
    for call in (
        lambda: ffai.generate_response("Hi"),
        lambda: ffai.generate_response("Hi", scope={"actor_id": ""}),
        lambda: ffai.generate_response("Hi", scope={"actor_name": "Alice"}),
        lambda: ffai.generate_response("Hi", scope={"source_type": "api"}),
        lambda: ffai.history.search("Hi", scope={"actor_name": "Alice"}),
        lambda: ffai.stream_response("Hi"),
        lambda: ffai.history.search("Hi"),
        lambda: ffai.history.raw,
        lambda: ffai.history.get_all_interactions(),
        lambda: memory.search("Hi"),
        lambda: memory.list(),
        lambda: memory.count(),
        lambda: memory.forget(where={"prompt_name": "x"}),
        lambda: memory.export_jsonl("turns.jsonl"),
        lambda: memory.remember("Hi", "Hello!"),
        lambda: memory.clear(),
        lambda: memory.store,
    ):
        with pytest.raises(ScopeValidationError) as caught:
            call()
        assert [violation.rule for violation in caught.value.violations] == ["required"]
    assert len(client.calls) == 1
    assert len(ffai.history.search("Hi", scope=ALICE)) == len(ffai.history.search("Hi", scope=MemoryScope.all())) == 1
    assert len(ffai.scoped(ALICE).history.raw) == len(ffai.scoped(MemoryScope.all()).history.raw) == 1
    assert ffai.scoped(BOB).history.search("Hi") == []
    ffai.close()


def test_a_default_scope_lies_under_each_call() -> None:
    memory = Memory(FakeEmbedder())
    ffai = FFAI(FakeClient(), memory=memory, default_scope=MemoryScope.user("alice", name="Alice", conversation="trip"))
    ffai.generate_response("One")
    ffai.generate_response("Two", scope=BOB)
    ffai.generate_response("Three", scope={"conversation_id": "home"})
    ffai.flush()
    stored = [turn.scope.as_dict() for turn in memory.list().turns]
    alice = {"actor_id": "alice", "actor_type": "user", "actor_name": "Alice", "source_type": "api"}
    assert stored == [
        {**alice, "conversation_id": "trip"},
        {"actor_id": "bob", "actor_type": "user", "conversation_id": "trip", "source_type": "api"},
        {**alice, "conversation_id": "home"},
    ]
    assert [hit.prompt for hit in ffai.history.search("One")] == ["One"]
    assert [hit.prompt for hit in ffai.history.search("One", scope={"participant_ids": ["alice"]})] == ["One", "Three"]
    assert len(ffai.history.search("One", scope=MemoryScope.all())) == 3
    ffai.close()


def test_a_guard_has_the_last_word() -> None:
    def only_bob(scope: MemoryScope) -> MemoryScope:
        if scope.actor_id not in (None, "bob"):
            raise PermissionError(scope.actor_id)
        return scope.merged(BOB)

    memory, client = Memory(FakeEmbedder()), FakeClient()
    memory.remember("Alice was here", "Yes.", scope=ALICE)
    ffai = FFAI(client, memory=memory, scope_guard=only_bob)
    ffai.generate_response("Bob was here")
    ffai.flush()
    assert [hit.prompt for hit in ffai.history.search("here", 5)] == ["Bob was here"]
    for call in (
        lambda: ffai.history.search("here", scope=ALICE),
        lambda: ffai.generate_response("Hi", scope=ALICE),
        lambda: ffai.scoped(ALICE).history.raw,
    ):
        with pytest.raises(PermissionError):
            call()
    assert len(client.calls) == 1
    with pytest.raises(ArgumentTypeError, match="scope_guard must return a MemoryScope"):
        FFAI(client, scope_guard=lambda _: None).generate_response("Hi")  # type: ignore[arg-type,return-value]


def test_a_memory_that_knows_no_scopes_is_refused_where_they_are_set() -> None:
    class Plain:
        def remember(self, prompt: str, response: str, **_: Any) -> str:
            return "1"

        def search(self, *_: Any, **__: Any) -> list[Any]:
            return []

        def flush(self, timeout: float | None = None) -> None: ...

        def when_forgotten(self, call: Any) -> None: ...

    memory: Any = Plain()
    FFAI(FakeClient(), memory=memory).generate_response("Hi")
    with pytest.raises(ArgumentTypeError, match="knows none"):
        FFAI(FakeClient(), memory=memory, require_scope=True)


def test_closing_a_view_leaves_the_others_open() -> None:
    with FFAI(FakeClient(), memory=Memory(FakeEmbedder())) as ffai:
        with ffai.scoped(ALICE) as alice:
            alice.generate_response("Hi")
        assert ffai.generate_response("Hi").response
        assert alice.generate_response("Hi").response
        view = ffai.scoped(BOB)
    with pytest.raises(FFAIError, match="closed"):
        view.generate_response("Hi")
