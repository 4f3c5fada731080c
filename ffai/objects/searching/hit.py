"""What a search finds: a record, and how close it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ffai.objects.owner import identity_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Hit(Generic[T]):
    """One record that a search found.

    The record is a copy of its own, detached from every session: changing it changes nothing in the database, and a
    secret of it can't be read.

    Examples:
        >>> from sqlalchemy import String
        >>> from sqlalchemy.orm import DeclarativeBase, mapped_column
        >>> class Base(DeclarativeBase):
        ...     pass
        >>> class Note(Base):
        ...     __tablename__ = "notes"
        ...     id = mapped_column(String, primary_key=True)
        >>> hit = Hit(Note(id="n1"), similarity=0.9)
        >>> hit.id, hit.similarity, hit.stale
        ('n1', 0.9, False)
    """

    record: T
    similarity: float
    """Cosine similarity to what was searched for, in ``[-1, 1]``."""
    stale: bool = False
    """Whether the record's text has changed since its vector was made."""

    @property
    def id(self) -> Any:
        """The record's primary key; a tuple where it has more than one column."""
        identity = identity_of(self.record)
        return identity[0] if len(identity) == 1 else identity

    def public(self) -> dict[str, Any]:
        """Return what anybody may see of the record: no secret is in it."""
        from ffai.objects.asking.public import public_of

        return public_of(self.record)
