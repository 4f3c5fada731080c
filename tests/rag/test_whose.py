"""Whose memory answers: nothing of one person reaches another, whichever way the scope is said."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from ffai import FFAI, Memory, MemoryScope
from ffai.errors import ScopeValidationError
from ffai.rag import AgentMemory, StreamEvent
from ffai.testing import FakeClient, FakeEmbedder

ALICE, BOB = (MemoryScope.user(name, name=name.title(), conversation=f"c-{name}") for name in ("alice", "bob"))
QUESTION = "What is the secret password for the vault?"
SECRET = "xyzzy-of-alice"
Call = Callable[..., Any]


@pytest.fixture(params=["waiting", "awaited"])
def call(request: pytest.FixtureRequest) -> Call:
    """Call a method, or await its twin."""

    def call(owner: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        if request.param == "waiting":
            return getattr(owner, name)(*args, **kwargs)

        async def awaited() -> Any:
            answer = getattr(owner, f"a{name}")(*args, **kwargs)
            if inspect.isasyncgen(answer) or hasattr(answer, "__anext__"):
                return [piece async for piece in answer]
            return await answer if inspect.isawaitable(answer) else answer

        return asyncio.run(awaited())

    return call


def shared_memory() -> tuple[Memory, str]:
    """A memory in which Alice has a secret in each place there is, and Bob has something of his own."""
    memory = Memory(FakeEmbedder())
    turn = memory.remember(f"The secret password for the vault is {SECRET}", f"Noted: {SECRET}.", scope=ALICE)
    memory.remember("The secret password for the vault is known to Bob as plugh", "Noted.", scope=BOB)
    memory.knowledge.learn("vault", f"The secret password for the vault: {SECRET}", scope=ALICE)
    memory.flush()
    rag = AgentMemory(FakeClient([f"The secret password for the vault is {SECRET}."] * 3), memory)
    rag.compact_window(id="everything")  # of both: it may be seen without a scope only
    rag.compact_window(id="w1", scope=ALICE)
    rag.kb.add_node("thing", f"vault {SECRET}", id="vault", scope=ALICE)
    rag.kb.add_edge("vault", SECRET, "has the secret password", scope=ALICE)
    thread = rag.thread(scope=ALICE)
    thread.add_all([("user", QUESTION), ("assistant", SECRET)])
    memory.flush()
    return memory, turn


def everything_of(rag: AgentMemory, call: Call, turn: str, **scope: Any) -> list[Any]:
    """All that each call gives, or tells a model or a callback."""
    client, events = rag._backing.client, list[StreamEvent]()
    wide: dict[str, Any] = {"min_score": -1.0, "limit": 50, **scope}
    told: dict[str, Any] = {"on_event": events.append, **wide}
    seen = [call(rag, "ask", QUESTION, context_role=role, **told) for role in ("user", "system")]
    seen.append(call(rag, "ask", QUESTION, framed=False, max_tokens=50, **wide))
    seen += list(call(rag, "stream_ask", QUESTION, **wide))
    for name in ("context", "build_context", "build_context_safe", "build_hybrid_context", "explain"):
        seen.append(call(rag, name, QUESTION, **wide))
    seen.append(call(rag, "build_hybrid_context", QUESTION, ["vault"], max_hops=3, **wide))
    seen.append(str(call(rag, "explain", QUESTION, turn, **wide)))
    seen.append(call(rag, "recent_text", **scope))
    seen.append(call(rag, "summarize", **scope))
    seen.append(call(rag, "compact_window", id="w2", on_event=events.append, **scope))
    for name in ("entries", "capsules", "nodes", "edges"):
        seen.append(call(rag.kb, name, **scope))
    seen += [call(rag.kb, "search", QUESTION, 50, **scope), call(rag.kb, "get", "vault", **scope)]
    seen += [call(rag.kb, "get", key, **scope) for key in ("capsule:w1", "capsule:everything", "graph:node:vault")]
    thread = rag.thread(**scope)
    seen += [call(thread, "history"), call(thread, "ask", QUESTION, min_score=-1.0)]
    asked = [(one.prompt, dict(one.options)) for one in client.calls]
    return [*seen, *(event.payload for event in events), *asked]


def views(memory: Memory, way: str) -> tuple[AgentMemory, dict[str, Any]]:
    """Bob's view, made in one of the ways there are, and the scope that each call needs."""

    def guard(scope: MemoryScope) -> MemoryScope:
        if scope.actor_id not in (None, "bob") or scope.is_all:
            raise PermissionError(f"not yours: {scope!r}")
        return BOB.merged(scope)

    client = FakeClient(["I do not know."] * 20)
    if way == "call":
        return FFAI(client, memory=memory).rag, {"scope": BOB}
    if way == "required":
        return FFAI(client, memory=memory, require_scope=True).rag, {"scope": BOB.as_dict() | {"actor_name": "Bob"}}
    if way == "default":
        return FFAI(client, memory=memory, default_scope=BOB).rag, {}
    if way == "guard":
        return FFAI(client, memory=memory, scope_guard=guard).rag, {}
    if way == "scoped ffai":
        return FFAI(client, memory=memory).scoped(BOB).rag, {}
    if way == "scoped memory":
        return AgentMemory(client, memory.scoped(BOB)), {}
    return FFAI(client, memory=memory).rag.scoped(BOB), {}


WAYS = ["call", "required", "default", "guard", "scoped ffai", "scoped rag", "scoped memory"]


