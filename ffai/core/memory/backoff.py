"""What to do about an error of an embedder."""

from __future__ import annotations

from ffai.errors import MissingExtraError, MissingKeyError, ModelUnavailableError

MAX_TRIES = 3
"""Tries a turn gets before it is given up."""
FIRST_WAIT = 1.0
"""Seconds before the second try; each later wait is four times as long."""
LONGEST_WAIT = 3600.0
"""Seconds that a server can make a turn wait at the most."""

_TRANSIENT_CODES = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_CODES_FOR_ALL = frozenset({401, 402, 403, 429})


def is_transient(error: BaseException) -> bool:
    """Tell whether the same call may work later.

    Examples:
        >>> is_transient(TimeoutError()), is_transient(ValueError("too long"))
        (True, False)
    """
    told = getattr(error, "transient", None)
    if isinstance(told, bool):
        return told
    return getattr(error, "status_code", None) in _TRANSIENT_CODES or isinstance(error, (ConnectionError, TimeoutError))


def concerns_every_text(error: BaseException) -> bool:
    """Tell whether the error would be the same for any other text, so that trying them one by one is in vain."""
    unavailable = isinstance(error, (ModelUnavailableError, MissingExtraError, MissingKeyError))
    return unavailable or isinstance(error, ConnectionError) or getattr(error, "status_code", None) in _CODES_FOR_ALL


def asked_to_wait(error: BaseException) -> float | None:
    """Return how many seconds a server asks to wait; ``None`` if it does not say."""
    told = getattr(error, "retry_after", None)
    if isinstance(told, (int, float)) and not isinstance(told, bool) and told >= 0:
        return min(float(told), LONGEST_WAIT)
    return None


def wait_before_next(error: BaseException, tries: int) -> float:
    """Return how many seconds to wait: as the server says, else longer with each try.

    Examples:
        >>> wait_before_next(TimeoutError(), tries=1), wait_before_next(TimeoutError(), tries=2)
        (1.0, 4.0)
    """
    told = asked_to_wait(error)
    return FIRST_WAIT * 4.0 ** (tries - 1) if told is None else told
