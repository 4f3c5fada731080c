"""Whose memory it is: the cases of the contract, in this process, after a restart, and from another process."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ffai import FFAI, FFAIError, Memory, MemoryScope, TurnHit
from ffai.errors import ScopeValidationError
from ffai.testing import FakeClient, FakeEmbedder
from tests.doubles.processes import Another, opened_at

TURNS = """
m01 user  alice   conv-1 conversation
m02 user  bob     conv-1 conversation
m03 agent planner conv-1 conversation
m04 user  alice   conv-2 conversation
m05 user  carol   conv-2 conversation
m06 user  bob     conv-3 conversation
m07 user  carol   conv-3 conversation
m08 user  alice   conv-4 conversation
m09 user  bob     conv-4 conversation
m10 user  carol   conv-4 -
m11 user  dave    conv-5 conversation
m12 agent alice   conv-5 conversation
m13 user  alice   -      -
m14 -     -       -      document
"""
NAMES = TURNS.split()[::5]
SAME = "Everybody said the same."


def scope_of(actor_type: str, actor_id: str, conversation_id: str, source_type: str) -> MemoryScope:
    given = {
        "actor_type": actor_type,
        "actor_id": actor_id,
        "conversation_id": conversation_id,
        "source_type": source_type,
    }
    return MemoryScope.of({name: None if value == "-" else value for name, value in given.items()})


def fill(memory: Memory) -> None:
    for line in TURNS.strip().splitlines():
        name, *fields = line.split()
        memory.remember(SAME, "Yes.", scope=scope_of(*fields), metadata={"name": name})
    assert memory.flush().failed == 0


Search = Callable[..., list[TurnHit]]


@pytest.fixture(scope="module", params=["in this process", "after a restart", "from another process"])
def search(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Search]:
    """Searches the turns."""
    folder = tmp_path_factory.mktemp("scopes")
    if request.param == "in this process":
        memory = Memory(FakeEmbedder())
        fill(memory)
        yield lambda **wanted: memory.search(SAME, 100, **wanted)
        return
    memory = opened_at(folder)
    fill(memory)
    if request.param == "after a restart":
        memory.close()
        memory = opened_at(folder)
        yield lambda **wanted: memory.search(SAME, 100, **wanted)
    else:
        with Another(folder) as another:
            yield lambda **wanted: another.do("search", SAME, 100, **wanted)
    memory.close()


def names(hits: list[TurnHit]) -> str:
    return " ".join(sorted(hit.metadata["name"] for hit in hits))


@pytest.mark.parametrize(
    ("scope", "right"),
    [
        pytest.param({}, " ".join(NAMES), id="1: everything"),
        pytest.param({"actor_type": "user", "actor_id": "alice"}, "m01 m04 m08 m13", id="2: a user"),
        pytest.param({"actor_type": "agent", "actor_id": "alice"}, "m12", id="3: an agent of the same id"),
        pytest.param({"conversation_id": "conv-1"}, "m01 m02 m03", id="4: a conversation"),
        pytest.param({"participant_ids": ["alice", "bob"]}, "m01 m02 m03 m08 m09 m10", id="6: two took part"),
        pytest.param({"participant_ids": ["bob"]}, "m01 m02 m03 m06 m07 m08 m09 m10", id="7: one took part"),
        pytest.param({"participant_ids": ["alice", "bob", "carol"]}, "m08 m09 m10", id="8: three took part"),
        pytest.param({"participant_ids": ["alice", "zoe"]}, "", id="9: no such conversation"),
        pytest.param(
            {"participant_ids": ["alice", "bob"], "actor_type": "user", "actor_id": "carol"}, "m10", id="11: and of one"
        ),
        pytest.param({"source_type": "document"}, "m14", id="19: a source"),
        pytest.param({"source_type": "api"}, "m10 m13", id="19: the source that was not given"),
        pytest.param({"participant_ids": ["bob", "bob"]}, "m01 m02 m03 m06 m07 m08 m09 m10", id="one, named twice"),
        pytest.param({"participant_ids": ["planner"]}, "m01 m02 m03", id="an agent took part"),
        pytest.param({"actor_type": "user", "actor_id": "ALICE"}, "", id="upper case is another one"),
        pytest.param({"conversation_id": "conv-9"}, "", id="an unknown conversation"),
        pytest.param({"conversation_id": "cnv_unknown"}, "", id="an unknown internal id"),
        pytest.param({"actor_id": "", "participant_ids": []}, " ".join(NAMES), id="what is empty says nothing"),
        pytest.param(
            {"actor_type": "user", "actor_id": "alice", "actor_name": "n" * 256}, "m01 m04 m08 m13", id="no name counts"
        ),
    ],
)
def test_a_search_finds_what_fits_every_field(search: Search, scope: dict[str, Any], right: str) -> None:
    assert names(search(scope=scope)) == right
    assert names(search(scope=MemoryScope(**scope))) == right


def test_the_internal_form_of_a_conversation_finds_the_same(search: Search) -> None:  # 5
    internal = {hit.conversation_id for hit in search(scope={"conversation_id": "conv-1"})}
    assert len(internal) == 1
    (conversation_id,) = internal
    assert conversation_id is not None
    assert conversation_id.startswith("cnv_")
    hits = search(scope={"conversation_id": conversation_id})
    assert names(hits) == "m01 m02 m03"
    assert {(hit.conversation_id, hit.external_conversation_id) for hit in hits} == {(conversation_id, "conv-1")}


@pytest.mark.parametrize(
    ("scope", "field"),
    [
        pytest.param({"participant_ids": ["alice"], "conversation_id": "conv-1"}, "participant_ids", id="10"),
        pytest.param({"actor_id": "alice"}, "actor_type", id="12"),
        pytest.param({"actor_type": "user"}, "actor_id", id="13"),
        pytest.param({"actor_id": "a" * 65, "actor_type": "user"}, "actor_id", id="17"),
        pytest.param({"conversation_id": "c" * 65}, "conversation_id", id="a long conversation id"),
        pytest.param({"participant_ids": ["alice", ""]}, "participant_ids[1]", id="an empty participant"),
        pytest.param({"participant_ids": ["p" * 65]}, "participant_ids[0]", id="a long participant"),
    ],
)
def test_a_scope_that_cannot_be_searched_by_is_refused(search: Search, scope: dict[str, Any], field: str) -> None:
    with pytest.raises(ScopeValidationError) as caught:
        search(scope=scope)
    assert (caught.value.code, caught.value.status) == ("VALIDATION_FAILED", 400)
    assert [violation.field for violation in caught.value.violations] == [field]


def test_who_asks_changes_nothing(search: Search) -> None:  # 20
    alice = MemoryScope.user("alice")
    assert search(scope=alice, speaker_actor_id="bob") == search(scope=alice)
    assert names(search(scope=alice)) == "m01 m04 m08 m13"
    with pytest.raises(ScopeValidationError, match="speaker_actor_id has 65 characters"):
        search(scope=alice, speaker_actor_id="s" * 65)


def test_who_asks_may_stand_for_the_first_person() -> None:
    memory = Memory(FakeEmbedder())
    for name, called in (("u1", "Alice"), ("u2", "Bob"), ("u1", None)):
        memory.remember(f"{called}'s favourite is tea", "Noted.", scope=MemoryScope.user(name, name=called))
    asked = {"speaker_actor_id": "u2", "speaker_rewrite": True}
    assert memory.search("What is my favourite?", 1, **asked) == memory.search("What is Bob's favourite?", 1)
    assert memory.search("What is my favourite?", 1, speaker_rewrite=True) == memory.search("What is my favourite?", 1)
    ffai = FFAI(FakeClient(), memory=memory)
    (hit,) = ffai.history.search("And I’m fond of?", 1, speaker_actor_id="u1", speaker_rewrite=True)
    assert hit.prompt == ffai.history.search("And Alice is fond of?", 1)[0].prompt


# Adding


@dataclass
class Talk:
    """An FFAI, and what came of its calls."""

    client: FakeClient
    ffai: FFAI

    def stored(self) -> list[Any]:
        assert self.ffai.memory is not None
        return [turn.scope for turn in self.ffai.memory.list().turns]


@pytest.fixture
def talk() -> Iterator[Talk]:
    """An FFAI with a memory."""
    client = FakeClient()
    with FFAI(client, memory=Memory(FakeEmbedder())) as ffai:
        yield Talk(client, ffai)


BAD = [
    pytest.param({"conversation_id": "conv-9"}, id="14: a conversation without an actor"),
    pytest.param({"actor_id": "alice"}, id="12"),
    pytest.param({"actor_type": "user"}, id="13"),
    pytest.param({"actor_id": "a" * 65, "actor_type": "user"}, id="17"),
    pytest.param({"actor_id": "alice", "actor_type": "robot"}, id="18"),
    pytest.param({"actor_id": "alice", "actor_type": "User"}, id="18: upper case"),
    pytest.param({"source_type": "chat"}, id="an unknown source"),
    pytest.param({"actor_id": "alice", "actor_type": "user", "actor_name": "n" * 256}, id="a long name"),
    pytest.param({"actor_id": 5, "actor_type": "user"}, id="a number"),
    pytest.param({"actor_id": "\ud83d", "actor_type": "user"}, id="half a character"),
    pytest.param({"actor_id": "alice", "actor_type": "user", "conversation_id": "cnv_x"}, id="an unknown internal id"),
    pytest.param({"user": "alice"}, id="an unknown field"),
    pytest.param("alice", id="text"),
]


@pytest.mark.parametrize("scope", BAD)
async def test_a_bad_scope_calls_no_model_and_leaves_nothing(talk: Talk, scope: Any) -> None:
    ffai, workflow = talk.ffai, talk.ffai.workflow
    calls: list[Callable[[], Any]] = [
        lambda: ffai.generate_response("Hi", scope=scope),
        lambda: ffai.generate_response("Hi", options={"scope": scope}),
        lambda: workflow.generate_response("Hi", scope=scope),
        lambda: ffai.stream_response("Hi", scope=scope),
        lambda: ffai.astream_response("Hi", scope=scope),
        lambda: ffai.scoped(scope).generate_response("Hi"),
        lambda: ffai.memory and ffai.memory.remember("Hi", "Hello!", scope=scope),
        lambda: ffai.memory and ffai.memory.index_turn({"role": "user", "content": "Hi"}, scope=scope),
    ]
    for call in calls:
        with pytest.raises((ScopeValidationError, TypeError)):
            call()
    with pytest.raises((ScopeValidationError, TypeError)):
        await ffai.agenerate_response("Hi", scope=scope)
    ffai.flush()
    assert talk.client.calls == []
    assert talk.stored() == []
    assert (len(ffai.history.raw), len(ffai.history.clean), len(ffai.history.ordered)) == (0, 0, 0)
    assert ffai.history.permanent.get_all_turns() == []


def test_every_rule_that_is_broken_is_named_at_once() -> None:
    with pytest.raises(ScopeValidationError) as caught:
        MemoryScope(actor_id="a" * 65, actor_type="robot", source_type="chat", participant_ids="alice")  # type: ignore[arg-type]
    assert {(violation.field, violation.rule) for violation in caught.value.violations} == {
        ("actor_id", "max_length"),
        ("actor_type", "choice"),
        ("source_type", "choice"),
        ("participant_ids", "type"),
    }
    with pytest.raises(ScopeValidationError) as caught:
        MemoryScope(actor_id="alice", actor_name="n" * 256, conversation_id="c").validate("add")
    assert [violation.rule for violation in caught.value.violations] == ["pair", "needs_actor", "max_length"]
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, FFAIError)


def test_an_unknown_field_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        MemoryScope(userid="alice")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="no field 'userid'"):
        MemoryScope.of({"userid": "alice"})


def test_a_field_set_in_a_copy_of_everybody_is_a_scope_like_any_other() -> None:
    made = replace(MemoryScope.all(), actor_id="alice", actor_type="user")
    assert made == MemoryScope.user("alice")
    assert not made.is_all
    for everybody in (pickle.loads(pickle.dumps(MemoryScope.all())), copy.copy(MemoryScope.all()), MemoryScope.all()):
        assert everybody.is_all
        assert everybody == MemoryScope.all() != MemoryScope()


def test_participants_are_not_stored(talk: Talk) -> None:  # 15
    alice = MemoryScope.user("alice", conversation="conv-1")
    talk.ffai.generate_response("One", scope=alice)
    both = MemoryScope(actor_id="alice", actor_type="user", conversation_id="conv-1", participant_ids=("alice", "bob"))
    talk.ffai.generate_response("Two", scope=both)
    talk.ffai.flush()
    stored = MemoryScope(actor_id="alice", actor_type="user", conversation_id="conv-1", source_type="api")
    assert talk.stored() == [stored, stored]
    assert len({hit.conversation_id for hit in talk.ffai.history.search("One", scope=alice)}) == 1


@pytest.mark.parametrize("nothing", [None, {}, MemoryScope(), MemoryScope.all(), {"actor_id": "", "actor_type": None}])
def test_an_empty_scope_is_stored_with_a_source(talk: Talk, nothing: Any) -> None:  # 16
    talk.ffai.generate_response("Hi", scope=nothing)
    talk.ffai.flush()
    assert talk.stored() == [MemoryScope(source_type="api")]


def test_the_longest_ids_and_names_are_taken(talk: Talk) -> None:  # 17
    scope = MemoryScope(
        actor_id="🎉" * 64, actor_type="system", actor_name="n" * 255, conversation_id="c" * 64, source_type="document"
    )
    talk.ffai.generate_response("Hi", scope=scope)
    talk.ffai.flush()
    assert talk.stored() == [scope]
    assert len(talk.ffai.history.search("Hi", scope=scope)) == 1


def test_an_internal_id_that_is_known_is_that_conversation(talk: Talk) -> None:
    alice, bob = (MemoryScope.user(name, conversation="trip") for name in ("alice", "bob"))
    talk.ffai.generate_response("Where to?", scope=alice)
    (hit,) = talk.ffai.history.search("Where to?", scope=alice)
    assert hit.conversation_id is not None
    talk.ffai.generate_response("To Porto", scope=MemoryScope.user("bob", conversation=hit.conversation_id))
    talk.ffai.flush()
    assert talk.stored()[1] == bob.validate("add")


def test_an_internal_id_is_known_before_its_turn_is_embedded() -> None:
    embedder = FakeEmbedder()
    memory = Memory(embedder)
    embedder.gate.clear()
    memory.remember("Where to?", "Porto?", scope=MemoryScope.user("alice", conversation="trip"))
    (turn,) = memory.list().turns
    assert turn.conversation_id is not None
    memory.remember("Yes", "Fine.", scope=MemoryScope.user("bob", conversation=turn.conversation_id))
    assert [turn.external_conversation_id for turn in memory.list().turns] == ["trip", "trip"]
    embedder.gate.set()
    memory.close()


# Participants


def test_who_comes_later_makes_what_was_said_before_findable() -> None:
    memory = Memory(FakeEmbedder())
    memory.remember("The first", "Yes.", scope=MemoryScope.user("erin", conversation="c"))
    both = MemoryScope.shared("erin", "frank")
    assert memory.search("The first", scope=both) == []
    memory.remember("The second", "Yes.", scope=MemoryScope.user("frank", conversation="c"))
    assert len(memory.search("The first", scope=both)) == 2


def test_who_waits_to_be_embedded_takes_part_already() -> None:
    memory = Memory(FakeEmbedder(fail=lambda text: ValueError("too hot") if "second" in text else None))
    memory.remember("The first", "Yes.", scope=MemoryScope.user("erin", conversation="c"))
    memory.remember("The second", "Yes.", scope=MemoryScope.user("frank", conversation="c"))
    assert memory.flush().failed == 1
    both = MemoryScope.shared("erin", "frank")
    assert [hit.prompt for hit in memory.search("The first", scope=both)] == ["The first"]
    assert [turn.prompt for turn in memory.list(scope=both).turns] == ["The first", "The second"]


def test_taking_part_ends_with_the_last_turn(tmp_path: Path) -> None:
    memory = opened_at(tmp_path)
    memory.remember("The first", "Yes.", scope=MemoryScope.user("erin", conversation="c"))
    memory.remember("The second", "Yes.", scope=MemoryScope.user("frank", conversation="c"))
    both = MemoryScope.shared("erin", "frank")
    assert len(memory.search("The first", scope=both)) == 2
    assert memory.forget(scope=MemoryScope.user("frank")).count == 1
    assert memory.search("The first", scope=both) == []
    assert len(memory.search("The first", scope=MemoryScope.shared("erin"))) == 1
    memory.close()


def test_an_expired_turn_shows_no_participant() -> None:
    memory = Memory(FakeEmbedder())
    memory.remember("The first", "Yes.", scope=MemoryScope.user("erin", conversation="c"))
    memory.remember("The second", "Yes.", scope=MemoryScope.user("frank", conversation="c"), expires_at=1.0)
    assert memory.search("The first", scope=MemoryScope.shared("erin", "frank")) == []


def test_an_agent_takes_part_where_it_answered() -> None:
    memory = Memory(FakeEmbedder())
    with FFAI(FakeClient(), memory=memory, agent_actor_id="planner") as ffai:
        ffai.generate_response("Where to?", scope=MemoryScope.user("alice", conversation="trip"))
        ffai.generate_response("No conversation", scope=MemoryScope.user("alice"))
        found = ffai.history.search("Where to?", scope=MemoryScope.shared("alice", "planner"))
        assert [hit.prompt for hit in found] == ["Where to?"]
        assert ffai.history.search("Where to?", scope=MemoryScope(actor_id="planner", actor_type="agent")) == []
        (seen,) = ffai.history.scoped(MemoryScope.shared("planner")).raw
        assert seen["prompt"] == "Where to?"
    with pytest.raises(ScopeValidationError, match="agent_actor_id"):
        FFAI(FakeClient(), memory=memory, agent_actor_id="p" * 65)


# Files


def test_a_file_of_an_earlier_version_has_no_scopes(tmp_path: Path) -> None:
    data = Path(__file__).parents[1] / "data" / "ffai-0.1.8.parquet"
    (tmp_path / "ffai_turns.parquet").write_bytes(data.read_bytes())
    memory = Memory(FakeEmbedder())
    memory.persist_to(tmp_path)
    memory.flush()  # its vectors are of another size
    hits = memory.search("anything", 100)
    assert len(hits) == memory.count() > 0
    assert {hit.scope for hit in hits} == {MemoryScope()}
    for scope in ({"source_type": "api"}, MemoryScope.user("alice"), MemoryScope.shared("alice")):
        assert memory.search("anything", 100, scope=scope) == []
        assert memory.list(scope=scope).turns == ()
    memory.close()
