"""How long to wait."""

from __future__ import annotations

import threading

from ffai.core.arguments import check_number


def seconds(timeout: float | None) -> float | None:
    """Check a time to wait; one that is longer than a lock can wait is for ever."""
    if timeout is None or check_number("timeout", timeout, least=0.0) > threading.TIMEOUT_MAX:
        return None
    return timeout
