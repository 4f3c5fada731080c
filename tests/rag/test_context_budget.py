"""A context is never over its budget, and tells what it had to leave out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ffai import FFAI, Memory
from ffai.rag import AgentMemory, MemoryContext, count_tokens
from ffai.testing import FakeClient, FakeEmbedder

QUERY = "launch plan"
LONG = " ".join(f"the launch plan has step {number}" for number in range(60))
CJK = "发射计划推迟到星期五。" * 40
TEXTS = {
    "ten long memories": [f"launch plan {number}: {LONG}" for number in range(10)],
    "one longer than the budget": [f"launch plan: {LONG}"],
    "CJK text": [f"launch plan {number} {CJK}" for number in range(10)],
    "one of CJK text": [f"launch plan {CJK}"],
    "emoji": [f"launch plan {'👩‍👩‍👧‍👦🏽' * 200}"],
    "short ones": [f"launch plan number {number}" for number in range(10)],
}
Look = Callable[..., MemoryContext]


@pytest.fixture(params=TEXTS)
def rag(request: pytest.FixtureRequest) -> AgentMemory:
    ffai = FFAI(FakeClient(model="gpt-4o"), memory=Memory(FakeEmbedder()))
    assert ffai.memory is not None
    for text in TEXTS[request.param]:
        ffai.memory.remember(text, "Noted.")
        ffai.rag.kb.learn(text[:14], text)
    ffai.memory.flush()
    return ffai.rag


@pytest.fixture(params=["waiting", "awaited"])
def look(request: pytest.FixtureRequest) -> Look:
    def look(rag: AgentMemory, **options: Any) -> MemoryContext:
        if request.param == "waiting":
            return rag.context(QUERY, min_score=0.0, **options)
        return asyncio.run(rag.acontext(QUERY, min_score=0.0, **options))

    return look


def cost(text: str) -> int:
    return count_tokens(text, "gpt-4o")


@pytest.mark.parametrize("budget", [0, 1, 50, 400, 3000])
def test_a_context_is_never_over_its_tokens(rag: AgentMemory, look: Look, budget: int) -> None:
    whole, fitted = look(rag), look(rag, max_tokens=budget)
    assert cost(fitted.text) <= budget
    assert rag.build_context(QUERY, min_score=0.0, max_tokens=budget) == fitted.text
    shown, left = [one.id for one in fitted.sources], [one.id for one in fitted.left_out]
    assert sorted(shown + left) == sorted(one.id for one in whole.sources)
    assert shown == [one.id for one in whole.sources if one.id in shown]
    assert bool(fitted.text) is bool(shown)
    if cost(whole.text) <= budget:
        assert fitted == whole
    elif fitted.cut is None:
        assert all(one.excerpt.splitlines()[0] in fitted.text for one in fitted.sources)
    else:
        assert (fitted.sources, fitted.text.endswith("[…]")) == ((fitted.cut,), True)


@pytest.mark.parametrize("budget", [0, 1, 50, 400, 3000])
@pytest.mark.parametrize("framed", [True, False])
@pytest.mark.parametrize("role", ["user", "system"])
def test_what_a_model_is_told_is_never_over_it(rag: AgentMemory, budget: int, framed: bool, role: Any) -> None:
    result = rag.ask(QUERY, min_score=0.0, max_tokens=budget, framed=framed, context_role=role)
    asked = rag._backing.client.calls[-1]
    told = asked.prompt if role == "user" else asked.options["system_instructions"]
    if result.grounded:
        start = "Context from memory:\n" if role == "user" else "\n\n## Memory\n"
        context = told[told.index(start) + len(start) :].removesuffix(f"\n\n---\nQuestion: {QUERY}")
        assert 0 < cost(context) <= budget
    else:
        assert "launch plan " not in told.removesuffix(QUERY)
    found = rag.context(QUERY, min_score=0.0).sources
    assert len(result.sources) + len(result.left_out) == len(found)


@pytest.mark.parametrize("budget", [0, 1, 5, 50, 1000])
def test_a_context_is_never_over_its_characters(rag: AgentMemory, look: Look, budget: int) -> None:
    assert len(look(rag, max_chars=budget).text) <= budget
    assert len(rag.build_hybrid_context(QUERY, min_score=0.0, max_chars=budget).text) <= budget


def test_both_budgets_hold_at_once(rag: AgentMemory, look: Look) -> None:
    text = look(rag, max_chars=200, max_tokens=20).text
    assert len(text) <= 200
    assert cost(text) <= 20


def test_the_best_is_left_in_and_the_worst_is_left_out_first(look: Look) -> None:
    memory = Memory(FakeEmbedder())
    memory.remember("the plan is somewhere", "Yes.")
    memory.remember("launch plan", "launch plan")
    memory.knowledge.learn("far", "a plan of another kind, for a boat")
    memory.flush()
    rag = AgentMemory(FakeClient(), memory)
    whole = look(rag)
    fitted = look(rag, max_tokens=count_tokens(whole.text) - 1)
    assert [one.excerpt for one in fitted.left_out] == ["a plan of another kind, for a boat"]
    fitted = look(rag, max_chars=45)
    assert [one.excerpt for one in fitted.sources] == ["launch plan\nlaunch plan"]
    assert len(fitted.left_out) == 2


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_a_limit_counts_turns_and_knowledge_each(rag: AgentMemory, look: Look, limit: int) -> None:
    kinds = [one.kind for one in look(rag, limit=limit).sources]
    assert max(kinds.count("turn"), kinds.count("kb")) <= limit
    assert bool(kinds) is bool(limit)
