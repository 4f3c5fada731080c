"""The cases of the contract for answers from memory: in this process, awaited, and after a restart."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ffai import FFAI, Memory, MemoryScope
from ffai.rag import (
    build_rag_prompt,
    format_kb_results,
    format_session_results,
    format_thread_lines,
    passes_role_filter,
    role_of,
    with_memory_block,
)
from ffai.rag.agent_memory import AgentMemory
from ffai.testing import FakeClient

NOW = time.time()
HISTORY = "Previous conversation:\nuser: good day\n---\n"
LAUNCHES = (
    "[alice]: launch was Monday\n[alice]: launch moved to Friday\n[brain]: noted: launch Friday\n"
    "[KB] launch checklist lives in the wiki"
)


class WordCounter:
    """Vectors that count three words; the fourth number keeps a text without them from being a zero vector."""

    model = "counts of launch, budget and lunch"

    def __init__(self) -> None:
        self.is_down = False

    def embed(self, texts: list[str]) -> np.ndarray:
        if self.is_down:
            raise RuntimeError("no embedding just now")
        words = [re.sub("[?.]", "", text.lower()).split() for text in texts]
        return np.array([[one.count(word) for word in ("launch", "budget", "lunch")] + [1e-9] for one in words])


Call = Callable[..., Any]


@pytest.fixture
def embedder() -> WordCounter:
    return WordCounter()


@pytest.fixture(params=["in memory", "after a restart"])
def memory(request: pytest.FixtureRequest, embedder: WordCounter, tmp_path: Path) -> Iterator[Memory]:
    """The memory of the contract's fixture G."""
    memory = filled(Memory(embedder), tmp_path if request.param == "after a restart" else None)
    if request.param == "after a restart":
        memory.close()
        memory = Memory(embedder)
        memory.persist_to(tmp_path)
    yield memory
    memory.close()


@pytest.fixture
def brain(memory: Memory) -> AgentMemory:
    """Its agent, in the only conversation."""
    return asking(memory)[0]


def filled(memory: Memory, folder: Path | None) -> Memory:
    if folder is not None:
        memory.persist_to(folder)
    said: list[tuple[str | None, float, str, dict[str, Any]]] = [
        ("alice", 100_000, "launch was Monday", {"role": "user"}),
        ("alice", 1000, "launch moved to Friday", {"role": "user"}),
        ("bob", 900, "budget is 10k", {"role": "user"}),
        (None, 800, "noted: launch Friday", {"role": "assistant"}),
        ("carol", 700, "lunch at noon", {"role": None}),
    ]
    for number, (who, ago, text, metadata) in enumerate(said):
        speaker = MemoryScope.user(who or "alice", conversation="standup")
        prompt, response = (text, "") if who else ("", text)
        told = {"message_id": f"m{number}", **metadata}
        memory.remember(prompt, response, scope=speaker, agent_actor_id="brain", timestamp=NOW - ago, metadata=told)
    memory.knowledge.learn("wiki", "launch checklist lives in the wiki")
    memory.knowledge.learn("owner", "budget owner is dana")
    memory.flush()
    return memory


def asking(memory: Memory, *replies: Any) -> tuple[AgentMemory, FakeClient]:
    """Give a memory a client that answers."""
    client = FakeClient(replies)
    return AgentMemory(client, memory, agent_actor_id="brain").scoped({"conversation_id": "standup"}), client


# Pure helpers


def test_01_to_04_a_prompt_is_the_question_with_what_is_known_in_front() -> None:
    assert build_rag_prompt("", "", "Where is the key?") == "Where is the key?"
    assert (
        build_rag_prompt("", "[ana]: under the mat", "Where is the key?")
        == "Context from memory:\n[ana]: under the mat\n\n---\nQuestion: Where is the key?"
    )
    history = format_thread_lines([{"role": "user", "content": "good day"}])
    assert history == HISTORY
    assert build_rag_prompt(history, "", "What else?") == f"{HISTORY}Question: What else?"
    assert (
        build_rag_prompt(history, "[ben]: key is red", "And now?")
        == f"{HISTORY}Context from memory:\n[ben]: key is red\n\n---\nQuestion: And now?"
    )


