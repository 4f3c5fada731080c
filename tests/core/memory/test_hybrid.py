"""Turns are found by words, and by words and meaning together."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffai import FFAI, Memory, MemoryScope, TurnHit
from ffai.core.embeddings.protocol import AbsentEmbedder
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.testing import FakeClient, FakeEmbedder
from tests.core.memory.conftest import Logged, Opener
from tests.doubles.processes import Another, opened_at

DAY = 86_400.0
NOON = 1_777_636_800.0  # 1 May 2026, 12:00 UTC
ANN = MemoryScope.user("u1", name="Ann", conversation="trip")
BEN = MemoryScope.user("u2", name="Ben", conversation="trip")

TALK = [
    ("Where shall we go?", "To Porto, by the night train.", ANN),
    ("I am allergic to nuts", "Then no pesto for you, I will remember that.", ANN),
    ("My sister Caroline sings in a choir", "How lovely, which songs do they sing?", BEN),
    ("The tickets cost 89 euros", "That is cheaper than last year.", BEN),
    ("Thanks", "Welcome", ANN),
]


def fill(memory: Memory) -> Memory:
    for number, (prompt, response, scope) in enumerate(TALK):
        memory.remember(prompt, response, scope=scope, timestamp=NOON - (len(TALK) - number) * DAY)
    memory.flush()
    return memory


@pytest.fixture
def memory() -> Memory:
    """A short talk."""
    return fill(Memory(FakeEmbedder()))


def prompts(hits: list[TurnHit]) -> list[str | None]:
    return [hit.prompt for hit in hits]


# Modes


@pytest.mark.parametrize("mode", ["vector", "keyword", "hybrid"])
async def test_each_mode_finds_what_was_said(memory: Memory, mode: Any) -> None:
    found = memory.search("what the tickets cost in euros", 2, mode=mode)
    assert found[0].prompt == "The tickets cost 89 euros"
    assert await memory.asearch("what the tickets cost in euros", 2, mode=mode) == found
    ffai = FFAI(FakeClient(), memory=memory)
    assert prompts(ffai.history.search("what the tickets cost in euros", 2, mode=mode)) == prompts(found)


def test_words_find_only_turns_that_have_some(memory: Memory) -> None:
    assert {*prompts(memory.search("choirs and tickets", 10, mode="keyword"))} == {TALK[2][0], TALK[3][0]}
    assert memory.search("zebra", 10, mode="keyword") == []
    assert len(memory.search("zebra", 10, mode="hybrid")) == len(TALK)


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_the_score_is_the_cosine_and_a_threshold_is_one_too(memory: Memory, mode: Any) -> None:
    asked = "which songs does the choir sing"
    cosine = {hit.turn_id: hit.score for hit in memory.search(asked, 10)}
    hits = memory.search(asked, 10, mode=mode)
    assert {hit.turn_id: hit.score for hit in hits}.items() <= cosine.items()
    for threshold in sorted(cosine.values()):
        kept = memory.search(asked, 10, threshold, mode=mode)
        assert kept == [hit for hit in hits if hit.score >= threshold]


def test_a_person_who_is_named_comes_first(memory: Memory) -> None:
    for name, others in (("Ann", BEN), ("Ben", ANN)):
        best = memory.search(f"What did {name} say?", 1, mode="hybrid", explain=True)[0]
        assert best.scope.actor_name == name
        assert best.explained["speaker"] > 0
        assert best.scope.actor_id != others.actor_id


def test_who_answered_can_be_named_too() -> None:
    memory = Memory(FakeEmbedder())
    for name in ("Marvin", "Eddie"):
        memory.remember("Hello", "How is it? It is better.", metadata={"assistant_name": name})
    for name in ("Marvin", "Eddie"):
        best = memory.search(f"How is {name}?", 1, mode="hybrid", explain=True)[0]
        assert best.metadata == {"assistant_name": name}
        assert (best.explained["speaker"] > 0, best.explained["message"]) == (True, 1)


@pytest.mark.parametrize(
    ("asked", "days_ago"), [("yesterday", 1), ("on 28 April 2026", 3), ("on the 26th of April", 5), ("3 days ago", 3)]
)
def test_a_time_that_is_named_counts(asked: str, days_ago: int) -> None:
    memory = Memory(FakeEmbedder())
    for days in range(1, 60):
        memory.remember("What was for lunch?", "Soup.", timestamp=NOON - days * DAY, metadata={"days": days})
    (best,) = memory.search(f"What was for lunch {asked}?", 1, mode="hybrid", as_of=NOON, explain=True)
    assert best.metadata == {"days": days_ago}
    assert best.explained["time"] > 0


def test_being_recent_counts_where_it_is_asked_for() -> None:
    memory = Memory(FakeEmbedder())
    for days, port in ((365, "22"), (0, "49222")):
        memory.remember("What is the port?", f"The port is {port}.", timestamp=NOON - days * DAY)
    hits = memory.search("Which port is it?", 2, mode="hybrid", half_life=30 * DAY, as_of=NOON, explain=True)
    assert hits[0].response == "The port is 49222."
    assert hits[0].explained["recency"] > 100 * hits[1].explained["recency"]
    assert memory.search("Which port is it?", 1, mode="hybrid", explain=True)[0].explained["recency"] == 0


def test_scripts_without_spaces_are_found_by_words() -> None:
    memory = Memory(FakeEmbedder())
    memory.remember("我们去哪里旅行?", "去波尔图坐夜车。")
    memory.remember("会议是什么时候?", "星期二下午三点。")
    assert memory.search("波尔图", 1, mode="keyword")[0].prompt == "我们去哪里旅行?"
    assert memory.search("星期二的会议", 1, mode="keyword")[0].response == "星期二下午三点。"


def test_an_explanation_adds_up(memory: Memory) -> None:
    signals = ("vector", "words", "context", "length", "speaker", "time", "recency")
    for hit in memory.search("Where did Ann want to go on 26 April 2026?", 10, mode="hybrid", explain=True):
        assert sum(hit.explained[name] for name in signals) == pytest.approx(hit.explained["score"])
    assert memory.search("Where?", 1, mode="hybrid")[0].explained == {}


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"mode": "semantic"}, InvalidArgumentError),
        ({"mode": None}, InvalidArgumentError),
        ({"mode": "hybrid", "half_life": 0}, InvalidArgumentError),
        ({"mode": "hybrid", "half_life": "a day"}, ArgumentTypeError),
        ({"mode": "vector", "half_life": 5.0}, InvalidArgumentError),
        ({"mode": "hybrid", "as_of": "today"}, ArgumentTypeError),
    ],
)
def test_a_wrong_argument_is_named(memory: Memory, wrong: Any, error: type[Exception]) -> None:
    for search in (memory.search, FFAI(FakeClient()).history.search):
        with pytest.raises(error, match=r"mode|half_life|as_of"):
            search("Where?", **wrong)


# What is prepared, and when


def test_nothing_is_prepared_until_somebody_asks(opened: Opener, tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    memory = fill(opened(tmp_path, embedder))
    memory.search("tickets")
    assert sum(len(texts) for texts in embedder.calls) == len(TALK) + 1
    assert memory.status().unprepared == 0
    memory.search("tickets", mode="hybrid")
    assert sum(len(texts) for texts in embedder.calls) >= 3 * len(TALK) + 2


def test_what_was_prepared_is_kept_and_goes_on(opened: Opener, tmp_path: Path) -> None:
    first = fill(opened(tmp_path))
    before = first.search("Which songs?", 5, mode="hybrid", as_of=NOON, explain=True)
    first.close()
    embedder = FakeEmbedder()
    second = opened(tmp_path, embedder)
    assert second.search("Which songs?", 5, mode="hybrid", as_of=NOON, explain=True) == before
    assert embedder.calls == [["Which songs?"]]
    second.remember("A new question?", "A new answer.")
    second.flush()
    deadline = time.monotonic() + 20
    while second.status().unprepared and time.monotonic() < deadline:
        second.flush(0.1)
    assert ["A new question?", "A new answer."] in embedder.calls  # in the background, without being asked


def test_another_process_finds_the_same(tmp_path: Path) -> None:
    memory = fill(opened_at(tmp_path))
    right = memory.search("Which songs?", 5, mode="hybrid", as_of=NOON)
    with Another(tmp_path) as another:
        assert another.do("search", "Which songs?", 5, mode="hybrid", as_of=NOON) == right
        another.do("remember", "One more", "Yes.")
        another.do("flush")
        assert memory.search("One more", 1, mode="hybrid")[0].prompt == "One more"
    memory.close()


def test_another_model_gives_messages_other_vectors(opened: Opener, tmp_path: Path) -> None:
    memory = fill(opened(tmp_path))
    memory.search("Which songs?", mode="hybrid")
    other = FakeEmbedder(32, model="fake/other")
    memory.reindex(other)
    hits = memory.search("Which songs?", 5, mode="hybrid", as_of=NOON)
    fresh = fill(Memory(FakeEmbedder(32, model="fake/other"))).search("Which songs?", 5, mode="hybrid", as_of=NOON)
    assert [(hit.prompt, hit.score) for hit in hits] == [(hit.prompt, hit.score) for hit in fresh]


def test_without_a_model_words_find_what_there_is(opened: Opener, tmp_path: Path) -> None:
    fill(opened(tmp_path)).close()
    memory = opened(tmp_path, AbsentEmbedder(FakeEmbedder().model, "it is not there"))
    for mode in ("keyword", "hybrid"):
        (hit,) = memory.search("choir", 5, mode=mode)  # type: ignore[arg-type]
        assert (hit.prompt, hit.score) == (TALK[2][0], 0.0)
    with pytest.raises(Exception, match="it is not there"):
        memory.search("choir")


def test_a_message_that_cannot_be_embedded_stands_as_its_whole_turn(opened: Opener) -> None:
    memory = opened(None, FakeEmbedder(fail=lambda text: ValueError("no") if text == "Thanks" else None))
    fill(memory)
    assert len(memory.search("Thanks a lot, welcome", 9, mode="hybrid")) == len(TALK)
    assert memory.status().unprepared == 0


def test_while_messages_cannot_be_embedded_whole_turns_are_compared(opened: Opener, logged: Logged) -> None:
    down = False

    def fail(text: str) -> Exception | None:
        return ConnectionError("down") if down and "?" not in text else None

    memory = fill(opened(None, FakeEmbedder(fail=fail)))
    down = True
    assert len(memory.search("Which songs?", 9, mode="hybrid", wait=5.0)) == len(TALK)
    assert memory.status().unprepared == len(TALK)


def test_a_closed_memory_can_be_searched_in_each_mode(opened: Opener, tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        memory = fill(opened(folder))
        memory.close()
        for mode in ("vector", "keyword", "hybrid"):
            assert memory.search("tickets", 1, mode=mode)[0].prompt == TALK[3][0]  # type: ignore[arg-type]


class Counting(FakeEmbedder):
    """An embedder without a name of its own, whose vectors depend on a number."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        del self.model

    def embed(self, texts: list[str]) -> Any:
        return super().embed([f"{text} {self.number}" for text in texts])


