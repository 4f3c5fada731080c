"""The keyword arguments of searches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from ffai.objects.filtering.filters import Where


class Near(TypedDict, total=False):
    """What every search takes."""

    field: str | None
    """An embedded field or a combined text; the first one where it is not given."""
    limit: int
    """How many hits at the most."""
    min_similarity: float
    """The cosine that a hit has at the least, -1 to 1; 0 where it is not given."""
    where: Where
    """Which records count: such as ``{"status": "published", "views__gte": 10}``, or a SQLAlchemy condition."""
    stale: Literal["include", "exclude"]
    """Whether records count whose text has changed since it was embedded; they do where it is not given."""


class Similar(Near, total=False):
    """What `Collection.find_similar` takes."""

    exclude_self: bool
    """Whether the record itself is left out; it is where this is not given."""