def test_05_to_08_lines_are_as_the_contract_writes_them() -> None:
    assert format_thread_lines([]) == ""
    talk = [{"role": "user", "content": "3 times 3?"}, {"role": "assistant", "content": "9"}]
    assert format_thread_lines(talk) == "Previous conversation:\nuser: 3 times 3?\nassistant: 9\n---\n"
    said = [{"value": {"sender_name": "ana", "content": "morning all"}}, {"value": {"content": "who am I"}}]
    assert format_session_results(said) == ["[ana]: morning all", "[unknown]: who am I"]
    known = [{"value": {"content": "Rain is likely"}}, {"value": {"title": "Refunds", "days": 30}}]
    assert format_kb_results(known) == ["[KB] Rain is likely", '[KB] {"title":"Refunds","days":30}']
    assert with_memory_block("base", "") == with_memory_block("base", "   \n  ") == "base"
    assert with_memory_block("base", "- tea") == "base\n\n## Memory\n- tea"
    assert with_memory_block("base", "one line", "## Notes") == "base\n\n## Notes\none line"


def test_09_to_11_roles_are_read_and_filtered() -> None:
    def tagged(role: Any) -> dict[str, Any]:
        return {"key": "k", "value": {"metadata": {"role": role}}}

    untagged = [{"key": "k", "value": {"metadata": None}}, {"key": "k", "value": {}}, tagged(None)]
    assert [role_of(entry) for entry in [tagged("user"), *untagged]] == ["user", "", "", ""]
    kept = [passes_role_filter(one, ["user"]) for one in map(tagged, ("user", "assistant", None, "User"))]
    assert kept == [True, False, False, False]
    kept = [passes_role_filter(one, None, ["assistant"]) for one in map(tagged, ("user", "assistant", None))]
    assert kept == [True, False, True]


# Windows


def test_12_the_last_messages_are_bullets_oldest_first(brain: AgentMemory, call: Call) -> None:
    expected = "- launch moved to Friday\n- budget is 10k\n- noted: launch Friday\n- lunch at noon"
    assert call(brain, "recent_text") == expected


def test_13_a_longer_window_without_the_assistant(brain: AgentMemory, call: Call) -> None:
    expected = "- launch was Monday\n- launch moved to Friday\n- budget is 10k\n- lunch at noon"
    assert call(brain, "recent_text", hours=48, exclude_roles=["assistant"]) == expected


def test_14_only_what_users_said(brain: AgentMemory, call: Call) -> None:
    assert call(brain, "recent_text", include_roles=["user"]) == "- launch moved to Friday\n- budget is 10k"
    empty = AgentMemory(FakeClient(), Memory(WordCounter()))
    assert call(empty, "recent_text") == ""


# Contexts


def test_15_a_context_has_what_is_close_from_the_conversation_and_the_knowledge(brain: AgentMemory, call: Call) -> None:
    assert call(brain, "build_context", "launch") == LAUNCHES


def test_16_an_embedder_that_is_down_breaks_the_context_and_not_the_safe_one(
    brain: AgentMemory, embedder: WordCounter, call: Call
) -> None:
    embedder.is_down = True
    with pytest.raises(RuntimeError, match="no embedding"):
        call(brain, "build_context", "launch")
    assert call(brain, "build_context_safe", "launch") == ""
    assert call(brain, "recent_text").startswith("- launch moved to Friday\n- budget is 10k")


# Answers


def test_17_an_answer_rests_on_just_the_lines_of_its_context(memory: Memory, call: Call) -> None:
    rag, client = asking(memory, "Friday.")
    result = call(rag, "ask", "When is the launch?", framed=False)
    assert [one.prompt for one in client.calls] == [build_rag_prompt("", LAUNCHES, "When is the launch?")]
    assert (result["answer"], result.grounded) == ("Friday.", True)
    assert [source.kind for source in result["sources"]] == ["turn", "turn", "turn", "kb"]
    origins = [source.provenance.source_id for source in result.sources if source.provenance]
    assert origins == ["m0", "m1", "m3", "wiki"]


def test_17_nothing_known_leaves_the_bare_question(call: Call) -> None:
    client = FakeClient(["I do not know."])
    result = call(AgentMemory(client, Memory(WordCounter())), "ask", "When is the launch?")
    assert [one.prompt for one in client.calls] == ["When is the launch?"]
    assert (result.sources, result.grounded) == ((), False)