def test_another_model_of_the_same_name_gives_messages_other_vectors(opened: Opener, tmp_path: Path) -> None:
    memory = fill(opened(tmp_path, Counting(1)))
    memory.search("Which songs?", mode="hybrid")
    memory.reindex(Counting(2))
    explained = memory.search("Which songs?", 5, mode="hybrid", as_of=NOON, explain=True)
    fresh = fill(Memory(Counting(2))).search("Which songs?", 5, mode="hybrid", as_of=NOON, explain=True)
    assert [hit.explained for hit in explained] == [hit.explained for hit in fresh]


def test_moving_to_files_while_messages_are_made_mixes_nothing_up(opened: Opener, tmp_path: Path) -> None:
    memory = opened(None, FakeEmbedder(delay=0.02))
    for number in range(80):
        memory.remember(f"question {number}", f"answer {number}", timestamp=NOON)
    memory.flush()
    memory.search("question", mode="hybrid", wait=0.01)
    memory.persist_to(tmp_path)
    for number in range(0, 80, 7):
        best = memory.search(f"question {number}", 1, mode="hybrid", wait=None)[0]
        assert best.prompt == f"question {number}"


def test_names_stay_in_what_is_looked_for_by_words(memory: Memory) -> None:
    memory.remember("The user root can't log in", "Ask the assistant manager.")
    memory.remember("I am here", "Hello, Caroline!", scope=MemoryScope.user("u3", name="Caroline"))
    for asked, right in (("Who is the user?", "The user root can't log in"), ("Who is Caroline?", TALK[2][0])):
        assert right in prompts(memory.search(asked, 2, mode="keyword"))
    assert memory.search("What about the assistant?", 1, mode="keyword")[0].prompt == "The user root can't log in"


