"""What an error of a chat client says: which status, how long to wait, whether the connection was lost.

An error that litellm raises is not what happened: a refused connection and a missing key both arrive as status 500.
What happened stands further down the chain of causes, so the chain is read, of whatever library its errors are.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

# By name: the libraries that raise them need not be installed. Base classes, so that a reset or a broken answer counts.
_LOST = frozenset({"TransportError", "ClientConnectionError", "ServerTimeoutError", "Timeout", "APITimeoutError"})


@dataclass(frozen=True, slots=True)
class Failure:
    """What is known about a failed call.

    Examples:
        >>> read_failure(ConnectionRefusedError("nobody listens"))
        Failure(status=None, told_wait=None, lost=True)
    """

    status: int | None = None
    """The HTTP status that the server answered."""
    told_wait: float | None = None
    """Seconds that the server asks to wait."""
    lost: bool = False
    """No answer came: the connection failed, broke or took too long."""


def read_failure(error: BaseException) -> Failure:
    """Read an error and what caused it.

    Examples:
        >>> class TooMany(Exception):
        ...     status_code, retry_after = 429, "7"
        >>> read_failure(TooMany())
        Failure(status=429, told_wait=7.0, lost=False)
    """
    chain = list(_chain(error))
    return Failure(
        status=next((status for link in chain if (status := _status(link, chain)) is not None), None),
        told_wait=next((wait for link in chain if (wait := _told_wait(link)) is not None), None),
        lost=any(_is_lost(link) for link in chain),
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _is_lost(error: BaseException) -> bool:
    if isinstance(error, (ConnectionError, TimeoutError)):
        return True
    return any(kind.__name__ in _LOST for kind in type(error).__mro__)


def _status(error: BaseException, chain: list[BaseException]) -> int | None:
    answered = _answered_status(error)
    if answered is not None:
        return answered
    for name in ("status_code", "status", "code"):
        status = getattr(error, name, None)
        if isinstance(status, int) and not isinstance(status, bool) and 400 <= status <= 599:
            return status if _is_believable(error, status, chain) else None
    return None


def _answered_status(error: BaseException) -> int | None:
    """The status of the response that an error holds; litellm makes up responses, without headers."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    return status if isinstance(status, int) and getattr(response, "headers", None) else None


def _is_believable(error: BaseException, status: int, chain: list[BaseException]) -> bool:
    if status != 500 or not type(error).__module__.startswith("litellm"):
        return True
    return any(_answered_status(link) == 500 for link in chain)


def _told_wait(error: BaseException) -> float | None:
    told = _seconds(getattr(error, "retry_after", None))
    if told is not None:
        return told
    holders = (getattr(error, "response", None), error)
    for headers in (*(getattr(h, "headers", None) for h in holders), getattr(error, "litellm_response_headers", None)):
        items = getattr(headers, "items", None)
        told = _told_by_headers({str(name).lower(): value for name, value in items()}) if callable(items) else None
        if told is not None:
            return told
    return None


def _told_by_headers(headers: Mapping[str, Any]) -> float | None:
    milliseconds = _seconds(headers.get("retry-after-ms"))
    return milliseconds / 1000 if milliseconds is not None else _seconds(headers.get("retry-after"))


def _seconds(value: object) -> float | None:
    """Read seconds from a number, or the text of a number or of an HTTP date."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = _until(str(value))
    return max(seconds, 0.0) if seconds == seconds else None  # not NaN


def _until(date: str) -> float:
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except ValueError:
        return float("nan")
