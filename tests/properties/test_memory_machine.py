"""A memory on a folder against a plain list: whatever is done in whatever order, both tell the same."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ffai.core.memory import Memory, TurnHit
from ffai.core.memory.identity import content_id
from ffai.core.memory.parts import parts_of
from ffai.testing import FakeEmbedder
from tests.doubles.processes import Another, embedder_of

NAME = "ffai_turns"
WORDS = ("red", "house", "blue", "boat", "key", "mat", "cat", "数据库")
REFUSED = "refused"
"""A word that the embedder may refuse."""
ALL = 10**6
HAIR = 1e-6
"""What a cosine of vectors in single precision may be off by, computed in two ways."""


words = st.lists(st.sampled_from((*WORDS, REFUSED)), min_size=1, max_size=4).map(" ".join)
queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
long_texts = st.integers(170, 400).map(lambda count: " ".join(WORDS[n % 7] for n in range(count)))
sizes = st.sampled_from([8, 16, 24])
errors = st.sampled_from([None, RuntimeError("no such word")])


@dataclass
class Turn:
    """What is known of a turn."""

    turn_id: str
    text: str
    failed: bool = False


def score(embedder: FakeEmbedder, query: str, text: str) -> float:
    """Compare a query with a turn, and with the parts of a long one, without a store."""
    texts = [query, text, *parts_of(text)]
    first, *others = (vector.astype(float) for vector in FakeEmbedder(embedder.dimensions).embed(texts))
    return max(float(first @ other / np.linalg.norm(first) / np.linalg.norm(other)) for other in others)


@contextlib.contextmanager
def unwritten(journal: Path) -> Iterator[None]:
    """Let nobody write the journal, so that a copy of it is of one moment."""
    with contextlib.closing(sqlite3.connect(journal, isolation_level=None, timeout=60)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def left_behind(folder: Path, copy: Path) -> None:
    """Copy what a killed process would leave; memory that it shared with others (``-shm``) goes with it."""
    copy.mkdir()
    with unwritten(folder / f"{NAME}.sqlite3"):
        for path in sorted(folder.iterdir()):
            with contextlib.suppress(FileNotFoundError):  # a file that is just being put in its place
                if path.suffix != ".lock" and not path.name.endswith("-shm"):
                    shutil.copyfile(path, copy / path.name)


class MemoryMachine(RuleBasedStateMachine):
    """One process, one memory."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.lives = 0
        self.turns: list[Turn] = []
        self.error: Exception | None = None
        self.memory: Memory | None = None

    @property
    def folder(self) -> Path:
        return self.root / str(self.lives)

    @initialize(size=sizes)
    def open(self, size: int) -> None:
        self.embedder = self.an_embedder(size)
        self.memory = Memory(self.embedder)
        self.memory.persist_to(self.folder)

    def an_embedder(self, size: int) -> FakeEmbedder:
        embedder = embedder_of(size)
        embedder.fail = lambda text: self.error if REFUSED in text.split() else None
        return embedder

    def refuses(self, text: str) -> bool:
        return self.error is not None and REFUSED in text.split()

    def settle(self) -> None:
        """Let everything be embedded; what is refused has failed then."""
        result = self.memory.flush(60)
        failed = {turn.turn_id.partition("-")[0] for turn in self.memory.status().failed}  # equal turns count together
        assert (result.indexed, result.pending, result.failed) == (
            sum(not turn.failed for turn in self.turns), 0, sum(turn.failed for turn in self.turns)
        )  # fmt: skip
        assert failed == {turn.turn_id for turn in self.turns if turn.failed}

    # What is done

    @rule(turns=st.lists(st.tuples(words | long_texts, words), min_size=1, max_size=5))
    def remember(self, turns: list[tuple[str, str]]) -> None:
        for prompt, response in turns:
            turn_id = self.memory.remember(prompt, response, metadata={"n": len(self.turns)})
            self.turns.append(Turn(turn_id, f"{prompt}\n{response}", self.refuses(f"{prompt} {response}")))

    @rule(text=words, times=st.integers(1, 2))
    def index(self, text: str, times: int) -> None:
        for _ in range(times):
            if self.refuses(text):
                with pytest.raises(type(self.error)):
                    self.memory.index_turn_text(text, {"role": "user"}, {"of": text})
                return
            self.memory.index_turn_text(text, {"role": "user"}, {"of": text})
            self.turns.append(Turn(content_id(text, {"role": "user"}, {"of": text}), text))

    @rule(query=queries, top_k=st.sampled_from([1, 3, ALL]))
    def search(self, query: str, top_k: int) -> None:
        self.compare(self.memory.search(query, top_k, wait=60), query, top_k)

    def compare(self, hits: list[TurnHit], query: str, top_k: int = ALL) -> None:
        right = [(score(self.embedder, query, turn.text), turn) for turn in self.turns if not turn.failed]
        best = sorted((each for each, _ in right), reverse=True)[:top_k]
        assert [hit.score for hit in hits] == pytest.approx(best, abs=HAIR)
        there = Counter((turn.turn_id, turn.text) for _, turn in right)
        found = Counter((hit.turn_id, hit.text) for hit in hits)
        assert found <= there
        if top_k == ALL:
            assert found == there
        for hit in hits:
            assert hit.score == pytest.approx(score(self.embedder, query, hit.text), abs=HAIR)
        order = [(-hit.score, hit.turn_index) for hit in hits]
        assert order == sorted(order)

    @precondition(lambda self: self.turns)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        ids = data.draw(st.sets(st.sampled_from([turn.turn_id for turn in self.turns]), min_size=1, max_size=3))
        result = self.memory.forget([*ids, "unknown"])
        gone = [turn for turn in self.turns if turn.turn_id in ids]
        assert (result.count, result.remains) == (len(gone), {})
        self.turns = [turn for turn in self.turns if turn.turn_id not in ids]

    @precondition(lambda self: len(self.turns) > 5)
    @rule()
    def clear(self) -> None:
        self.memory.clear()
        self.turns = []

    @rule()
    def flush(self) -> None:
        self.settle()

    @rule(error=errors)
    def fail_from_now_on(self, error: Exception | None) -> None:
        self.settle()
        self.error = error

    @rule()
    def retry(self) -> None:
        self.settle()
        assert self.memory.retry_failed() == sum(turn.failed for turn in self.turns)
        self.mend()
        self.settle()

    def mend(self) -> None:
        for turn in self.turns:
            turn.failed = turn.failed and self.refuses(turn.text)

    @rule(size=sizes)
    def reindex(self, size: int) -> None:
        self.settle()
        embedder = self.an_embedder(size)
        if any(self.refuses(turn.text) for turn in self.turns if not turn.failed):
            with pytest.raises(type(self.error)):
                self.memory.reindex(embedder)
        else:
            self.memory.reindex(embedder)
            self.embedder = embedder

    @rule()
    def close_and_open(self) -> None:
        result = self.memory.close(60)
        assert (result.indexed + result.failed, result.pending) == (len(self.turns), 0)
        self.look_into_the_folder()
        self.open(self.embedder.dimensions)

    @rule(size=sizes)
    def open_with_another_model(self, size: int) -> None:
        MemoryMachine.settle(self)
        self.memory.close(60)
        changed = size != self.embedder.dimensions
        self.open(size)
        for turn in self.turns:
            turn.failed = turn.failed or (changed and self.refuses(turn.text))

    @rule()
    def crash(self) -> None:
        left_behind(self.folder, self.root / str(self.lives + 1))
        abandoned = self.memory
        self.lives += 1
        self.open(self.embedder.dimensions)
        abandoned.close(60)

    # What is always so

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        if self.memory is not None:
            status = self.memory.status()
            assert status.indexed + status.pending + len(status.failed) == len(self.turns), status
            assert (status.not_durable, status.problem, status.notes) == (0, None, ()), status

    def look_into_the_folder(self) -> None:
        allowed = {f"{NAME}.{kind}" for kind in ("parquet", "bak", "sqlite3", "lock")}
        assert {path.name for path in self.folder.iterdir()} <= allowed

    def teardown(self) -> None:
        if self.memory is not None:
            try:
                self.settle()
                self.compare(self.memory.search("red house", ALL), "red house")
                self.leave()
                self.look_into_the_folder()
            finally:
                self.memory.close(60)
        shutil.rmtree(self.root)

    def leave(self) -> None:
        self.memory.close(60)