def test_thousands_of_names_that_begin_alike_cost_no_time() -> None:
    memory = Memory(FakeEmbedder(8))
    for number in range(2000):
        scope = MemoryScope.user(f"g{number}", name=f"Guest {number}")
        memory.remember("I like tea", f"Room {number}", scope=scope)
    memory.flush()
    memory.search("tea", mode="hybrid", wait=None)
    began = time.monotonic()
    assert memory.search("What did the guest like?", 1, mode="hybrid")
    assert memory.search("What did Guest 77 like?", 1, mode="hybrid", explain=True)[0].scope.actor_id == "g77"
    assert time.monotonic() - began < 1.0


# Turns that go


def test_what_is_cleared_while_messages_are_made_is_nowhere(opened: Opener, tmp_path: Path) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def stop_at_answers(text: str) -> None:
        if text == "An answer":
            reached.set()
            go_on.wait()

    memory = opened(tmp_path, FakeEmbedder(fail=stop_at_answers))
    memory.remember("Hello", "Hi")
    memory.search("Hello", mode="hybrid", wait=None)
    for number in range(10):
        memory.remember(f"secret{number}word", "An answer")
    memory.flush()
    memory.search("secret", mode="hybrid", wait=0.0)
    assert reached.wait(20)
    memory.clear()
    go_on.set()
    memory.remember("Something else", "Yes.")
    memory.search("else", mode="hybrid", wait=None)
    memory.close()
    assert all(b"secret" not in path.read_bytes() for path in tmp_path.iterdir())


