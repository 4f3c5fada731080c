"""Things and how they relate, as they are stored in the knowledge: one record a node, one an edge."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from ffai.core.arguments import check_dict, check_number, check_text
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.rag.entry import Provenance

NODE_KIND, EDGE_KIND = "graph-node", "graph-edge"

Record = tuple[str, dict[str, Any]]
"""A key, and the value that is stored under it."""
Provenances = Provenance | Mapping[str, Any] | Iterable[Provenance | Mapping[str, Any]] | None
"""Where something comes from: one place or several, each a `Provenance` or a mapping of its fields."""

_NODE = ("kind", "label", "id", "summary", "confidence", "provenance", "metadata")
_EDGE = ("from", "to", "relation", "id", "weight", "confidence", "provenance", "metadata")


def node_key(node_id: str) -> str:
    """Return the key of a node.

    Examples:
        >>> node_key("person:dana")
        'graph:node:person:dana'
    """
    return f"graph:node:{node_id}"


def edge_key(edge_id: str) -> str:
    """Return the key of an edge.

    Examples:
        >>> edge_key("person:dana:owns:topic:budget")
        'graph:edge:person:dana:owns:topic:budget'
    """
    return f"graph:edge:{edge_id}"


def node_value(
    kind: str,
    label: str,
    *,
    id: str | None = None,  # noqa: A002 - the contract's word
    summary: str | None = None,
    confidence: float = 0.7,
    provenance: Provenances = None,
    metadata: Mapping[str, Any] | None = None,
) -> Record:
    """Make the record of a node.

    Args:
        kind: what it is: a person, a project, a topic.
        label: its name.
        id: by default the kind and the label in lower case, spaces as dashes.
        summary: what is searched for its meaning; by default the label.
        confidence: how sure it is, in ``[0, 1]``.
        provenance: where it comes from.
        metadata: what JSON can hold.

    Raises:
        ArgumentTypeError, InvalidArgumentError: an argument can't be used; names it.

    Examples:
        >>> key, value = node_value("project", "Apollo Launch")
        >>> key, value["content"], value["confidence"]
        ('graph:node:project:apollo-launch', 'Apollo Launch', 0.7)
    """
    check_text("kind", kind)
    check_text("label", label)
    node_id = f"{kind}:{label.lower().replace(' ', '-')}" if id is None else check_text("id", id)
    about = check_text("summary", summary) if summary else None
    return node_key(node_id), {
        "kind": NODE_KIND,
        "id": node_id,
        "node_kind": kind,
        "label": label,
        "content": about or label,
        "summary": about,
        "confidence": _confidence(confidence),
        "provenance": _provenance(provenance),
        "metadata": _metadata(metadata),
    }


def edge_value(
    from_id: str,
    to_id: str,
    relation: str,
    *,
    id: str | None = None,  # noqa: A002 - the contract's word
    weight: float = 1.0,
    confidence: float = 0.7,
    provenance: Provenances = None,
    metadata: Mapping[str, Any] | None = None,
) -> Record:
    """Make the record of an edge.

    Args:
        from_id: the id of the node it begins at.
        to_id: the id of the node it ends at.
        relation: how the first relates to the second.
        id: by default ``from_id``, ``relation`` and ``to_id`` with colons between them.
        weight: how much it counts, at least 0.
        confidence: how sure it is, in ``[0, 1]``.
        provenance: where it comes from.
        metadata: what JSON can hold.

    Raises:
        ArgumentTypeError, InvalidArgumentError: an argument can't be used; names it.

    Examples:
        >>> key, value = edge_value("person:dana", "topic:budget", "owns")
        >>> key, value["content"]
        ('graph:edge:person:dana:owns:topic:budget', 'person:dana owns topic:budget')
    """
    for name, given in (("from_id", from_id), ("to_id", to_id), ("relation", relation)):
        check_text(name, given)
    edge_id = f"{from_id}:{relation}:{to_id}" if id is None else check_text("id", id)
    counts = check_number("weight", weight, least=0.0)
    if math.isinf(counts):
        raise InvalidArgumentError(f"weight must be finite, not {weight!r}.")
    return edge_key(edge_id), {
        "kind": EDGE_KIND,
        "id": edge_id,
        "from": from_id,
        "to": to_id,
        "relation": relation,
        "content": f"{from_id} {relation} {to_id}",
        "weight": counts,
        "confidence": _confidence(confidence),
        "provenance": _provenance(provenance),
        "metadata": _metadata(metadata),
    }


def graph_of(
    nodes: Iterable[Mapping[str, Any]] | None = None, edges: Iterable[Mapping[str, Any]] | None = None
) -> list[Record]:
    """Make the records of a graph that was found by other means: a parser, or a model asked for JSON.

    Args:
        nodes: mappings of the arguments of `node_value`; the kind is ``"topic"`` where there is none.
        edges: mappings with ``from``, ``to`` and ``relation``, and the other arguments of `edge_value`. An edge may
            name a node that is stored already. What is ``None`` counts as not given, in nodes too.

    Returns:
        The nodes, then the edges, each with its key.

    Raises:
        ArgumentTypeError, InvalidArgumentError: one of them can't be used; names it and what is wrong.

    Examples:
        >>> owns = {"from": "person:dana", "relation": "owns", "to": "topic:budget"}
        >>> found = {"nodes": [{"label": "Budget"}], "edges": [owns]}
        >>> [key for key, _ in graph_of(**found)]
        ['graph:node:topic:budget', 'graph:edge:person:dana:owns:topic:budget']
        >>> graph_of(nodes=[{"label": "Budget"}, {"kind": "person"}])
        Traceback (most recent call last):
        ffai.errors.InvalidArgumentError: nodes[1] has no 'label': {'kind': 'person'}.
    """
    made = [_node(f"nodes[{index}]", node) for index, node in enumerate(_listed("nodes", nodes))]
    return made + [_edge(f"edges[{index}]", edge) for index, edge in enumerate(_listed("edges", edges))]


def _node(name: str, given: object) -> Record:
    told = _named(name, given, _NODE, needed=("label",))
    kind, label = told.pop("kind", "topic"), told.pop("label")
    try:
        return node_value(kind, label, **told)
    except (ArgumentTypeError, InvalidArgumentError) as error:
        raise type(error)(f"{name}: {error}") from error


def _edge(name: str, given: object) -> Record:
    told = _named(name, given, _EDGE, needed=("from", "to", "relation"))
    ends = [told.pop(key) for key in ("from", "to", "relation")]
    try:
        return edge_value(*ends, **told)
    except (ArgumentTypeError, InvalidArgumentError) as error:
        raise type(error)(f"{name}: {error}") from error


def _named(name: str, given: Any, known: tuple[str, ...], *, needed: tuple[str, ...]) -> dict[str, Any]:
    check_dict(name, given)
    if unknown := [key for key in given if key not in known]:
        raise InvalidArgumentError(f"{name} has an unknown {unknown[0]!r}; known are {', '.join(known)}.")
    told = {key: value for key, value in given.items() if value is not None}
    if missing := [key for key in needed if key not in told]:
        raise InvalidArgumentError(f"{name} has no {missing[0]!r}: {given!r:.100}.")
    return told


def _listed(name: str, given: Any) -> Iterable[Any]:
    if given is None:
        return ()
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise ArgumentTypeError(f"{name} must be a list of dicts, not {type(given).__name__}: {given!r:.100}.")
    return given


def _confidence(value: Any) -> float:
    sure = check_number("confidence", value, least=0.0)
    if sure > 1.0:
        raise InvalidArgumentError(f"confidence must be within 0 and 1, not {value!r}.")
    return sure


def _provenance(given: Any) -> list[dict[str, Any]]:
    listed = [given] if isinstance(given, (Provenance, Mapping)) else list(_listed("provenance", given))
    known = [field.name for field in fields(Provenance)]
    for place in listed:
        if isinstance(place, Provenance):
            continue
        check_dict("provenance", place)
        if unknown := [key for key in place if key not in known]:
            raise InvalidArgumentError(f"provenance has an unknown {unknown[0]!r}; known are {', '.join(known)}.")
    told = [place if isinstance(place, Provenance) else Provenance(**place) for place in listed]
    return [_plain("provenance", place.to_dict()) for place in told]


def _metadata(given: Any) -> dict[str, Any]:
    if given is None:
        return {}
    check_dict("metadata", given)
    return _plain("metadata", dict(given))


def _plain(name: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return a copy as it comes back from where it is stored."""
    try:
        copy: dict[str, Any] = json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"{name} must be what JSON can hold: {error}; not {value!r:.100}.") from error
    return copy
