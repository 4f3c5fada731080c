"""Forgetting: a forgotten text is nowhere any more, and everything else is as it was."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ffai import FFAI
from ffai.core.memory import Memory
from ffai.core.memory.place import Place
from ffai.core.scope import MemoryScope
from ffai.errors import ArgumentTypeError, InvalidArgumentError, StoreError
from ffai.testing import FakeClient, FakeEmbedder
from tests.core.memory.conftest import Logged, Opener

MARKER = "zebrafish-7431"


def fill(memory: Memory, turns: int = 5) -> str:
    """Remember a turn with the marker among others; returns its id."""
    for number in range(turns):
        memory.remember(f"Question {number}?", f"Answer {number}.")
    marked = memory.remember(f"Where is {MARKER}?", f"The {MARKER} is in the tank.", metadata={"about": MARKER})
    memory.remember("Question last?", "Answer last.")
    return marked


def found_in(folder: Path) -> list[str]:
    """Name the files whose bytes, or decoded content, hold the marker."""
    holding = [path.name for path in folder.rglob("*") if path.is_file() and MARKER.encode() in path.read_bytes()]
    for path in folder.glob("*.sqlite3*"):
        if path.name.endswith(("-wal", "-shm")):
            continue
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as journal:
            if any(MARKER in line for line in journal.iterdump()):
                holding.append(f"{path.name}, decoded")
    for path in [*folder.glob("*.parquet*"), *folder.glob("*.bak*")]:
        with path.open("rb") as file:
            if any(MARKER in str(row) for row in pl.read_parquet(file).rows()):
                holding.append(f"{path.name}, decoded")
    return holding


def rows_of(path: Path) -> list[tuple[object, ...]]:
    return [row for row in pl.read_parquet(path).rows() if MARKER not in str(row)]


def test_a_forgotten_text_is_nowhere_in_the_folder(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    marked = fill(memory)
    memory.flush()
    memory.remember("One more?", "So that there is a backup.")
    memory.flush()
    assert found_in(tmp_path)
    before = rows_of(tmp_path / "ffai_turns.parquet")
    result = memory.forget(marked)
    assert result.turn_ids == (marked,)
    assert result.removed["file"] == result.removed["backup"] == result.removed["memory"] == 1
    assert result.remains == {}
    assert found_in(tmp_path) == []
    assert rows_of(tmp_path / "ffai_turns.parquet") == before
    assert MARKER not in str(memory.search(MARKER, top_k=50))
    memory.close()
    assert found_in(tmp_path) == []
    assert opened(tmp_path).count() == 7


def test_a_turn_that_waits_can_be_forgotten(opened: Opener, tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    embedder.gate.clear()
    memory = opened(tmp_path, embedder)
    marked = fill(memory)
    result = memory.forget(marked)
    assert (result.count, result.removed["waiting"]) == (1, 1)
    assert found_in(tmp_path) == []
    embedder.gate.set()
    assert memory.flush().indexed == 6
    assert MARKER not in str(memory.search(MARKER, top_k=50))


def test_a_turn_that_is_just_being_embedded_does_not_come_back(opened: Opener, tmp_path: Path) -> None:
    inside, go_on = threading.Event(), threading.Event()

    class Busy(FakeEmbedder):
        def embed(self, texts: list[str]) -> list[list[float]]:
            inside.set()
            go_on.wait(10)
            return super().embed(texts)

    memory = opened(tmp_path, Busy())
    marked = fill(memory)
    assert inside.wait(10)
    memory.forget(marked)
    go_on.set()
    memory.flush()
    assert memory.count() == 6
    memory.close()
    assert found_in(tmp_path) == []


def test_a_failed_turn_can_be_forgotten(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path, FakeEmbedder(fail=lambda text: ValueError(text) if MARKER in text else None))
    marked = fill(memory)
    memory.flush()
    assert memory.forget(marked).removed["waiting"] == 1
    assert memory.status().failed == ()
    assert found_in(tmp_path) == []


def test_without_files_a_turn_is_forgotten_too(opened: Opener) -> None:
    memory = opened()
    marked = fill(memory)
    memory.flush()
    assert memory.forget(marked).removed == {"memory": 1, "waiting": 0, "journal": 0, "cache": 0}
    assert memory.count() == 6


def test_unknown_ids_do_no_harm(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    fill(memory)
    memory.flush()
    before = (tmp_path / "ffai_turns.parquet").read_bytes()
    assert memory.forget(["nobody", "nothing"]).count == 0
    assert (tmp_path / "ffai_turns.parquet").read_bytes() == before
    assert memory.forget([]).count == 0
    assert memory.count() == 7


@pytest.mark.parametrize("ids", [5, [5], {"a": 1}, b"a"])
def test_ids_are_texts(opened: Opener, ids: object) -> None:
    with pytest.raises(ArgumentTypeError, match="turn_ids"):
        opened().forget(ids)  # type: ignore[arg-type]


def test_equal_turns_from_elsewhere_are_forgotten_together(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    for _ in range(3):
        memory.index_turn_text(f"the {MARKER}", {"role": "user"})
    memory.index_turn_text("something else", {"role": "user"})
    assert memory.count() == 4
    hit = memory.search(MARKER, top_k=1)[0]
    assert memory.forget(hit.turn_id).count == 3
    memory.close()
    assert found_in(tmp_path) == []
    assert opened(tmp_path).count() == 1


def test_files_that_were_moved_aside_are_searched_too(opened: Opener, tmp_path: Path, logged: Logged) -> None:
    place = Place.at(tmp_path, "ffai_turns")
    memory = opened(tmp_path)
    marked = fill(memory)
    memory.close()
    whole = place.file.read_bytes()
    for aside in ("ffai_turns.parquet.damaged-20260101T000000", "ffai_turns.bak.damaged-20260101T000000"):
        (tmp_path / aside).write_bytes(whole)
    (tmp_path / "ffai_turns.parquet.damaged-20260101T000001").write_bytes(whole[: len(whole) // 2])
    again = opened(tmp_path)
    result = again.forget(marked)
    assert result.removed["set_aside"] == 3
    again.close()
    assert found_in(tmp_path) == []
    assert (tmp_path / "ffai_turns.parquet.damaged-20260101T000000").exists()
    assert not (tmp_path / "ffai_turns.parquet.damaged-20260101T000001").exists(), "nobody can tell what is in it"


def test_a_damaged_journal_that_was_moved_aside_is_searched_too(opened: Opener, tmp_path: Path, logged: Logged) -> None:
    place = Place.at(tmp_path, "ffai_turns")
    embedder = FakeEmbedder()
    embedder.gate.clear()
    memory = opened(tmp_path, embedder)
    marked = fill(memory, turns=50)
    memory.close(timeout=0)
    embedder.gate.set()
    broken = bytearray(place.journal.read_bytes())
    broken[4096 * 2 : 4096 * 2 + 40] = b"\xff" * 40
    place.journal.write_bytes(broken)
    again = opened(tmp_path)
    again.forget(marked)
    again.close()
    assert found_in(tmp_path) == []


def test_what_an_embedder_remembers_is_forgotten(opened: Opener) -> None:
    class Remembering(FakeEmbedder):
        def __init__(self) -> None:
            super().__init__()
            self.kept: set[str] = set()

        def embed(self, texts: list[str]) -> list[list[float]]:
            self.kept.update(texts)
            return super().embed(texts)

        def forget(self, texts: list[str]) -> int:
            before = len(self.kept)
            self.kept.difference_update(texts)
            return before - len(self.kept)

    embedder = Remembering()
    memory = opened(embedder=embedder)
    long = memory.remember("Tell me all.", "word " * 300 + MARKER)
    memory.flush()
    assert memory.forget(long).removed["cache"] > 1
    assert not any(MARKER in text for text in embedder.kept)


def test_another_process_loses_it_as_well(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    marked = fill(memory)
    memory.flush()
    program = (
        "import sys; from ffai.core.memory import Memory; from ffai.testing import FakeEmbedder\n"
        "memory = Memory(FakeEmbedder()); memory.persist_to(sys.argv[1])\n"
        "print(memory.count(), flush=True); sys.stdin.readline()\n"
        f"print(memory.count(), '{MARKER}' in str(memory.search('{MARKER}', top_k=50)), flush=True)\n"
        "memory.remember('after', 'wards'); memory.close(); print('closed', flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "7\n"
        memory.forget(marked)
        assert found_in(tmp_path) == [], "while the other process has the files open"
        other.stdin.write("\n")
        other.stdin.flush()
        assert other.stdout.readline() == "6 False\n"
        assert other.stdout.readline() == "closed\n"
    assert memory.count() == 7
    memory.close()
    assert found_in(tmp_path) == []


def test_what_a_reader_holds_up_is_said_and_finished_later(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    marked = fill(memory)
    memory.flush()
    with closing(sqlite3.connect(tmp_path / "ffai_turns.sqlite3", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM indexed").fetchone()
        result = memory.forget(marked)
        assert result.count == 1
        assert "journal" in result.remains
        reader.execute("COMMIT")
    memory.remember("Anything?", "Else.")
    memory.flush()
    assert found_in(tmp_path) == []


def test_nothing_is_forgotten_where_the_journal_cant_be_written(opened: Opener, tmp_path: Path, logged: Logged) -> None:
    memory = opened(tmp_path)
    marked = fill(memory)
    memory.flush()
    with closing(sqlite3.connect(tmp_path / "ffai_turns.sqlite3", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="Nothing was forgotten"):
            memory.forget(marked)
        assert memory.count() == 7
        writer.execute("ROLLBACK")
    assert memory.forget(marked).count == 1


async def test_it_can_be_awaited(opened: Opener) -> None:
    memory = opened()
    marked = fill(memory)
    await memory.aflush()
    assert (await memory.aforget([marked])).count == 1


def test_the_histories_and_their_exports_forget_too(tmp_path: Path) -> None:
    client = FakeClient(["Under the mat.", f"The {MARKER} is in the tank.", "Tomorrow."])
    memory = Memory(FakeEmbedder())
    memory.persist_to(tmp_path / "memory")
    with FFAI(client, memory=memory, persist_dir=tmp_path / "exports", persist_name="run") as ffai:
        for prompt in ("Where is the key?", f"Where is {MARKER}?", "When?"):
            ffai.generate_response(prompt)
        ffai.flush()
        assert ffai.history.persist_all_histories()
        assert found_in(tmp_path / "exports")
        marked = ffai.history.search(MARKER, top_k=1)[0].turn_id
        removed = memory.forget(marked).removed
        assert removed["history_calls"] == 1
        assert removed["permanent_turns"] == 2
        assert removed["exported_rows"] >= 2
        assert found_in(tmp_path / "exports") == found_in(tmp_path / "memory") == []
        assert MARKER not in str(list(ffai.history.raw)) + str(ffai.history.permanent.get_all_turns())
        assert [call["prompt"] for call in ffai.history.raw] == ["Where is the key?", "When?"]


def test_turns_can_be_forgotten_by_what_was_attached_and_by_whose_they_are(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    ann, bob = (MemoryScope(actor_id=name, actor_type="user") for name in ("ann", "bob"))
    for scope, project in ((ann, "x"), (ann, "y"), (bob, "x")):
        memory.remember(f"{scope.actor_id} on {project}?", "Yes.", scope=scope, metadata={"project": project})
    memory.flush()
    before = memory.list(scope=bob).turns
    assert memory.forget(scope=ann, where={"project": "y"}).count == 1
    assert memory.forget(scope={"actor_id": "ann", "actor_type": "user"}).count == 1
    assert memory.list().turns == before
    memory.remember("bob waits?", "Yes.", scope=bob)
    assert memory.forget(where={"project": "x"}).count == 1
    memory.flush()
    assert [turn.prompt for turn in memory.list().turns] == ["bob waits?"]


@pytest.mark.parametrize("chosen", [{}, {"where": {}}, {"scope": {}}, {"scope": MemoryScope()}])
def test_forgetting_everything_has_to_be_said(opened: Opener, chosen: dict[str, Any]) -> None:
    memory = opened()
    fill(memory)
    with pytest.raises(InvalidArgumentError, match="clear"):
        memory.forget(**chosen)


def test_the_filters_and_the_ids_must_agree(opened: Opener) -> None:
    memory = opened()
    marked = fill(memory)
    memory.flush()
    assert memory.forget(marked, where={"about": "something else"}).count == 0
    assert memory.forget(marked, where={"about": MARKER}).count == 1


# What was made from turns, and what belongs to a scope


ALICE, BOB = MemoryScope.user("alice"), MemoryScope.user("bob")


def taught(memory: Memory) -> list[str]:
    return [known.key for known in memory.knowledge.list()]


@pytest.mark.parametrize("state", ["indexed", "waiting", "failed"])
def test_what_was_made_from_a_turn_is_forgotten_with_it(opened: Opener, tmp_path: Path, state: str) -> None:
    embedder = FakeEmbedder(fail=lambda text: ValueError("too hot") if MARKER in text and state == "failed" else None)
    memory = opened(tmp_path, embedder)
    if state == "waiting":
        embedder.gate.clear()
    marked, other = fill(memory), memory.remember("Other?", "Yes.")
    if state != "waiting":
        memory.flush()
    memory.knowledge.learn("both", {"content": "A summary.", "more": MARKER}, cites=[other, marked])
    memory.knowledge.learn("other", "Another.", cites=[other])
    memory.knowledge.learn("plain", "No source.")
    result = memory.forget(marked)
    embedder.gate.set()
    assert result.removed["knowledge"] == 1
    assert taught(memory) == ["other", "plain"]
    assert found_in(tmp_path) == []
    assert memory.forget("unknown").removed.get("knowledge") is None


@pytest.mark.parametrize("how", ["whole", "scoped"])
def test_a_capsule_outlives_turns_that_expire_and_goes_when_they_are_forgotten(
    opened: Opener, tmp_path: Path, how: str
) -> None:
    memory = opened(tmp_path)
    end = time.time() + 0.2
    marked = memory.remember("Hi", MARKER, scope=ALICE, expires_at=end)
    memory.knowledge.learn("hers", "A summary.", cites=[marked], scope=ALICE)
    memory.knowledge.learn("his", "A summary.", cites=[marked], scope=BOB)
    memory.flush()
    while found_in(tmp_path):
        assert time.time() < end + 30
        memory.remember("Another", "Hello")
        memory.flush()
    assert taught(memory) == ["hers", "his"]
    if how == "scoped":
        assert "knowledge" not in memory.scoped(BOB).forget(["unknown"]).removed
        assert memory.scoped(ALICE).forget(marked).removed["knowledge"] == 1
        assert taught(memory) == ["his"]
    else:
        assert memory.forget(marked).removed["knowledge"] == 2
        assert taught(memory) == []


@pytest.mark.parametrize("how", ["forget", "clear"])
def test_forgetting_a_scope_takes_its_knowledge_and_threads_and_nobody_elses(
    opened: Opener, tmp_path: Path, how: str
) -> None:
    memory = opened(tmp_path)
    trip = MemoryScope.user("alice", conversation="trip")
    places = {"all": None, "alice": ALICE, "trip": trip, "bob": BOB, "any": MemoryScope(conversation_id="trip")}
    for name, scope in places.items():
        memory.knowledge.learn(name, MARKER if name in {"alice", "trip"} else "x", scope=scope)
        memory.threads.add([("user", MARKER if name in {"alice", "trip"} else "x")], scope=scope)
    memory.knowledge.learn("hidden", "x", shared=False)
    memory.flush()
    if how == "clear":
        memory.scoped(ALICE).clear()
    else:
        result = memory.forget(scope=ALICE)
        assert (result.removed["knowledge"], result.removed["threads"]) == (2, 2)
    assert taught(memory) == ["all", "bob", "any", "hidden"]
    left = [name for name, scope in places.items() if memory.threads.history(scope=scope)]
    assert left == ["all", "bob", "any"]
    assert found_in(tmp_path) == []


def test_forgetting_some_turns_of_a_scope_leaves_its_knowledge(opened: Opener) -> None:
    memory = opened()
    turn_id = memory.remember("Hi", "Hello", scope=ALICE, metadata={"n": 1})
    memory.knowledge.learn("hers", "x", scope=ALICE)
    memory.threads.add([("user", "x")], scope=ALICE)
    memory.forget(where={"n": 1}, scope=ALICE)
    memory.forget([turn_id], scope=ALICE)
    assert taught(memory) == ["hers"]
    assert memory.threads.history(scope=ALICE)


def test_clearing_takes_all_knowledge_and_threads(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    fill(memory)
    memory.knowledge.learn(MARKER, MARKER)
    memory.threads.add([("user", MARKER)], scope=ALICE)
    memory.knowledge.search(MARKER)
    memory.clear()
    assert taught(memory) == []
    assert memory.knowledge.search(MARKER) == ()
    assert memory.threads.history(scope=ALICE) == []
    assert found_in(tmp_path) == []
    memory.knowledge.learn("after", "It goes on.")
    assert [known.key for known in memory.knowledge.search("goes on")] == ["after"]