def test_forgotten_words_are_nowhere(opened: Opener, tmp_path: Path) -> None:
    memory = fill(opened(tmp_path))
    turn_id = memory.remember("My code is zebra4711", "Noted.", scope=ANN)
    assert memory.search("zebra4711", 1, mode="hybrid")[0].turn_id == turn_id
    assert memory.search("zebra4711", 1, mode="keyword")[0].turn_id == turn_id
    memory.forget(turn_id)
    assert memory.search("zebra4711", 1, mode="keyword") == []
    memory.close()
    for path in tmp_path.iterdir():
        assert b"zebra4711" not in path.read_bytes()
        if path.suffix == ".sqlite3":
            with sqlite3.connect(path) as journal:
                kept = journal.execute("SELECT turn_id, words FROM messages").fetchall()
            assert turn_id not in dict(kept)
            assert "zebra4711" not in str(kept)


def test_expired_turns_are_not_found_by_words() -> None:
    memory = Memory(FakeEmbedder())
    memory.remember("The code is zebra", "Noted.", expires_at=1.0)
    memory.remember("The code is lion", "Noted.")
    assert prompts(memory.search("zebra code", 5, mode="keyword")) == ["The code is lion"]


def test_a_journal_of_the_version_before_is_taken_over(opened: Opener, tmp_path: Path) -> None:
    fill(opened(tmp_path)).close()
    with sqlite3.connect(tmp_path / "ffai_turns.sqlite3") as journal:
        journal.execute("DROP TABLE messages")
        journal.execute("PRAGMA user_version = 3")
    journal.close()
    memory = opened(tmp_path)
    assert memory.search("tickets", 1, mode="hybrid")[0].prompt == TALK[3][0]
    assert memory.status().notes == ()


def test_words_made_by_other_rules_are_made_anew(opened: Opener, tmp_path: Path) -> None:
    memory = fill(opened(tmp_path))
    memory.search("tickets", mode="hybrid")
    memory.close()
    with sqlite3.connect(tmp_path / "ffai_turns.sqlite3") as journal:
        journal.execute("UPDATE facts SET value = '0' WHERE name = 'messages'")
        journal.execute("UPDATE messages SET words = '0' || char(10) || '0'")
    journal.close()
    assert prompts(opened(tmp_path).search("tickets", 1, mode="keyword")) == [TALK[3][0]]


# Laws

words = st.sampled_from(["key", "map", "box", "red", "house", "tea", "Porto", "train", "song", "89", "Ann", "Ben"])
texts = st.lists(words, max_size=6).map(" ".join)
said = st.tuples(texts.filter(bool), texts, st.sampled_from([ANN, BEN]))


@given(st.lists(said, min_size=1, max_size=12), texts.filter(bool), st.sampled_from([ANN, BEN]), st.integers(1, 15))
@settings(max_examples=40)
def test_a_scope_is_searched_as_if_nothing_else_were_there(
    talk: list[tuple[str, str, MemoryScope]], asked: str, scope: MemoryScope, top_k: int
) -> None:
    everybody, alone = Memory(FakeEmbedder(16)), Memory(FakeEmbedder(16))
    for number, (prompt, response, whose) in enumerate(talk):
        everybody.remember(prompt, response, scope=whose, timestamp=float(number))
        if whose is scope:
            alone.remember(prompt, response, scope=whose, timestamp=float(number))
    for mode in ("keyword", "hybrid"):
        found, right = (
            [(hit.prompt, hit.response, hit.turn["timestamp"]) for hit in hits]
            for hits in (
                everybody.search(asked, top_k, mode=mode, scope=scope),  # type: ignore[arg-type]
                alone.search(asked, top_k, mode=mode),  # type: ignore[arg-type]
            )
        )
        assert {*found} == {*right} if len(right) < top_k else len(found) == len(right)
    everybody.close()
    alone.close()


@given(st.lists(said, min_size=1, max_size=12), texts.filter(bool))
@settings(max_examples=30)
def test_the_same_question_is_answered_in_the_same_order(talk: list[tuple[str, str, MemoryScope]], asked: str) -> None:
    orders = []
    for _ in range(2):
        memory = Memory(FakeEmbedder(16))
        for number, (prompt, response, scope) in enumerate(talk):
            memory.remember(prompt, response, scope=scope, timestamp=float(number))
        orders += [[hit.turn_index for hit in memory.search(asked, 20, mode="hybrid", as_of=NOON)] for _ in range(2)]
        memory.close()
    assert all(order == orders[0] for order in orders)
