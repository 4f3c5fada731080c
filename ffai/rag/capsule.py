"""A memory capsule: what a window of a conversation comes down to, as it is stored in the knowledge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, PlainSerializer, ValidationError

from ffai.core.arguments import check_dict
from ffai.errors import InvalidArgumentError
from ffai.rag.entry import Provenance

CAPSULE_KIND = "memory-capsule"

Confidence = Annotated[float, Field(ge=0.0, le=1.0)]
Where = Annotated[Provenance, PlainSerializer(Provenance.to_dict)]
When = float | str
"""Seconds since the epoch, or a time as it was said: "next Friday"."""


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)


class Fact(_Kept):
    """Something that was stated.

    Examples:
        >>> Fact(id="f1", subject="the launch", predicate="is on", object="Friday").object
        'Friday'
    """

    id: str = Field(min_length=1)
    subject: str
    predicate: str
    object: str
    confidence: Confidence | None = None
    """In ``[0, 1]``; ``None`` where nobody said."""
    provenance: list[Where] = []
    metadata: dict[str, JsonValue] = {}


class Decision(_Kept):
    """Something that was decided.

    Examples:
        >>> Decision(id="d1", decision="The launch moves to Friday.", owner="alice").rationale is None
        True
    """

    id: str = Field(min_length=1)
    decision: str
    owner: str | None = None
    rationale: str | None = None
    decided_at: When | None = None
    confidence: Confidence | None = None
    provenance: list[Where] = []
    metadata: dict[str, JsonValue] = {}


class Task(_Kept):
    """Something that somebody is to do.

    Examples:
        >>> Task(id="t1", title="Tell the press", owner="bob", due_at="Thursday").due_at
        'Thursday'
    """

    id: str = Field(min_length=1)
    title: str
    owner: str | None = None
    due_at: When | None = None
    status: str | None = None
    confidence: Confidence | None = None
    provenance: list[Where] = []
    metadata: dict[str, JsonValue] = {}


class MemoryCapsule(_Kept):
    """What a window of a conversation comes down to.

    Raises:
        pydantic.ValidationError: a field has a wrong value, or there is no such field; names it.

    Examples:
        >>> capsule = MemoryCapsule(id="w1", summary="The launch moved to Friday.", source_ids=["m1"])
        >>> capsule.key, capsule.to_value()["content"]
        ('capsule:w1', 'The launch moved to Friday.')
        >>> MemoryCapsule.of_value(capsule.to_value()) == capsule
        True
    """

    id: str = Field(min_length=1)
    summary: str
    start_ts: float | None = None
    """When the first message of the window was said, in seconds since the epoch."""
    end_ts: float | None = None
    """When the last one was."""
    source_ids: list[str] = []
    """The messages of the window, oldest first."""
    facts: list[Fact] = []
    decisions: list[Decision] = []
    tasks: list[Task] = []
    open_questions: list[str] = []
    provenance: list[Where] = []
    metadata: dict[str, JsonValue] = {}

    @property
    def key(self) -> str:
        """The key that the capsule is stored under."""
        return capsule_key(self.id)

    def to_value(self) -> dict[str, Any]:
        """Return what is stored under :attr:`key`: every field, the kind, and the summary as the content to search.

        Raises:
            InvalidArgumentError: the metadata of a provenance is not what JSON can hold.
        """
        try:
            stored = self.model_dump(mode="json")
        except ValueError as error:
            raise InvalidArgumentError(f"Capsule {self.id!r} must be what JSON can hold: {error}") from error
        return {"kind": CAPSULE_KIND, "content": self.summary, **stored}

    @classmethod
    def of_value(cls, value: Mapping[str, Any]) -> MemoryCapsule:
        """Read a capsule from what is stored.

        Args:
            value: what :meth:`to_value` gave; where it has no summary, the content is one.

        Raises:
            ArgumentTypeError: it is not a mapping.
            InvalidArgumentError: it is of another kind, or a field can't be used; names it.
        """
        check_dict("capsule", value)
        told = dict(value)
        kind, content = told.pop("kind", CAPSULE_KIND), told.pop("content", None)
        if kind != CAPSULE_KIND:
            raise InvalidArgumentError(f"A record of kind {kind!r} is no capsule; the kind of one is {CAPSULE_KIND!r}.")
        if content is not None:
            told.setdefault("summary", content)
        try:
            return cls.model_validate(told)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            where, given = ".".join(map(str, problem["loc"])), problem["input"]
            raise InvalidArgumentError(
                f"Capsule {told.get('id')!r:.100} can't be read: {where}: {problem['msg']}, not {given!r:.100}."
            ) from error


def capsule_key(capsule_id: str) -> str:
    """Return the key of a capsule.

    Examples:
        >>> capsule_key("w1")
        'capsule:w1'
    """
    return f"capsule:{capsule_id}"
