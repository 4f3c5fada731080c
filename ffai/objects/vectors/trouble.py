"""What a worker does about an error of the database: tell it once, and try again later."""

from __future__ import annotations

import logging

from ffai.core.memory.halving import told

logger = logging.getLogger(__name__)

FIRST_PAUSE = 0.2
"""Seconds; each later pause is twice as long."""
LONGEST_PAUSE = 10.0


class Trouble:
    """Counts the errors in a row.

    Examples:
        >>> trouble = Trouble()
        >>> trouble.met(TimeoutError("locked")), trouble.met(TimeoutError("locked"))
        (0.2, 0.4)
        >>> trouble.over()
        >>> trouble.met(TimeoutError("locked"))
        0.2
    """

    def __init__(self) -> None:
        self._told, self._times = "", 0

    def met(self, error: BaseException) -> float:
        """Tell of an error, unless it is the one just told of; return how many seconds to wait."""
        what = told(getattr(error, "orig", None) or error)  # without the statement: its values differ each time
        if what != self._told:
            logger.warning("Vectors can't be made at present: %s. Their jobs wait in the database.", what)
        self._told, self._times = what, self._times + 1
        return min(FIRST_PAUSE * 2.0 ** min(self._times - 1, 10), LONGEST_PAUSE)

    def over(self) -> None:
        """Note that it works again."""
        self._told, self._times = "", 0
