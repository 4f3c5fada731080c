"""The four histories together, of everybody or of one scope."""

from __future__ import annotations

from ffai.core.history.clean import clean_text
from ffai.core.history.log import InteractionLog
from ffai.core.history.ordered import OrderedPromptHistory
from ffai.core.history.permanent import PermanentHistory
from ffai.core.history.records import Records, clean_record, raw_record
from ffai.core.history.scoped import ScopedLog, ScopedPermanent


class Histories:
    """The permanent history, and the calls as the raw, clean and ordered history show them.

    Examples:
        >>> histories = Histories(InteractionLog(), PermanentHistory())
        >>> len(histories.raw), histories.latest_response("capital")
        (0, None)
    """

    def __init__(self, log: InteractionLog | ScopedLog, permanent: PermanentHistory | ScopedPermanent) -> None:
        self.log = log
        """The calls that the raw, clean and ordered histories show."""
        self.permanent = permanent
        """Everything that was said, turn by turn."""
        self.ordered = OrderedPromptHistory(log)
        """The calls by number and by name, with cleaned responses."""
        self.raw = Records(log, raw_record)
        """The calls as dicts, with what came back."""
        self.clean = Records(log, clean_record)
        """The calls as dicts, with cleaned responses."""

    def latest_response(self, name: str) -> str | None:
        """Return the cleaned text of the newest success with a name: what ``{{name.response}}`` stands for.

        Returns:
            ``""`` where that success had no text; ``None`` where no call with that name succeeded.
        """
        call = self.log.answered(name)
        return None if call is None else clean_text(call.clean_response)

    def response_names(self) -> list[str]:
        """Return the names that :meth:`latest_response` knows."""
        return self.log.answered_names()
