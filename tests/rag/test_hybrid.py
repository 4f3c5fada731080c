"""Looking up by meaning and along edges at once: each line is cited, and none comes twice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ffai import Memory, MemoryScope
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.rag import AgentMemory, HybridContext
from ffai.testing import FakeClient, FakeEmbedder


@pytest.fixture(params=["waiting", "awaited"])
def hybrid(request: pytest.FixtureRequest) -> Any:
    def call(rag: AgentMemory, *args: Any, **kwargs: Any) -> HybridContext:
        if request.param == "waiting":
            return rag.build_hybrid_context(*args, **kwargs)
        return asyncio.run(rag.abuild_hybrid_context(*args, **kwargs))

    return call


class Switchable(FakeEmbedder):
    """An embedder that can be down."""

    is_down = False

    def embed(self, texts: list[str]) -> Any:
        if self.is_down:
            raise RuntimeError("no embedding just now")
        return super().embed(texts)


@pytest.fixture
def embedder() -> Switchable:
    return Switchable()


@pytest.fixture
def rag(embedder: Switchable) -> AgentMemory:
    """A chain dana - budget - launch - press, and one turn."""
    memory = Memory(embedder)
    rag = AgentMemory(FakeClient(), memory)
    memory.remember("Who looks after the budget?", "Dana does.")
    rag.kb.add_node("person", "Dana", summary="Dana looks after money")
    rag.kb.add_edge("person:dana", "topic:budget", "owns")
    rag.kb.add_edge("topic:budget", "topic:launch", "pays for")
    rag.kb.add_edge("topic:launch", "topic:press", "is told to")
    memory.flush()
    return rag


def labels(found: HybridContext) -> list[str]:
    return [citation.label for citation in found.citations]


EDGES = [
    "person:dana:owns:topic:budget",
    "topic:budget:pays for:topic:launch",
    "topic:launch:is told to:topic:press",
]


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_edges_are_followed_as_far_as_is_asked(rag: AgentMemory, hybrid: Any, hops: int) -> None:
    found = hybrid(rag, "zebra", ["person:dana"], max_hops=hops)
    assert labels(found) == EDGES[:hops]
    assert found.text.splitlines()[0] == "[person:dana:owns:topic:budget] person:dana owns topic:budget"
    assert [citation.score for citation in found.citations] == [None] * hops


def test_a_seed_in_the_middle_reaches_both_ways_and_seeds_keep_their_order(rag: AgentMemory, hybrid: Any) -> None:
    assert labels(hybrid(rag, "zebra", ["topic:launch"])) == [EDGES[1], EDGES[2]]
    assert labels(hybrid(rag, "zebra", ["topic:press", "person:dana"])) == [EDGES[2], EDGES[0]]
    assert labels(hybrid(rag, "zebra", "person:dana")) == [EDGES[0]]


def test_nodes_that_are_found_by_meaning_are_seeds_too(rag: AgentMemory, hybrid: Any) -> None:
    found = hybrid(rag, "Dana looks after money", min_score=0.6)
    assert labels(found)[1:] == ["Dana", EDGES[0]]
    assert EDGES[0] not in labels(hybrid(rag, "Dana looks after money", auto_seed=False, min_score=0.9))


def test_an_edge_that_is_found_both_ways_stands_once_and_where_it_came_first(rag: AgentMemory, hybrid: Any) -> None:
    rag.kb.learn("notes", "who said that the budget is a budget of a kind")
    alone = labels(hybrid(rag, "who owns the budget", min_score=0.2, auto_seed=False))
    both = labels(hybrid(rag, "who owns the budget", ["person:dana"], min_score=0.2, auto_seed=False))
    assert EDGES[0] in alone
    assert alone.index(EDGES[0]) < len(alone) - 1
    assert both == alone
    assert len(set(both)) == len(both)


def test_what_two_scopes_have_under_one_key_are_two_things(rag: AgentMemory, hybrid: Any) -> None:
    alice = MemoryScope.user("alice")
    rag.kb.learn("diet", "Lunch has nuts in it")
    rag.kb.learn("diet", "Lunch without nuts for Alice", scope=alice)
    found = hybrid(rag, "Lunch nuts", scope=alice)
    assert {citation.excerpt for citation in found.citations} == {
        "Lunch has nuts in it",
        "Lunch without nuts for Alice",
    }


def test_an_embedder_that_is_down_leaves_the_edges_of_the_given_seeds(
    rag: AgentMemory, hybrid: Any, embedder: Switchable
) -> None:
    embedder.is_down = True
    found = hybrid(rag, "Who looks after the budget?", ["person:dana"])
    assert labels(found) == [EDGES[0]]
    assert "no embedding" in found.error
    with pytest.raises(RuntimeError, match="no embedding"):
        hybrid(rag, "Who looks after the budget?")


def test_only_messages_of_the_wanted_roles_are_shown(rag: AgentMemory, hybrid: Any) -> None:
    found = hybrid(rag, "Who looks after the budget?", include_roles=["assistant"])
    turn = next(citation for citation in found.citations if citation.kind == "turn")
    assert turn.excerpt == "Dana does."
    assert "Who looks" not in found.text


def test_edges_are_left_out_before_what_was_found_by_meaning(rag: AgentMemory, hybrid: Any) -> None:
    whole = hybrid(rag, "Who looks after the budget?", ["person:dana"])
    small = hybrid(rag, "Who looks after the budget?", ["person:dana"], max_chars=len(whole.text) - 1)
    assert small.left_out[-1].label == EDGES[0]
    assert small.citations[0] == whole.citations[0]
    assert len(small.text) < len(whole.text)


@pytest.mark.parametrize(
    ("wrong", "error", "named"),
    [
        ({"max_hops": 0}, InvalidArgumentError, "max_hops"),
        ({"max_hops": 4}, InvalidArgumentError, "max_hops"),
        ({"auto_seed": "no"}, ArgumentTypeError, "auto_seed"),
        ({"seed_node_ids": [3]}, ArgumentTypeError, "seed_node_ids"),
        ({"seed_node_ids": 3}, ArgumentTypeError, "seed_node_ids"),
    ],
)
def test_a_wrong_seed_is_named(
    rag: AgentMemory, hybrid: Any, wrong: dict[str, Any], error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        hybrid(rag, "budget", **wrong)


async def test_nodes_and_edges_are_taught_awaited_as_they_are_waiting() -> None:
    kb = AgentMemory(FakeClient(), Memory(FakeEmbedder())).kb
    assert await kb.aadd_node("person", "Dana Reed") == "person:dana-reed"
    assert await kb.aadd_edge("person:dana-reed", "topic:budget", "owns") == "person:dana-reed:owns:topic:budget"
    assert await kb.aadd_graph([{"label": "Launch"}], []) == ["topic:launch"]
    assert [node.value["label"] for node in await kb.anodes()] == ["Dana Reed", "Launch"]
    assert [edge.key for edge in kb.edges()] == ["graph:edge:person:dana-reed:owns:topic:budget"]