@pytest.mark.parametrize("way", WAYS)
def test_nothing_of_alice_is_in_any_call_of_bob(call: Call, way: str) -> None:
    memory, turn = shared_memory()
    rag, scope = views(memory, way)
    seen = everything_of(rag, call, turn, **scope)
    told = [text for text in map(str, seen) if SECRET in text or "everything" in text]
    assert told == []
    assert any("plugh" in str(one) for one in seen)
    memory.flush()
    assert not rag.kb.forget("vault", **scope)
    assert memory.scoped(ALICE).knowledge.get("vault") is not None


@pytest.mark.parametrize("way", WAYS)
def test_what_bob_remembers_is_bobs(call: Call, way: str) -> None:
    memory, _ = shared_memory()
    rag, scope = views(memory, way)
    result = call(rag, "ask", "Where is the key?", remember=True, **scope)
    rag.kb.learn("mine", "tea", **scope)
    rag.thread(**scope).add("user", "Hello")
    memory.flush()
    kept = memory.get(result.turn_id)
    assert kept is not None
    assert (kept.scope.actor_id, kept.scope.conversation_id) == ("bob", "c-bob")
    assert memory.get(result.turn_id, scope=ALICE) is None
    assert memory.knowledge.get("mine", scope=ALICE) is None
    assert [row.content for row in memory.threads.history(scope=BOB)] == ["Hello"]


def test_alice_sees_her_own(call: Call) -> None:
    memory, turn = shared_memory()
    seen = everything_of(FFAI(FakeClient(["I do not know."] * 20), memory=memory).scoped(ALICE).rag, call, turn)
    assert len([one for one in map(str, seen) if SECRET in one]) > 20
    assert not [one for one in map(str, seen) if "plugh" in one]


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("ask", (QUESTION,), {}),
    ("ask", (QUESTION,), {"remember": True}),
    ("context", (QUESTION,), {}),
    ("build_context", (QUESTION,), {}),
    ("build_context_safe", (QUESTION,), {}),
    ("build_hybrid_context", (QUESTION, ["vault"]), {}),
    ("explain", (QUESTION,), {}),
    ("recent_text", (), {}),
    ("summarize", (), {}),
    ("compact_window", (), {}),
    ("compact_window_safe", (), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS, ids=lambda value: str(value)[:24])
def test_a_required_scope_is_missed_before_a_model_is_asked(
    call: Call, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    memory, _ = shared_memory()
    client = FakeClient()
    rag = FFAI(client, memory=memory, require_scope=True).rag
    with pytest.raises(ScopeValidationError, match="required"):
        call(rag, name, *args, **kwargs)
    assert not client.calls


def test_a_thread_and_knowledge_need_a_required_scope_too() -> None:
    memory, _ = shared_memory()
    rag = FFAI(FakeClient(), memory=memory, require_scope=True).rag
    for use in (rag.thread, rag.kb.entries, rag.kb.capsules, lambda: rag.kb.learn("k", "tea"), lambda: rag.kb.get("k")):
        with pytest.raises(ScopeValidationError, match="required"):
            use()


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS, ids=lambda value: str(value)[:24])
def test_a_guard_that_refuses_is_heard_before_a_model_is_asked(
    call: Call, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    memory, _ = shared_memory()
    rag, _ = views(memory, "guard")
    with pytest.raises(PermissionError, match="not yours"):
        call(rag, name, *args, scope=ALICE, **kwargs)
    assert not rag._backing.client.calls


def test_a_guard_that_refuses_once_the_model_has_answered_costs_no_answer(call: Call) -> None:
    refused: list[str] = []

    def guard(scope: MemoryScope) -> MemoryScope:
        if refused:
            raise PermissionError(refused[0])
        return scope

    def answer(*_: object) -> str:
        refused.append("The session has ended.")
        return "Under the mat."

    events: list[StreamEvent] = []
    ffai = FFAI(FakeClient(), memory=Memory(FakeEmbedder()), scope_guard=guard)
    told = call(ffai.rag, "ask", "Where?", scope=ALICE, chat={"chat_fn": answer}, on_event=events.append)
    assert told.answer == "Under the mat."
    assert [event.payload["scope"]["actor_id"] for event in events] == ["alice", "alice"]


def test_a_guard_hears_of_a_thread_of_somebody_else(call: Call) -> None:
    memory, _ = shared_memory()
    theirs = AgentMemory(FakeClient(), memory).thread(scope=ALICE)
    rag, _ = views(memory, "guard")
    for asked in ({}, {"scope": BOB}):
        with pytest.raises(PermissionError, match="not yours"):
            call(rag, "ask", QUESTION, thread=theirs, **asked)


def test_a_view_of_a_guarded_memory_is_guarded_too() -> None:
    memory, _ = shared_memory()
    guarded = FFAI(FakeClient(), memory=memory, scope_guard=lambda scope: BOB).memory
    assert guarded is not None
    assert SECRET not in AgentMemory(FakeClient(), guarded).scoped(ALICE).build_context(QUESTION, min_score=-1.0)


def test_a_scoped_view_uses_the_client_and_the_memory_of_the_whole() -> None:
    memory, _ = shared_memory()
    ffai = FFAI(FakeClient(["one", "two"]), memory=memory)
    assert [ffai.scoped(name).ask("Why?").answer for name in (ALICE, BOB)] == ["one", "two"]
