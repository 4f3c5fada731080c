"""The JSON schema of a pydantic class as a model is shown it: short, and without what only programmers need."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

_NAMES = ("properties", "$defs")
"""Keys whose dict holds names, not keywords."""
_VALUES = ("default", "const", "enum", "examples")
"""Keys whose value is any JSON."""
_REF = "#/$defs/"


def shown_schema(kind: type[BaseModel]) -> str:
    """Return the schema of a class on one line.

    Titles repeat the names, and nothing is said by a default that is empty: both are left out. Of a description the
    first paragraph stays. Classes within stand where they are used, unless one of them is within itself.

    Examples:
        >>> from pydantic import BaseModel
        >>> class City(BaseModel):
        ...     mayor: str | None = None
        >>> print(shown_schema(City))
        {"properties": {"mayor": {"type": ["string", "null"]}}, "type": "object"}
    """
    schema = kind.model_json_schema()
    definitions = schema.get("$defs", {})
    if not any(_reaches(definitions, name, name) for name in definitions):
        schema = _inlined({key: value for key, value in schema.items() if key != "$defs"}, definitions)
    return json.dumps(_lean(schema), ensure_ascii=False)


def _refs(node: Any) -> set[str]:
    if isinstance(node, list):
        return {name for item in node for name in _refs(item)}
    if not isinstance(node, Mapping):
        return set()
    own = node.get("$ref")
    found = {own.removeprefix(_REF)} if isinstance(own, str) else set()
    return found | {name for item in node.values() for name in _refs(item)}


def _reaches(definitions: Mapping[str, Any], start: str, goal: str) -> bool:
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        for name in _refs(definitions.get(ahead.pop())) - seen:
            if name == goal:
                return True
            seen.add(name)
            ahead.append(name)
    return False


def _inlined(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inlined(item, definitions) for item in node]
    if not isinstance(node, Mapping):
        return node
    own = node.get("$ref")
    if isinstance(own, str) and (name := own.removeprefix(_REF)) in definitions:
        beside = {key: value for key, value in node.items() if key != "$ref"}
        node = {**definitions[name], **beside}
    return {key: _inlined_at(key, value, definitions) for key, value in node.items()}


def _inlined_at(key: str, value: Any, definitions: Mapping[str, Any]) -> Any:
    if key in _NAMES and isinstance(value, Mapping):
        return {name: _inlined(inner, definitions) for name, inner in value.items()}
    return value if key in _VALUES else _inlined(value, definitions)


def _lean(node: Any) -> Any:
    if isinstance(node, list):
        return [_lean(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    lean: dict[str, Any] = {}
    for key, value in node.items():
        if key in _NAMES and isinstance(value, Mapping):
            lean[key] = {name: _lean(inner) for name, inner in value.items()}
        elif key == "description" and isinstance(value, str):
            lean[key] = value.partition("\n\n")[0]
        elif key == "default" and value in (None, [], {}, ""):
            continue
        elif key in _VALUES:
            lean[key] = value
        elif key != "title":
            lean[key] = _lean(value)
    return _or_null(lean)


def _or_null(node: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of "this or null" in its short form, where it has one."""
    match node.get("anyOf"):
        case [{"type": str(kind), **rest}, {"type": "null"}] if not rest.keys() & {"enum", "const"}:
            others = {key: value for key, value in node.items() if key != "anyOf"}
            return {"type": [kind, "null"], **{str(key): value for key, value in rest.items()}, **others}
    return node
