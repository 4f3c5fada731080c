"""What was said lately becomes one capsule, or nothing at all."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from ffai import FFAI, Memory, MemoryScope
from ffai.errors import EmptySummaryError, EmptyWindowError, InvalidArgumentError
from ffai.rag import AgentMemory, Decision, Fact, MemoryCapsule, StreamEvent
from ffai.testing import FakeClient, FakeEmbedder

Call = Callable[..., Any]
ALICE, BOB = (MemoryScope.user(name, conversation="c1") for name in ("alice", "bob"))
FACTS = {
    "facts": [{"subject": "launch", "predicate": "is on", "object": "Friday", "confidence": 0.9}],
    "decisions": ["the press is told on Thursday"],
    "tasks": [{"title": "tell the press", "owner": "bob"}],
    "open_questions": ["Who pays?"],
}


def saying(*replies: Any, scope: MemoryScope | None = ALICE) -> tuple[AgentMemory, FakeClient, Memory]:
    memory, client = Memory(FakeEmbedder()), FakeClient(replies)
    now = time.time()
    for number, text in enumerate(("launch moved to Friday", "budget is 10k")):
        memory.remember(text, "Noted.", scope=scope, timestamp=now - 60 + number)
    memory.flush()
    return AgentMemory(client, memory), client, memory


def stored(rag: AgentMemory) -> list[str]:
    return [entry.key for entry in rag.kb.entries()]


# Nothing stored, nothing lost


@pytest.mark.parametrize("reply", ["", "  ", "\n", TimeoutError("busy")])
def test_a_summary_that_fails_or_is_blank_stores_nothing_and_loses_nothing(call: Call, reply: Any) -> None:
    rag, _, memory = saying("The launch moved.", reply, reply, "Again.")
    call(rag, "compact_window", id="w1", scope=ALICE)
    events: list[StreamEvent] = []
    with pytest.raises(TimeoutError if isinstance(reply, TimeoutError) else EmptySummaryError):
        call(rag, "compact_window", id="w1", scope=ALICE, on_event=events.append)
    failed = call(rag, "compact_window_safe", id="w2", scope=ALICE, on_event=events.append)
    assert (failed.ok, failed.capsule, bool(failed.error)) == (False, None, True)
    assert [event.label.rpartition(":")[2] for event in events] == ["start", "error"] * 2
    assert [capsule.summary for capsule in rag.kb.capsules(scope=ALICE)] == ["The launch moved."]
    assert memory.count() == 2
    assert call(rag, "compact_window", id="w1", scope=ALICE).summary == "Again."


@pytest.mark.parametrize("hours", [24, 0])
def test_an_empty_window_asks_no_model(call: Call, hours: float) -> None:
    rag, client, _ = saying()
    whose = MemoryScope.user("carol") if hours else ALICE
    with pytest.raises(EmptyWindowError, match=f"within the last {hours:g} h"):
        call(rag, "compact_window", scope=whose, hours=hours)
    assert not call(rag, "compact_window_safe", scope=whose, hours=hours).ok
    assert call(rag, "summarize", scope=whose, hours=hours) == "There are no messages to summarise in this period."
    assert (client.calls, stored(rag)) == ([], [])


def test_filters_that_leave_nothing_are_an_empty_window(call: Call) -> None:
    rag, client, _ = saying()
    with pytest.raises(EmptyWindowError):
        call(rag, "compact_window", include_roles=["tool"])
    assert not client.calls


# What a capsule has


def test_the_model_is_asked_for_what_is_worth_knowing(call: Call) -> None:
    rag, client, _ = saying("The launch moved.", f"Here: ```json\n{json.dumps(FACTS)}\n```")
    capsule = call(rag, "compact_window", id="w1", scope=ALICE, extract=True, metadata={"week": 7})
    assert (capsule.facts[0].object, capsule.decisions[0].decision) == ("Friday", "the press is told on Thursday")
    assert (capsule.tasks[0].owner, capsule.open_questions) == ("bob", ["Who pays?"])
    assert capsule.metadata == {"week": 7}
    assert "[alice]: launch moved to Friday" in client.calls[1].prompt
    assert rag.kb.capsules(scope=ALICE) == [capsule]


@pytest.mark.parametrize("replies", [["no JSON", "still none"], [TimeoutError("busy")], ["no JSON", OSError("gone")]])
def test_a_model_that_gives_no_facts_leaves_the_summary_and_says_why(call: Call, replies: list[Any]) -> None:
    rag, _, _ = saying("The launch moved.", *replies)
    known = [{"id": "f1", "subject": "budget", "predicate": "is", "object": "10k"}]
    capsule = call(rag, "compact_window", id="w1", scope=ALICE, extract=True, facts=known, metadata={"week": 7})
    assert (capsule.summary, [fact.id for fact in capsule.facts], capsule.tasks) == ("The launch moved.", ["f1"], [])
    assert capsule.metadata["week"] == 7
    assert capsule.metadata["extraction_error"]
    assert rag.kb.capsules(scope=ALICE) == [capsule]


def test_what_the_caller_knows_stands_in_front(call: Call) -> None:
    rag, _, _ = saying("The launch moved.", json.dumps(FACTS))
    known = Fact(id="f1", subject="budget", predicate="is", object="10k")
    decided = {"id": "d1", "decision": "no party"}
    capsule = call(
        rag, "compact_window", scope=ALICE, extract=True, facts=[known], decisions=[decided], open_questions=["When?"]
    )
    assert [fact.object for fact in capsule.facts] == ["10k", "Friday"]
    assert capsule.decisions[0] == Decision(id="d1", decision="no party")
    assert capsule.open_questions == ["When?", "Who pays?"]


def test_times_and_roles_can_be_said(call: Call) -> None:
    rag, client, _ = saying("The launch moved.")
    capsule = call(rag, "compact_window", scope=ALICE, start_ts=1.0, end_ts=2.0, exclude_roles=["assistant"])
    assert (capsule.start_ts, capsule.end_ts, len(capsule.source_ids)) == (1.0, 2.0, 2)
    assert "Noted." not in str(client.calls[0].prompt)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"facts": [{"id": "f1"}]}, "subject"),
        ({"tasks": ["tell"]}, "tasks"),
        ({"start_ts": "monday"}, "start_ts"),
        ({"end_ts": float("nan")}, "end_ts"),
        ({"metadata": {"a": object()}}, "metadata"),
        ({"id": " "}, "id"),
        ({"extract": "false"}, "extract"),
        ({"hours": float("nan")}, "hours"),
    ],
)
def test_what_cannot_be_kept_is_named_before_a_model_is_asked(call: Call, wrong: dict[str, Any], named: str) -> None:
    rag, client, _ = saying("The launch moved.")
    for name in ("compact_window", "compact_window_safe"):
        with pytest.raises((InvalidArgumentError, TypeError), match=named):
            call(rag, name, scope=ALICE, **wrong)
    assert (client.calls, stored(rag)) == ([], [])


def test_a_misspelt_option_is_named(call: Call) -> None:
    rag, client, _ = saying("The launch moved.")
    for name in ("compact_window", "compact_window_safe"):
        with pytest.raises(TypeError, match="hour"):
            call(rag, name, hour=3)
    assert not client.calls


# Whose it is


def test_the_same_id_is_one_capsule_in_each_scope(call: Call) -> None:
    rag, _, memory = saying("First.", "Second.", "Bob's.")
    memory.remember("lunch at noon", "Noted.", scope=BOB)
    for scope in (ALICE, ALICE, BOB):
        call(rag, "compact_window", id="w1", scope=scope)
    assert [one.summary for one in rag.kb.capsules(scope=ALICE)] == ["Second."]
    assert [one.summary for one in rag.kb.capsules(scope=BOB)] == ["Bob's."]


def test_a_capsule_of_somebodys_messages_without_a_scope_is_seen_without_one_only(call: Call) -> None:
    rag, _, _ = saying("The launch moved.")
    call(rag, "compact_window", id="w1")
    assert [one.id for one in rag.kb.capsules()] == ["w1"]
    assert "launch moved." in rag.build_context("The launch moved.")
    for scope in (ALICE, BOB, MemoryScope.user("alice"), MemoryScope(conversation_id="c1")):
        assert rag.kb.capsules(scope=scope) == []
        assert "[KB]" not in rag.build_context("The launch moved.", scope=scope)


def test_a_capsule_of_nobodys_messages_is_everybodys(call: Call) -> None:
    rag, _, _ = saying("The launch moved.", scope=None)
    call(rag, "compact_window", id="w1")
    assert [one.id for one in rag.kb.capsules(scope=BOB)] == ["w1"]


@pytest.mark.parametrize("scope", [ALICE, None], ids=["scoped", "unscoped"])
def test_a_capsule_is_forgotten_with_a_turn_it_was_made_from(call: Call, scope: MemoryScope | None) -> None:
    rag, _, memory = saying("The launch moved.")
    call(rag, "compact_window", id="w1", scope=scope)
    memory.forget([memory.list().turns[0].turn_id])
    assert rag.kb.capsules(scope=scope) == []
    assert "[KB]" not in rag.build_context("The launch moved.", scope=scope)


def test_what_is_forgotten_while_the_model_thinks_is_not_kept_as_a_capsule(call: Call) -> None:
    rag, client, memory = saying()

    def summary(prompt: str) -> str:
        memory.forget([memory.list().turns[0].turn_id])
        return "The launch moved to Friday."

    client.add_replies(summary)
    failed = call(rag, "compact_window_safe", id="w1", scope=ALICE)
    assert not failed.ok
    assert "forgotten" in failed.error
    assert stored(rag) == []
    assert memory.count() == 1


# What is told


def test_events_tell_whose_window_it_was(call: Call) -> None:
    rag, _, _ = saying("The launch moved.")
    events: list[StreamEvent] = []
    capsule = call(rag, "compact_window", scope=ALICE, hours=2, limit=2, on_event=events.append)
    start, end = (event.payload for event in events)
    assert start == {
        "agent_name": "assistant",
        "capsule_id": capsule.id,
        "scope": ALICE.as_dict(),
        "hours": 2,
        "limit": 2,
    }
    assert end == {**start, "source_count": 2}


def test_a_record_that_only_claims_to_be_a_capsule_hides_no_other(call: Call, caplog: pytest.LogCaptureFixture) -> None:
    rag, _, _ = saying("The launch moved.", scope=None)
    rag.kb.learn("mine", {"kind": "memory-capsule", "content": "tea", "colour": "red"})
    capsule = call(rag, "compact_window", id="w1")
    assert call(rag.kb, "capsules") == [capsule]
    assert "mine" in caplog.text


def test_ffai_answers_from_its_capsules() -> None:
    with FFAI(FakeClient(["Noted.", "The key is under the mat.", "Yes."]), memory=Memory(FakeEmbedder())) as ffai:
        ffai.generate_response("The key is under the mat")
        capsule = ffai.rag.compact_window(id="monday")
        result = ffai.ask("Where is the key?", min_score=0.2)
        assert isinstance(capsule, MemoryCapsule)
        assert [(one.kind, one.id) for one in result.sources if one.kind == "capsule"] == [("capsule", "monday")]
