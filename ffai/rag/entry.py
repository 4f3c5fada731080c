"""What is found in memory, and what is told of where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from ffai.chat.message import member
from ffai.errors import ArgumentTypeError

SourceKind = Literal["turn", "kb", "capsule", "node", "edge"]


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """One record of a memory, as it is listed or found.

    Examples:
        >>> MemoryEntry("wiki", {"content": "The checklist is in the wiki."}).score is None
        True
    """

    key: str
    value: Mapping[str, Any]
    score: float | None = None
    """Cosine similarity to the query, in ``[-1, 1]``; ``None`` where nothing was searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where something that is remembered comes from; ``None`` is what is not known.

    Examples:
        >>> Provenance(source="chat", message_id="m1").to_dict()
        {'source': 'chat', 'message_id': 'm1'}
    """

    source: str | None = None
    source_id: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    message_id: str | None = None
    key: str | None = None
    timestamp: float | None = None
    """Seconds since the epoch."""
    score: float | None = None
    """Cosine similarity to the query it was found with, in ``[-1, 1]``."""
    metadata: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, mapping: Mapping[str, Any]) -> Provenance:
        """Read a provenance from what :meth:`to_dict` gives; keys that are not its fields are ignored.

        Examples:
            >>> Provenance.of({"source_id": "m1", "colour": "red"})
            Provenance(source=None, source_id='m1', ...)
        """
        return cls(**{name: mapping[name] for name in cls.__dataclass_fields__ if name in mapping})

    @classmethod
    def of_entry(cls, entry: object) -> Provenance:
        """Tell where a record comes from.

        The source id is ``source_id`` of the record's metadata, else its ``message_id``, else the record's key.

        Args:
            entry: a record, in a form that :func:`value_of` takes.

        Raises:
            ArgumentTypeError: it has none of these forms.

        Examples:
            >>> Provenance.of_entry(MemoryEntry("17:m0", {"metadata": {"message_id": "m0"}})).to_dict()
            {'source_id': 'm0', 'message_id': 'm0', 'key': '17:m0', 'metadata': {'message_id': 'm0'}}
        """
        value, key = value_of(entry), member(entry, "key")
        found = value.get("metadata")
        metadata: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
        message_id = metadata.get("message_id")
        source_id = metadata.get("source_id")
        return cls(
            source=value.get("source"),
            source_id=next((known for known in (source_id, message_id, key) if known is not None), None),
            session_id=metadata.get("session_id"),
            user_id=value.get("sender_id"),
            message_id=message_id,
            key=key,
            timestamp=value.get("timestamp"),
            score=member(entry, "score"),
            metadata=metadata or None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what is known, as a dict that JSON can hold."""
        return _known(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What an answer rests on: one for each entry of its context, in the same order.

    Examples:
        >>> Source(id="wiki", kind="kb", label="wiki", excerpt="The checklist is there.").to_dict()
        {'id': 'wiki', 'kind': 'kb', 'label': 'wiki', 'excerpt': 'The checklist is there.'}
    """

    id: str
    kind: SourceKind
    label: str
    excerpt: str
    score: float | None = None
    """Cosine similarity to the question, in ``[-1, 1]``; ``None`` where it was not found by its meaning."""
    provenance: Provenance | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what is known, as a dict that JSON can hold."""
        provenance = {} if self.provenance is None else {"provenance": self.provenance.to_dict()}
        return _known(self) | provenance


def value_of(entry: object) -> Mapping[str, Any]:
    """Return the value of a record.

    Args:
        entry: a :class:`MemoryEntry`, a dict ``{"key": ..., "value": {...}}``, an object with a ``value``, or a dict
            that is the value itself.

    Returns:
        The value; an empty one where the record has none.

    Raises:
        ArgumentTypeError: it has none of these forms.

    Examples:
        >>> value_of(MemoryEntry("k", {"content": "tea"})), value_of({"key": "k", "value": None}), value_of({"a": 1})
        ({'content': 'tea'}, {}, {'a': 1})
    """
    value = member(entry, "value")
    if isinstance(value, Mapping):
        return value
    if isinstance(entry, Mapping):
        return {} if {"key", "value"} <= entry.keys() else entry
    if not hasattr(entry, "value"):
        raise ArgumentTypeError(f"An entry must be a dict or have a value, not {type(entry).__name__}: {entry!r:.100}.")
    return {}


def _known(told: Provenance | Source) -> dict[str, Any]:
    found = ((field.name, getattr(told, field.name)) for field in fields(told))
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in found if value is not None}