def test_18_a_thread_goes_along_and_keeps_its_last_turns(call: Call) -> None:
    client = FakeClient(["a1", "a2", "a3"])
    rag = AgentMemory(client, Memory(WordCounter()))
    thread = rag.thread("c1", "alice", max_turns=2)
    for question in ("q1", "q2", "q3"):
        call(rag, "ask_with_thread", thread, question)
    assert client.calls[2].prompt == (
        "Previous conversation:\nuser: q1\nassistant: a1\nuser: q2\nassistant: a2\n---\nQuestion: q3"
    )
    contents = [[message.content for message in call(thread, "history", limit)] for limit in (None, 3, 0, 99)]
    assert contents == [["q2", "a2", "q3", "a3"], ["a2", "q3", "a3"], [], ["q2", "a2", "q3", "a3"]]


# Capsules


def test_19_a_window_becomes_one_capsule(memory: Memory, call: Call) -> None:
    rag, _ = asking(memory, "SUM", "SUM")
    for _ in range(2):
        capsule = call(rag, "compact_window", id="w1")
        assert (capsule.id, capsule.summary) == ("w1", "SUM")
        assert (capsule.start_ts, capsule.end_ts) == (pytest.approx(NOW - 1000), pytest.approx(NOW - 700))
        assert capsule.source_ids == ["m1", "m2", "m3", "m4"]
        assert [capsule.facts, capsule.decisions, capsule.tasks, capsule.open_questions] == [[]] * 4
        assert capsule.metadata == {}
    assert call(rag.kb, "capsules") == [capsule]
    value = call(rag.kb, "get", "capsule:w1").value
    assert (value["kind"], value["content"]) == ("memory-capsule", "SUM")


def test_20_a_failing_model_leaves_no_capsule_and_tells(memory: Memory, call: Call) -> None:
    rag, _ = asking(memory, RuntimeError("boom"), "SUM", "SUM")
    events: list[Any] = []
    failed = call(rag, "compact_window_safe", id="w2", on_event=events.append)
    assert (failed.ok, failed.capsule) == (False, None)
    assert "boom" in failed.error
    assert [event.label for event in events] == ["ai:rag:compaction:start", "ai:rag:compaction:error"]
    assert call(rag.kb, "get", "capsule:w2") is None
    events.clear()
    done = call(rag, "compact_window_safe", id="w2", on_event=events.append)
    assert (done.ok, done.capsule.id, done.error) == (True, "w2", None)
    assert [event.label for event in events] == ["ai:rag:compaction:start", "ai:rag:compaction:end"]
    assert events[1].payload["source_count"] == 4
    assert call(rag, "compact_window_safe", id="w3").ok


# More that is worth having


def test_capsules_and_threads_survive_a_restart(tmp_path: Path, call: Call) -> None:
    alice = {"actor_id": "alice", "actor_type": "user", "conversation_id": "c1"}
    config = {"memory": {"persist_dir": str(tmp_path)}}
    with FFAI(FakeClient(["Lisbon.", "SUM"]), memory=Memory(WordCounter()), memory_persist=True, config=config) as ffai:
        call(ffai.rag.thread("c1", "alice"), "ask", "Where to?")
        ffai.memory.remember("launch was Monday", "", scope=alice)  # type: ignore[union-attr]
        call(ffai.rag, "compact_window", id="w1", scope=alice)
    with FFAI(FakeClient(), memory=Memory(WordCounter()), memory_persist=True, config=config) as ffai:
        assert [one.content for one in call(ffai.rag.thread("c1", "alice"), "history")] == ["Where to?", "Lisbon."]
        assert [one.id for one in call(ffai.rag.kb, "capsules", scope=alice)] == ["w1"]


def test_a_capsule_of_one_conversation_is_not_seen_in_another(memory: Memory, call: Call) -> None:
    rag, _ = asking(memory, "launch SUM")
    call(rag, "compact_window", id="w1")
    everybody = AgentMemory(FakeClient(), memory)
    assert "launch SUM" in call(rag, "build_context", "launch")
    for other in ({"conversation_id": "lunch"}, MemoryScope.user("alice"), MemoryScope.user("eve")):
        assert "launch SUM" not in call(everybody, "build_context", "launch", scope=other)
