"""Whatever is remembered and forgotten in whatever order: a memory says the same as a plain dict would."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from sqlalchemy import StaticPool, create_engine

from ffai.objects.memory.options import UNSET
from ffai.objects.memory.paths import ancestors
from ffai.objects.memory.record_memory import RecordMemory
from tests.objects.memory_places import Article, Clock

A = Article(id="a-1")
SCOPES = ["a", "a/b", "a/b/c", "a/bc", "A/b", "a_b", "axb/c", "a_b/c", "global"]
scopes, keys, versions = st.sampled_from(SCOPES), st.sampled_from("kK"), st.sampled_from([1, 2])
confidences = st.sampled_from([0.0, 0.5, 1.0])
values = st.sampled_from([0, None, "", [], {"css": "article"}])
expiries = st.sampled_from([UNSET, None, 5.0])


def is_within(scope: str, above: str, descendants: bool) -> bool:
    return scope == above or (descendants and scope.split("/")[: above.count("/") + 1] == above.split("/"))


class Memories(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.engine = create_engine("sqlite://", poolclass=StaticPool)
        self.memory = RecordMemory(self.engine, clock=self.clock)
        self.memory.create_all()
        self.model: dict[tuple[str, str, int], dict[str, Any]] = {}

    def teardown(self) -> None:
        self.engine.dispose()

    def alive(self) -> dict[tuple[str, str, int], dict[str, Any]]:
        return {at: row for at, row in self.model.items() if row["expires"] is None or row["expires"] > self.clock.now}

    @rule(scope=scopes, key=keys, version=versions, value=values, confidence=st.just(UNSET) | confidences, ttl=expiries)
    def remember(self, scope: str, key: str, version: int, value: Any, confidence: Any, ttl: Any) -> None:
        self.memory.remember(A, scope, key, value, version=version, confidence=confidence, expires_in=ttl)
        row = dict(self.alive().get((scope, key, version), {"confidence": 1.0, "expires": None}))
        row["value"] = value
        if confidence is not UNSET:
            row["confidence"] = confidence
        if ttl is not UNSET:
            row["expires"] = None if ttl is None else self.clock.now + ttl
        self.model[scope, key, version] = row

    @rule()
    def wait(self) -> None:
        self.clock.now += 3

    @rule()
    def purge(self) -> None:
        alive = self.alive()
        assert self.memory.purge_expired() == len(self.model) - len(alive)
        self.model = alive

    @rule(scope=scopes, key=keys)
    def forget(self, scope: str, key: str) -> None:
        gone = [at for at in self.model if at[:2] == (scope, key)]
        assert self.memory.forget(A, scope, key) == len(gone)
        for at in gone:
            del self.model[at]

    @rule(scope=scopes, descendants=st.booleans())
    def forget_scope(self, scope: str, descendants: bool) -> None:
        gone = [at for at in self.model if is_within(at[0], scope, descendants)]
        assert self.memory.forget_scope(A, scope, include_descendants=descendants) == len(gone)
        for at in gone:
            del self.model[at]

    @rule(scope=scopes, key=keys, above=st.booleans(), floor=st.none() | confidences, newest=st.booleans())
    def recall(self, scope: str, key: str, above: bool, floor: float | None, newest: bool) -> None:
        expected: Any = "nothing"
        for each in [scope, *ancestors(scope)] if above else [scope]:
            found = [
                ((at[2], row["confidence"]) if newest else (row["confidence"], at[2]), row["value"])
                for at, row in self.alive().items()
                if at[:2] == (each, key) and row["confidence"] >= (floor or 0)
            ]
            if found:
                expected = max(found, key=lambda pair: pair[0])[1]
                break
        assert expected == self.memory.recall(
            A,
            scope,
            key,
            include_ancestors=above,
            min_confidence=floor,
            prefer="version" if newest else "confidence",
            default="nothing",
        )

    @rule(scope=st.none() | scopes, descendants=st.booleans())
    def recall_all(self, scope: str | None, descendants: bool) -> None:
        best: dict[str, Any] = {}
        for at, row in self.alive().items():
            if scope is None or is_within(at[0], scope, descendants):
                rank = (-row["confidence"], -at[2], len(at[0]), at[0])
                best[at[1]] = min(best.get(at[1], (rank, row["value"])), (rank, row["value"]), key=lambda pair: pair[0])
        found = self.memory.recall_all(A, scope, include_descendants=descendants)
        assert found == {key: value for key, (_, value) in best.items()}

    @invariant()
    def nothing_else_is_there(self) -> None:
        entries = {(e.scope, e.key, e.version): e for e in self.memory.entries(A, include_expired=True)}
        assert entries.keys() == self.model.keys()
        for at, row in self.model.items():
            assert (entries[at].confidence, entries[at].expires_at) == (row["confidence"], row["expires"])


TestMemories = Memories.TestCase
TestMemories.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
