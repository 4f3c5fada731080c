"""A capsule comes back from where it is stored as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.rag.capsule import Decision, Fact, MemoryCapsule, Task
from ffai.rag.entry import Provenance

FULL = MemoryCapsule(
    id="w1",
    summary="The launch moved to Friday.",
    start_ts=1699999000,
    end_ts=1699999300,
    source_ids=["m1", "m2"],
    facts=[Fact(id="f1", subject="launch", predicate="is on", object="Friday", confidence=0.9)],
    decisions=[Decision(id="d1", decision="Move it.", owner="alice", decided_at=1699999000)],
    tasks=[Task(id="t1", title="Tell the press", due_at="Thursday", provenance=[Provenance(message_id="m2")])],
    open_questions=["Who pays?"],
    provenance=[Provenance(source="chat", source_id="m1", timestamp=1699999000.0, metadata={"role": "user"})],
    metadata={"window": {"hours": 24}},
)


def test_a_capsule_is_stored_under_its_key_with_its_summary_to_search() -> None:
    value = FULL.to_value()
    assert FULL.key == "capsule:w1"
    assert (value["kind"], value["content"]) == ("memory-capsule", "The launch moved to Friday.")
    assert set(value) == {"kind", "content", *MemoryCapsule.model_fields}
    assert value["start_ts"] == 1699999000
    assert value["provenance"] == [
        {"source": "chat", "source_id": "m1", "timestamp": 1699999000.0, "metadata": {"role": "user"}}
    ]
    assert json.loads(json.dumps(value)) == value


def test_a_capsule_needs_only_an_id_and_a_summary() -> None:
    capsule = MemoryCapsule(id="w1", summary="SUM")
    assert capsule.to_value() == {
        "kind": "memory-capsule",
        "content": "SUM",
        "id": "w1",
        "summary": "SUM",
        "start_ts": None,
        "end_ts": None,
        "source_ids": [],
        "facts": [],
        "decisions": [],
        "tasks": [],
        "open_questions": [],
        "provenance": [],
        "metadata": {},
    }


def test_a_capsule_comes_back_as_it_was() -> None:
    back = MemoryCapsule.of_value(json.loads(json.dumps(FULL.to_value())))
    assert back == FULL
    assert back.tasks[0].due_at == "Thursday"
    assert back.decisions[0].decided_at == 1699999000
    assert isinstance(back.provenance[0], Provenance)


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
facts = st.builds(
    Fact,
    id=st.text(min_size=1),
    subject=st.text(),
    predicate=st.text(),
    object=st.text(),
    confidence=st.none() | st.floats(0, 1),
    provenance=st.lists(st.builds(Provenance, source_id=st.none() | st.text(), score=st.none() | st.floats(-1, 1))),
    metadata=st.dictionaries(st.text(), plain, max_size=3),
)


@given(st.text(min_size=1), st.text(), st.lists(facts, max_size=3), st.lists(st.text()))
def test_any_capsule_comes_back_as_it_was(key: str, summary: str, found: list[Fact], questions: list[str]) -> None:
    capsule = MemoryCapsule(id=key, summary=summary, facts=found, open_questions=questions)
    assert MemoryCapsule.of_value(json.loads(json.dumps(capsule.to_value()))) == capsule


def test_a_source_id_that_is_a_number_is_its_text() -> None:
    capsule = MemoryCapsule(id="w1", summary="s", source_ids=[7], provenance=[{"source_id": 7}])  # type: ignore[list-item]
    assert (capsule.source_ids, capsule.provenance[0].source_id) == (["7"], "7")


def test_a_record_without_a_summary_has_its_content_for_one() -> None:
    assert MemoryCapsule.of_value({"id": "w1", "content": "SUM"}).summary == "SUM"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"kind": "graph-node", "id": "x"}, "A record of kind 'graph-node' is no capsule"),
        ({"id": "w1"}, "Capsule 'w1' can't be read: summary: Field required"),
        ({"id": "", "summary": "s"}, "Capsule '' can't be read: id: "),
        ({"id": "w1", "summary": "s", "colour": "red"}, "colour: Extra inputs are not permitted, not 'red'"),
        ({"id": "w1", "summary": "s", "facts": [{"id": "f"}]}, r"facts\.0\.subject: Field required"),
        ({"id": "w1", "summary": "s", "tasks": [{"id": "t", "title": "x", "confidence": 2}]}, r"tasks\.0\.confidence"),
        ({"id": "w1", "summary": "s", "provenance": [{"colour": 1}]}, r"provenance\.0\.colour"),
    ],
)
def test_a_record_that_is_no_capsule_is_refused_by_name(value: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidArgumentError, match=told):
        MemoryCapsule.of_value(value)


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="capsule must be a dict, not str"):
        MemoryCapsule.of_value("w1")  # type: ignore[arg-type]


def test_a_capsule_is_not_changed_and_holds_only_what_can_be_stored() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        FULL.summary = "other"
    with pytest.raises(ValidationError, match="metadata"):
        MemoryCapsule(id="w1", summary="s", metadata={"lock": object()})
    with pytest.raises(InvalidArgumentError, match="Capsule 'w1' must be what JSON can hold"):
        MemoryCapsule(id="w1", summary="s", provenance=[Provenance(metadata={"x": object()})]).to_value()
