"""What memory gives back: where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where something that is remembered comes from. What is ``None`` is unknown.

    Examples:
        >>> Provenance(source="session", source_id="m1").source_id
        'm1'
    """

    source: str | None = None
    source_id: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    message_id: str | None = None
    key: str | None = None
    timestamp: float | None = None
    """Seconds since the epoch, UTC."""
    score: float | None = None
    metadata: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what is known, as a dict that JSON can hold."""
        return {name: value for name, value in asdict(self).items() if value is not None}
