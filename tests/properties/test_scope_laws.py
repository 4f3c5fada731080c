"""A scope finds its own turns, all of them and no others, whatever the ids look like."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from ffai import Memory, MemoryScope
from ffai.core.conversation_id import internal_id
from ffai.testing import FakeEmbedder

ESCAPING = [
    *(
        "a_b",
        "a%",
        "axb",
        "A_B",
        "a-b",
        "u1",
        "u10",
        "u1:x",
        "u1/x",
        "u1\\x",
        "u1'",
        'u1"',
        "' OR '1'='1",
        "--",
        "*",
        "?",
    ),
    *(
        "🎉" * 64,
        "x" * 64,
        "x" * 63,
        "ä",
        "a\u0308",
        "ﬁ",
        "fi",
        " ",
        " u1",
        "u1 ",
        "\n",
        "\0",
        "null",
        "None",
        "{}",
        "[]",
    ),
    *(
        '{"actor_id": "u1"}',
        '", "actor_id": "u1',
        "cnv",
        "CNV_u1",
        "user",
        "user:u1",
        "../u1",
        "%00",
        "u1\u200b",
        "1",
        "1.0",
    ),
]
ids = st.sampled_from(ESCAPING) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=64).filter(
    lambda text: not text.startswith("cnv_")
)
kinds = st.sampled_from(["user", "agent", "system"])
scopes = st.builds(
    lambda actor_id, actor_type, conversation, source: MemoryScope(
        actor_id=actor_id, actor_type=actor_type, conversation_id=conversation, source_type=source
    ),
    ids,
    kinds,
    ids | st.none(),
    st.sampled_from([None, "conversation", "document", "api"]),
)


def filled(stored: list[MemoryScope]) -> Memory:
    memory = Memory(FakeEmbedder(8))
    for number, scope in enumerate(stored):
        memory.remember("same", "same", scope=scope, metadata={"n": number})
    return memory


def found(memory: Memory, scope: MemoryScope) -> list[int]:
    """The numbers of the turns, as a search and as a list find them."""
    hits = sorted(hit.metadata["n"] for hit in memory.search("same", 1000, scope=scope))
    assert hits == sorted(turn.metadata["n"] for turn in memory.list(scope=scope, limit=1000).turns)
    return hits


@given(st.lists(scopes, min_size=1, max_size=12), st.data())
@settings(max_examples=60)
def test_ids_that_try_to_escape_find_only_their_own(stored: list[MemoryScope], data: st.DataObject) -> None:
    memory = filled(stored)
    asked = data.draw(st.sampled_from(stored) | scopes)
    for wanted in (asked, replace(asked, conversation_id=None), replace(asked, source_type=None)):
        fields = wanted.to_metadata().items()
        right = [
            number
            for number, scope in enumerate(stored)
            if all(getattr(scope.validate("add"), name) == value for name, value in fields)
        ]
        assert found(memory, wanted) == right
    memory.close()


@given(st.lists(scopes, min_size=1, max_size=12), st.lists(ids, min_size=1, max_size=3), st.data())
@settings(max_examples=60)
def test_participants_have_taken_part(stored: list[MemoryScope], others: list[str], data: st.DataObject) -> None:
    memory = filled(stored)
    known = st.sampled_from([str(scope.actor_id) for scope in stored] + others)
    people = data.draw(st.lists(known, min_size=1, max_size=3))
    took_part: dict[str, set[str]] = {}
    for scope in stored:
        if scope.conversation_id is not None:
            took_part.setdefault(scope.conversation_id, set()).add(str(scope.actor_id))
    shared = {conversation for conversation, present in took_part.items() if present >= set(people)}
    right = [number for number, scope in enumerate(stored) if scope.conversation_id in shared]
    assert found(memory, MemoryScope.shared(*people)) == right
    memory.close()


@given(st.lists(scopes, min_size=1, max_size=12), st.data())
@settings(max_examples=40)
def test_forgetting_a_scope_forgets_its_turns_and_no_others(stored: list[MemoryScope], data: st.DataObject) -> None:
    memory = filled(stored)
    gone = data.draw(st.sampled_from(stored))
    theirs = found(memory, gone)
    assert memory.forget(scope=gone).count == len(theirs)
    assert found(memory, MemoryScope()) == sorted({*range(len(stored))} - {*theirs})
    memory.close()


@given(st.lists(ids, min_size=2, max_size=8, unique=True))
def test_different_conversations_have_different_internal_ids(conversations: list[str]) -> None:
    internal = [internal_id(conversation) for conversation in conversations]
    assert len({*internal}) == len(conversations)
    assert all(len(made) == 30 and made.startswith("cnv_") for made in internal)


@given(scopes, scopes)
def test_merging_replaces_an_actor_as_a_whole(base: MemoryScope, call: MemoryScope) -> None:
    named = replace(base, actor_name="Base")
    merged = named.merged(call)
    assert (merged.actor_id, merged.actor_type, merged.actor_name) == (call.actor_id, call.actor_type, None)
    assert merged.conversation_id == (call.conversation_id or base.conversation_id)
    assert named.merged(None) == named.merged(MemoryScope()) == named
    assert MemoryScope().merged(call) == call
    assert merged.merged(call) == merged
    assert named.merged(MemoryScope.all()) == MemoryScope.all()
