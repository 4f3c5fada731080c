"""A record says where it comes from; what is not known is left out."""

from __future__ import annotations

from types import MappingProxyType, SimpleNamespace

import pytest

from ffai.errors import ArgumentTypeError
from ffai.rag.entry import MemoryEntry, Provenance, Source, value_of


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        (MemoryEntry("k", {"content": "tea"}), {"content": "tea"}),
        ({"key": "k", "value": {"content": "tea"}, "score": 0.5}, {"content": "tea"}),
        (SimpleNamespace(value={"content": "tea"}), {"content": "tea"}),
        ({"content": "tea"}, {"content": "tea"}),
        ({"title": "a row", "value": 5}, {"title": "a row", "value": 5}),
        ({"key": "k", "value": None}, {}),
        (SimpleNamespace(value=None), {}),
        ({}, {}),
    ],
)
def test_a_record_is_an_entry_a_dict_or_any_object_with_a_value(entry, value):
    assert value_of(entry) == value


@pytest.mark.parametrize("entry", [None, "text", 5, ["a"]])
def test_what_is_no_record_is_refused(entry):
    with pytest.raises(ArgumentTypeError, match="An entry must be a dict or have a value"):
        value_of(entry)


@pytest.mark.parametrize(
    ("metadata", "source_id"),
    [({"source_id": "s", "message_id": "m"}, "s"), ({"message_id": "m"}, "m"), ({}, "17:m0"), (None, "17:m0")],
)
def test_the_source_id_is_the_records_own_else_its_messages_else_its_key(metadata, source_id):
    entry = MemoryEntry("17:m0", {"metadata": metadata, "sender_id": "alice", "timestamp": 17.0}, 0.5)
    found = Provenance.of_entry(entry)
    assert found.source_id == source_id
    assert (found.key, found.user_id, found.timestamp, found.score) == ("17:m0", "alice", 17.0, 0.5)


def test_a_provenance_comes_back_from_its_dict():
    whole = Provenance(
        source="chat",
        source_id="s",
        session_id="c",
        user_id="u",
        message_id="m",
        key="k",
        timestamp=0.0,
        score=0.0,
        metadata=MappingProxyType({"a": 1}),
    )
    assert Provenance.of(whole.to_dict()) == whole
    assert len(whole.to_dict()) == 9
    assert Provenance().to_dict() == {}


def test_a_source_as_a_dict_holds_its_provenance_as_a_dict():
    source = Source(id="m0", kind="turn", label="alice", excerpt="tea", provenance=Provenance(key="k"))
    assert source.to_dict()["provenance"] == {"key": "k"}
    assert "score" not in source.to_dict()
