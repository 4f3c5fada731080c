"""The form of a conversation's id that hits have: short, the same in every process, and never the caller's own."""

from __future__ import annotations

import base64
import functools
import hashlib

PREFIX = "cnv_"
_APP = "ffai"
_BYTES = 16
_REMEMBERED = 4096
"""Ids whose internal form is not made anew."""


@functools.lru_cache(_REMEMBERED)
def internal_id(conversation_id: str) -> str:
    """Make the internal form of a caller's id.

    Returns:
        ``cnv_`` and 26 characters, a function of the id alone, so that nothing has to be kept for it.

    Examples:
        >>> internal_id("trip") == internal_id("trip") != internal_id("Trip")
        True
        >>> internal_id("trip")[:4], len(internal_id("trip"))
        ('cnv_', 30)
    """
    digest = hashlib.sha256(f"{_APP}\0{conversation_id}".encode("utf-8", "surrogatepass")).digest()[:_BYTES]
    return PREFIX + base64.b32encode(digest).decode().rstrip("=").lower()


def is_internal(conversation_id: str) -> bool:
    """Tell whether an id is meant as the internal form.

    Examples:
        >>> is_internal("cnv_abc"), is_internal("trip")
        (True, False)
    """
    return conversation_id.startswith(PREFIX)