class SharedMachine(MemoryMachine):
    """Two processes, one memory each, on one folder."""

    other: Another

    @initialize(size=sizes)
    def open(self, size: int) -> None:
        super().open(size)
        self.other.move(self.folder, size)

    def settle(self) -> None:
        self.other.do("flush", 60)
        super().settle()

    @rule()
    def close_and_open(self) -> None:
        self.other.do("flush", 60)
        super().close_and_open()

    def leave(self) -> None:
        self.other.move(None)
        super().leave()
        super().look_into_the_folder()

    def look_into_the_folder(self) -> None:
        """Nothing can be said of it while the other has files open."""

    @rule(query=queries, top_k=st.sampled_from([1, 3, ALL]))
    def search(self, query: str, top_k: int) -> None:
        self.other.do("flush", 60)  # what it is just embedding is found when it is done
        super().search(query, top_k)

    @rule(turns=st.lists(st.tuples(words | long_texts, words), min_size=1, max_size=5))
    def other_remembers(self, turns: list[tuple[str, str]]) -> None:
        for prompt, response in turns:
            self.turns.append(Turn(self.other.do("remember", prompt, response), f"{prompt}\n{response}"))

    @rule(text=words)
    def other_indexes(self, text: str) -> None:
        self.other.do("index_turn_text", text, {"role": "user"}, {"of": text})
        self.turns.append(Turn(content_id(text, {"role": "user"}, {"of": text}), text))

    @rule(query=queries, top_k=st.sampled_from([1, 3, ALL]))
    def other_searches(self, query: str, top_k: int) -> None:
        self.settle()
        self.compare(self.other.do("search", query, top_k), query, top_k)

    @precondition(lambda self: self.turns)
    @rule(data=st.data())
    def other_forgets(self, data: st.DataObject) -> None:
        turn_id = data.draw(st.sampled_from([turn.turn_id for turn in self.turns]))
        assert self.other.do("forget", turn_id).count == sum(turn.turn_id == turn_id for turn in self.turns)
        self.turns = [turn for turn in self.turns if turn.turn_id != turn_id]

    @precondition(lambda self: len(self.turns) > 5)
    @rule()
    def other_clears(self) -> None:
        self.other.do("clear")
        self.turns = []

    @rule(size=sizes)
    def reindex(self, size: int) -> None:
        before = self.embedder
        self.settle()
        self.other.do("count")  # what it has not seen by then has no vector for it any more
        super().reindex(size)
        if self.embedder.model != before.model and self.turns:
            assert self.embedder.model in self.other.do("status").problem
            found = self.other.do("search", "red house", ALL)
            assert len(found) == sum(not turn.failed for turn in self.turns)
        self.other.move(self.folder, self.embedder.dimensions)

    @rule(size=sizes)
    def open_with_another_model(self, size: int) -> None:
        self.settle()
        self.other.move(None)
        super().open_with_another_model(size)


def tried(machine: type[RuleBasedStateMachine], examples: int, steps: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            derandomize=True,
            deadline=None,
            max_examples=examples,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.explicit, Phase.generate),
        ),
    )


def test_whatever_is_done_in_whatever_order() -> None:
    tried(MemoryMachine, examples=12, steps=20)


@pytest.mark.long
def test_whatever_is_done_in_whatever_order_at_length() -> None:
    tried(MemoryMachine, examples=1000, steps=50)


@pytest.mark.long
def test_whatever_two_processes_do_in_whatever_order() -> None:
    with Another() as SharedMachine.other:
        tried(SharedMachine, examples=500, steps=40)
