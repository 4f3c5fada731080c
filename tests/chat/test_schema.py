"""A model is shown a short schema that means the same."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, Field

from ffai.chat.schema import shown_schema


class Author(BaseModel):
    name: str
    title: Literal["Dr", "Prof"] | None = None


class Book(BaseModel):
    """A book that was spoken of.

    Its examples are for programmers.
    """

    title: str = Field(description="As on the cover.\n\nNot for the model.")
    author: Author
    second: Author | None = None
    kind: Literal["novel", "title"] = "novel"
    pages: int | None = Field(None, ge=1)
    tags: list[str] = []
    default: Author
    const: dict[str, Any] = {"title": "x"}


class Part(BaseModel):
    name: str
    parts: list[Part] = []


class Machine(BaseModel):
    whole: Part


def test_a_schema_is_short_and_says_the_same() -> None:
    title = {"anyOf": [{"enum": ["Dr", "Prof"], "type": "string"}, {"type": "null"}]}
    author = {
        "properties": {"name": {"type": "string"}, "title": title},
        "required": ["name"],
        "type": "object",
    }
    assert json.loads(shown_schema(Book)) == {
        "description": "A book that was spoken of.",
        "properties": {
            "title": {"type": "string", "description": "As on the cover."},
            "author": author,
            "second": {**author, "type": ["object", "null"]},
            "kind": {"default": "novel", "enum": ["novel", "title"], "type": "string"},
            "pages": {"type": ["integer", "null"], "minimum": 1},
            "tags": {"items": {"type": "string"}, "type": "array"},
            "default": author,
            "const": {"additionalProperties": True, "default": {"title": "x"}, "type": "object"},
        },
        "required": ["title", "author", "default"],
        "type": "object",
    }


def test_a_class_that_is_within_itself_keeps_its_name() -> None:
    shown = json.loads(shown_schema(Machine))
    assert shown["properties"]["whole"] == {"$ref": "#/$defs/Part"}
    assert shown["$defs"]["Part"]["properties"]["parts"] == {"items": {"$ref": "#/$defs/Part"}, "type": "array"}
