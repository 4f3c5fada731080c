"""What can be said when something is remembered or recalled."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final, Literal, TypedDict

from ffai.core.arguments import check_number, check_timestamp, check_whole
from ffai.errors import ArgumentTypeError, InvalidArgumentError


class Unset(Enum):
    """The type of `UNSET`."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET
"""An argument that was not given: what is stored stays. ``None`` takes it away."""

_LARGEST = 2**31 - 1

Prefer = Literal["confidence", "version"]
"""Which of two versions of a memory counts more: the surer one, or the newer one."""


class Expiry(TypedDict, total=False):
    """When something ends: at a moment, or after a while; one of the two."""

    expires_at: float | datetime | Unset | None
    """Seconds since the epoch, or a date with its time zone; ``None`` for never."""
    expires_in: float | timedelta | Unset | None
    """Seconds from now; ``None`` for never."""


class Remembering(Expiry, total=False):
    """What can be said of a memory. What is not said stays as it is stored; a new memory takes the defaults."""

    confidence: float | Unset
    """How sure it is, 0 to 1; 1 by default."""
    metadata: Mapping[str, Any] | Unset | None
    """What else belongs to it, as JSON."""
    version: int
    """From 1; versions of a memory lie beside each other."""


class Choosing(TypedDict, total=False):
    """Which memory of a scope and a key is meant."""

    include_ancestors: bool
    """Whether the scopes above are looked in, the nearest first, where the scope itself has none."""
    min_confidence: float | None
    """Leaves out what is less sure."""
    version: int | None
    """Only this version."""
    prefer: Prefer
    """What counts first among versions: ``"confidence"``, or ``"version"``."""
    include_expired: bool
    """Whether what has expired counts too."""


class Recalling(Choosing, total=False):
    """`Choosing`, and what is returned where there is nothing."""

    default: Any


class Listing(TypedDict, total=False):
    """Which memories are listed."""

    include_descendants: bool
    """Whether those of the scopes below are too."""
    min_confidence: float | None
    """Leaves out what is less sure."""
    include_expired: bool
    """Whether what has expired is listed too."""


def check_fraction(name: str, value: Any) -> float:
    """Return a number from 0 to 1.

    Raises:
        ArgumentTypeError: it is not a number.
        InvalidArgumentError: it is not within 0 and 1.

    Examples:
        >>> check_fraction("confidence", 1.5)
        Traceback (most recent call last):
        ffai.errors.InvalidArgumentError: confidence must be between 0 and 1, not 1.5.
    """
    number = check_number(name, value)
    if not 0 <= number <= 1:
        raise InvalidArgumentError(f"{name} must be between 0 and 1, not {value!r}.")
    return number


def check_version(value: Any) -> int:
    """Return the number of a version.

    Raises:
        ArgumentTypeError: it is not a whole number.
        InvalidArgumentError: it is below 1, or more than a database counts.

    Examples:
        >>> check_version(2)
        2
    """
    if check_whole("version", value, least=1) > _LARGEST:
        raise InvalidArgumentError(f"version must be at most {_LARGEST}, not {value!r:.60}.")
    return int(value)


def check_duration(name: str, value: Any) -> float:
    """Return a length of time in seconds.

    Raises:
        ArgumentTypeError: it is neither a number nor a ``timedelta``.
        InvalidArgumentError: it is not above zero.

    Examples:
        >>> check_duration("half_life", timedelta(hours=1))
        3600.0
    """
    seconds = value.total_seconds() if isinstance(value, timedelta) else check_number(name, value)
    if seconds <= 0:
        raise InvalidArgumentError(f"{name} must be above zero, not {value!r}.")
    return float(seconds)


def expiry_of(now: float, expires_at: Any, expires_in: Any) -> float | Unset | None:
    """Return when something ends, in seconds since the epoch; ``None`` for never, `UNSET` where nothing was said.

    Raises:
        ArgumentTypeError: one of them is of another type.
        InvalidArgumentError: both are given, a date has no time zone, a while is not above zero, or a moment is
            beyond the calendar.

    Examples:
        >>> expiry_of(100.0, UNSET, 60), expiry_of(100.0, None, UNSET), expiry_of(100.0, UNSET, UNSET)
        (160.0, None, UNSET)
    """
    if expires_at is not UNSET and expires_in is not UNSET:
        raise InvalidArgumentError("Give expires_at or expires_in, not both.")
    if expires_in is not UNSET:
        return (
            None
            if expires_in is None
            else check_timestamp("expires_in", now + check_duration("expires_in", expires_in))
        )
    if expires_at is UNSET or expires_at is None:
        return UNSET if expires_at is UNSET else None
    if not isinstance(expires_at, datetime):
        return check_timestamp("expires_at", expires_at)
    if expires_at.tzinfo is None:
        raise InvalidArgumentError(f"expires_at has no time zone: {expires_at!r}. Give it one, such as timezone.utc.")
    return expires_at.timestamp()


def check_prefer(value: Any) -> Prefer:
    """Return what counts first among versions.

    Raises:
        InvalidArgumentError: it is neither ``"confidence"`` nor ``"version"``.

    Examples:
        >>> check_prefer("version")
        'version'
    """
    if value != "confidence" and value != "version":
        raise InvalidArgumentError(f"prefer must be 'confidence' or 'version', not {value!r:.80}.")
    chosen: Prefer = value
    return chosen


def check_metadata(value: Any) -> dict[str, Any] | None:
    """Return metadata as a dict.

    Raises:
        ArgumentTypeError: it is no mapping.

    Examples:
        >>> check_metadata({"source": "crawler"})
        {'source': 'crawler'}
    """
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise ArgumentTypeError(f"metadata must be a dict, not {type(value).__name__}: {value!r:.100}.")
    return dict(value)
