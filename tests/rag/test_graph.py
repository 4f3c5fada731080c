"""Nodes and edges as they are stored: the contract's keys, defaults and forms."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.rag.entry import Provenance
from ffai.rag.graph import edge_value, graph_of, node_value


def test_a_node_has_the_contracts_defaults() -> None:
    assert node_value("person", "Dana Smith") == (
        "graph:node:person:dana-smith",
        {
            "kind": "graph-node",
            "id": "person:dana-smith",
            "node_kind": "person",
            "label": "Dana Smith",
            "content": "Dana Smith",
            "summary": None,
            "confidence": 0.7,
            "provenance": [],
            "metadata": {},
        },
    )


def test_a_node_takes_what_it_is_given() -> None:
    key, value = node_value(
        "person",
        "Dana",
        id="d1",
        summary="Owns the budget.",
        confidence=1,
        provenance=[Provenance(message_id="m1"), {"source": "chat"}],
        metadata={"tags": ("a",)},
    )
    assert key == "graph:node:d1"
    assert (value["id"], value["content"], value["summary"]) == ("d1", "Owns the budget.", "Owns the budget.")
    assert value["provenance"] == [{"message_id": "m1"}, {"source": "chat"}]
    assert (value["confidence"], value["metadata"]) == (1.0, {"tags": ["a"]})
    assert json.loads(json.dumps(value)) == value


def test_an_edge_has_the_contracts_defaults() -> None:
    assert edge_value("person:dana", "topic:budget", "owns") == (
        "graph:edge:person:dana:owns:topic:budget",
        {
            "kind": "graph-edge",
            "id": "person:dana:owns:topic:budget",
            "from": "person:dana",
            "to": "topic:budget",
            "relation": "owns",
            "content": "person:dana owns topic:budget",
            "weight": 1.0,
            "confidence": 0.7,
            "provenance": [],
            "metadata": {},
        },
    )
    key, value = edge_value("a", "b", "r", id="e1", weight=0, confidence=0, provenance=Provenance(key="k"))
    assert (key, value["weight"], value["confidence"]) == ("graph:edge:e1", 0.0, 0.0)
    assert value["provenance"] == [{"key": "k"}]


def test_what_is_stored_shares_nothing_with_what_was_given() -> None:
    metadata: dict[str, Any] = {"tags": ["a"]}
    _, value = node_value("topic", "x", metadata=metadata)
    metadata["tags"].append("b")
    assert value["metadata"] == {"tags": ["a"]}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"kind": " "}, "kind is blank"),
        ({"label": ""}, "label is blank"),
        ({"id": ""}, "id is blank"),
        ({"label": 3}, "label must be text, not int: 3"),
        ({"confidence": 1.1}, "confidence must be within 0 and 1, not 1.1"),
        ({"confidence": -1}, "confidence must be a number of at least 0, not -1"),
        ({"confidence": "high"}, "confidence must be a number, not 'high'"),
        ({"confidence": float("nan")}, "confidence must be a number"),
        ({"provenance": "m1"}, "provenance must be a list of dicts, not str"),
        ({"provenance": [3]}, "provenance must be a dict, not int: 3"),
        ({"provenance": {"colour": "red"}}, "provenance has an unknown 'colour'"),
        ({"metadata": {"a": object()}}, "metadata must be what JSON can hold"),
        ({"metadata": [1]}, "metadata must be a dict, not list"),
    ],
)
def test_a_node_that_cannot_be_used_is_refused_by_name(given: dict[str, Any], told: str) -> None:
    with pytest.raises((ArgumentTypeError, InvalidArgumentError), match=told):
        node_value(**{"kind": "topic", "label": "x", **given})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"from_id": ""}, "from_id is blank"),
        ({"to_id": None}, "to_id must be text"),
        ({"relation": " "}, "relation is blank"),
        ({"weight": float("inf")}, "weight must be finite"),
        ({"weight": -0.1}, "weight must be a number of at least 0"),
    ],
)
def test_an_edge_that_cannot_be_used_is_refused_by_name(given: dict[str, Any], told: str) -> None:
    with pytest.raises((ArgumentTypeError, InvalidArgumentError), match=told):
        edge_value(**{"from_id": "a", "to_id": "b", "relation": "r", **given})


def test_a_graph_is_made_of_what_was_found_elsewhere() -> None:
    records = graph_of(
        nodes=[{"label": "Budget", "summary": None}, {"kind": "person", "label": "Dana", "confidence": 0.9}],
        edges=[{"from": "person:dana", "relation": "owns", "to": "topic:budget", "weight": 2}],
    )
    assert [key for key, _ in records] == [
        "graph:node:topic:budget",
        "graph:node:person:dana",
        "graph:edge:person:dana:owns:topic:budget",
    ]
    assert records[2][1]["weight"] == 2.0
    assert graph_of() == graph_of([], None) == []


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"nodes": {"label": "x"}}, "nodes must be a list of dicts, not dict"),
        ({"nodes": ["x"]}, r"nodes\[0\] must be a dict, not str: 'x'"),
        ({"nodes": [{"label": "x"}, {"labell": "y"}]}, r"nodes\[1\] has an unknown 'labell'; known are kind, label"),
        ({"nodes": [{"label": "x", "confidence": 7}]}, r"nodes\[0\]: confidence must be within 0 and 1, not 7"),
        ({"edges": [{"from": "a", "to": None, "relation": "r"}]}, r"edges\[0\] has no 'to'"),
        ({"edges": [{"from": "a", "to": "b", "relation": ""}]}, r"edges\[0\]: relation is blank"),
        ({"edges": 3}, "edges must be a list of dicts, not int: 3"),
    ],
)
def test_a_graph_that_cannot_be_used_is_refused_by_name(found: dict[str, Any], told: str) -> None:
    with pytest.raises((ArgumentTypeError, InvalidArgumentError), match=told):
        graph_of(**found)
