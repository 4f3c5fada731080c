"""Why something is found, and why something else is not: with the numbers, and without telling of others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ffai import FFAI, Memory, MemoryScope
from ffai.rag import AgentMemory, ExplainedEntry, Explanation
from ffai.testing import FakeClient, FakeEmbedder

ALICE, BOB = MemoryScope.user("alice"), MemoryScope.user("bob")
QUESTION = "Where is the key?"


@pytest.fixture(params=["waiting", "awaited"])
def explain(request: pytest.FixtureRequest) -> Any:
    def explain(rag: AgentMemory, *args: Any, **kwargs: Any) -> Explanation:
        if request.param == "waiting":
            return rag.explain(*args, **kwargs)
        return asyncio.run(rag.aexplain(*args, **kwargs))

    return explain


def knowing(embedder: FakeEmbedder | None = None, **settings: Any) -> tuple[AgentMemory, Memory, dict[str, str]]:
    memory = Memory(embedder or FakeEmbedder())
    ids = {
        "key": memory.remember("The key is under the mat", "Noted.", scope=ALICE),
        "spare": memory.remember("The spare key is somewhere", "Noted.", scope=ALICE),
        "bread": memory.remember("Bread needs an hour", "Yes.", scope=ALICE),
        "bob": memory.remember("The key of Bob is lost", "Oh.", scope=BOB),
    }
    memory.flush()
    return FFAI(FakeClient(), memory=memory, **settings).rag, memory, ids


def only(entries: tuple[ExplainedEntry, ...]) -> ExplainedEntry:
    (entry,) = entries
    return entry


def test_what_is_found_is_what_an_answer_rests_on_with_the_same_numbers(explain: Any) -> None:
    rag, _, ids = knowing()
    rag.kb.learn("keys", "A key is on the board")
    rag.kb.add_node("thing", "The key")
    told = explain(rag, QUESTION, scope=ALICE, min_score=0.3)
    result = rag.ask(QUESTION, scope=ALICE, min_score=0.3)
    assert {entry.id for entry in told.found} == {source.id for source in result.sources}
    scores = {source.id: source.score for source in result.sources}
    assert {entry.id: entry.score for entry in told.found} == scores
    assert (told.min_score, told.limit, told.mode, told.model) == (0.3, 10, "hybrid", "fake/hashed-words")
    assert (told.stored, told.pending, told.failed, told.scope) == (3, 0, 0, ALICE)
    assert ids["bob"] not in str(told)


def test_what_is_too_far_tells_its_cosine_and_the_threshold(explain: Any) -> None:
    rag, memory, ids = knowing()
    entry = only(explain(rag, QUESTION, ids["bread"], scope=ALICE).missed)
    hit = next(hit for hit in memory.search(QUESTION, top_k=9, scope=ALICE) if hit.turn_id == ids["bread"])
    assert (entry.state, entry.rank, entry.score) == ("too far", 3, pytest.approx(hit.score))
    assert f"cosine {hit.score:.3f} (at least 0.5)" in entry.reason
    assert "Bread needs" in entry.reason


def test_the_nearest_misses_are_told_of_where_none_is_asked_for(explain: Any) -> None:
    rag, _, ids = knowing()
    told = explain(rag, QUESTION, scope=ALICE)
    assert ids["bread"] in [entry.id for entry in told.missed]
    assert {entry.state for entry in told.missed} == {"too far"}


def test_what_is_beyond_the_limit(explain: Any) -> None:
    rag, _, ids = knowing()
    told = explain(rag, QUESTION, scope=ALICE, min_score=0.1, limit=1)
    assert len(told.found) == 1
    other = ids["spare"] if told.found[0].id == ids["key"] else ids["key"]
    entry = only(explain(rag, QUESTION, other, scope=ALICE, min_score=0.1, limit=1).missed)
    assert (entry.state, entry.rank) == ("beyond the limit", 2)
    assert "limit 1" in entry.reason


def test_a_turn_has_its_place_by_meaning_alone_where_no_words_are_prepared(explain: Any) -> None:
    rag, memory, ids = knowing()
    for number in range(30):
        memory.remember(f"The key number {number} is under the mat", "Noted.", scope=ALICE)
    entry = only(explain(rag, QUESTION, ids["bread"], scope=ALICE, limit=1, mode="vector").missed)
    found = memory.search(QUESTION, top_k=99, scope=ALICE)
    rank = [hit.turn_id for hit in found].index(ids["bread"]) + 1
    assert (entry.state, entry.rank, entry.score) == ("too far", rank, found[rank - 1].score)


@pytest.mark.parametrize("min_score", [0.0, -1.0])
def test_a_turn_that_a_search_by_words_can_not_find_is_too_far_whatever_the_least_cosine(
    explain: Any, min_score: float
) -> None:
    rag, _, ids = knowing()
    asked: Any = {"scope": ALICE, "mode": "keyword", "min_score": min_score}
    assert ids["bread"] not in [source.id for source in rag.context(QUESTION, limit=99, **asked).sources]
    entry = only(explain(rag, QUESTION, ids["bread"], **asked).missed)
    assert (entry.state, entry.rank) == ("too far", None)


def test_a_turn_that_is_further_down_than_anything_that_was_looked_up_has_its_place_all_the_same(explain: Any) -> None:
    rag, memory, ids = knowing()
    for number in range(30):
        memory.remember(f"The key number {number} is under the mat", "Noted.", scope=ALICE)
    memory.flush()
    entry = only(explain(rag, QUESTION, ids["bread"], scope=ALICE, limit=1).missed)
    assert (entry.state, entry.rank) == ("too far", 33)
    hits = memory.search(QUESTION, top_k=99, scope=ALICE, mode="hybrid")
    assert entry.score == pytest.approx(next(hit.score for hit in hits if hit.turn_id == ids["bread"]))
    last = [hit for hit in hits if hit.score > 0.3][-1]
    rank = [hit.turn_id for hit in hits].index(last.turn_id) + 1
    entry = only(explain(rag, QUESTION, last.turn_id, scope=ALICE, limit=1, min_score=0.3).missed)
    assert (entry.state, entry.rank) == ("beyond the limit", rank)


def test_a_repeat_of_what_is_too_far_is_too_far_as_well(explain: Any) -> None:
    rag, memory, ids = knowing()
    again = memory.remember("Bread needs an hour", "Yes.", scope=ALICE)
    memory.flush()
    entries = [only(explain(rag, QUESTION, turn_id, scope=ALICE).missed) for turn_id in (ids["bread"], again)]
    assert [entry.id for entry in entries] == [ids["bread"], again]
    assert [entry.state for entry in entries] == ["too far"] * 2
    assert entries[0].reason == entries[1].reason


def test_what_did_not_fit_into_the_budget(explain: Any) -> None:
    rag, _, _ = knowing()
    told = explain(rag, QUESTION, scope=ALICE, min_score=0.1, max_chars=70)
    left = rag.context(QUESTION, scope=ALICE, min_score=0.1, max_chars=70).left_out
    assert left
    assert {entry.id for entry in told.missed if entry.state == "over the budget"} == {one.id for one in left}
    assert only(explain(rag, QUESTION, left[0].id, scope=ALICE, min_score=0.1, max_chars=70).missed).state == (
        "over the budget"
    )


def test_what_has_no_message_of_the_wanted_roles(explain: Any) -> None:
    rag, _, ids = knowing()
    told = explain(rag, QUESTION, ids["key"], scope=ALICE, include_roles=["tool"])
    assert told.found == ()
    assert only(told.missed).state == "of other roles"


def test_what_is_found_is_not_missed_too(explain: Any) -> None:
    rag, _, ids = knowing()
    told = explain(rag, "The key is under the mat", ids["key"], scope=ALICE)
    assert told.missed == ()
    assert ids["key"] in [entry.id for entry in told.found]


def test_a_repeat_is_told_to_be_shown_as_another(explain: Any) -> None:
    rag, memory, ids = knowing()
    again = memory.remember("The key is under the mat", "Noted.", scope=ALICE)
    memory.flush()
    told = explain(rag, "The key is under the mat", scope=ALICE)
    shown = told.found[0].id
    hidden = again if shown == ids["key"] else ids["key"]
    entry = only(explain(rag, "The key is under the mat", hidden, scope=ALICE).missed)
    assert entry.state == "found as another"
    assert shown in entry.reason


def test_what_waits_and_what_was_given_up(explain: Any) -> None:
    embedder = FakeEmbedder()
    rag, memory, _ = knowing(embedder)
    embedder.fail = lambda text: ValueError("too long") if "lost" in text else None
    failed = memory.remember("The key was lost", "Oh.", scope=ALICE)
    memory.flush()
    entry = only(explain(rag, QUESTION, failed, scope=ALICE).missed)
    assert (entry.state, entry.text) == ("failed", "The key was lost\nOh.")
    assert "too long" in entry.reason
    slow = FakeEmbedder()
    rag, memory, _ = knowing(slow)
    slow.fail = lambda text: ConnectionError("away") if "later" in text else None
    waiting = memory.remember("The key comes later", "Fine.", scope=ALICE)
    entry = only(explain(rag, QUESTION, waiting, scope=ALICE, wait=0.0).missed)
    assert entry.state == "waiting"


def test_what_is_out_of_scope_is_told_to_one_who_may_see_everything(explain: Any) -> None:
    rag, _, ids = knowing()
    entry = only(explain(rag, QUESTION, ids["bob"], scope=ALICE).missed)
    assert (entry.state, entry.scope.actor_id) == ("out of scope", "bob")  # type: ignore[union-attr]


@pytest.mark.parametrize("view", ["scoped", "default", "guarded"])
def test_one_who_is_kept_to_a_scope_cannot_tell_that_somebody_elses_turn_exists(explain: Any, view: str) -> None:
    def guard(scope: MemoryScope) -> MemoryScope:
        return ALICE.merged(scope) if scope.actor_id in (None, "alice") else ALICE

    settings: dict[str, Any] = {"default": {"default_scope": ALICE}, "guarded": {"scope_guard": guard}}.get(view, {})
    rag, _, ids = knowing(**settings)
    if view == "scoped":
        rag = rag.scoped(ALICE)
    theirs, none = (only(explain(rag, QUESTION, turn_id).missed) for turn_id in (ids["bob"], "no-such-turn"))
    assert theirs.state == none.state == "unknown"
    assert theirs.reason == none.reason.replace("no-such-turn", ids["bob"])
    assert (theirs.text, theirs.scope, theirs.score, theirs.rank) == ("", None, None, None)


def test_where_a_scope_is_required_that_of_the_call_is_enough(explain: Any) -> None:
    memory = Memory(FakeEmbedder())
    known = memory.remember("The key is under the mat", "Noted.", scope=ALICE)
    theirs = memory.remember("The key of Bob is lost", "Oh.", scope=BOB)
    memory.flush()
    rag = FFAI(FakeClient(), memory=memory, require_scope=True).rag
    assert only(explain(rag, "a boat", known, scope=ALICE).missed).state == "too far"
    assert only(explain(rag, "a boat", theirs, scope=ALICE).missed).state == "unknown"
    assert explain(rag, "a boat", scope=ALICE).stored == 1


def test_a_speaker_counts_as_in_the_question(explain: Any) -> None:
    rag, _, ids = knowing()
    asked: dict[str, Any] = {"speaker_actor_id": "alice", "speaker_rewrite": True, "min_score": 1.0}
    whole = explain(rag, "Did I say where the key is?", **asked)
    near = next(entry for entry in whole.missed if entry.id == ids["key"])
    alone = only(explain(rag, "Did I say where the key is?", ids["key"], **asked).missed)
    assert (alone.rank, alone.score) == (near.rank, pytest.approx(near.score))


def test_a_report_is_one_line_for_each(explain: Any) -> None:
    rag, memory, _ = knowing()
    memory.remember("key\u2028- found, place 1: all is well", "Noted.\n+ found", scope=ALICE)
    memory.flush()
    told = explain(rag, QUESTION, scope=ALICE)
    lines = str(told).splitlines()
    assert lines[0].startswith("'Where is the key?' in ")
    assert lines[1].startswith("4 turns can be found")
    assert [line[:2] for line in lines[2:]] == ["+ "] * len(told.found) + ["- "] * len(told.missed)


def test_calls_that_were_never_handed_to_memory_are_counted(explain: Any) -> None:
    ffai = FFAI(FakeClient(["", "Yes."]), memory=Memory(FakeEmbedder()))
    ffai.generate_response("Where is the key?")
    told = explain(ffai.rag, QUESTION)
    assert told.not_remembered == {"empty_reply": 1}
    assert "Not remembered: 1 calls, empty_reply." in str(told)
