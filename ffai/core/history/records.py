"""The raw and the clean history: two views of the same calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from ffai.core.history.interaction import Interaction
from ffai.core.history.log import InteractionLog
from ffai.core.history.scoped import ScopedLog

Record = dict[str, Any]
"""A call as a dict: ``Interaction.to_dict()``."""


class Records(Sequence[Record]):
    """A history as a read-only sequence of dicts, oldest first. Each dict is made when it is asked for.

    Args:
        log: the calls.
        record: makes the dict of a call.

    Examples:
        >>> log = InteractionLog()
        >>> call = log.add(lambda number: Interaction(sequence_number=number, prompt="Hi", response=" Hello! ",
        ...                                           clean_response="Hello!", model="m", timestamp=0.0))
        >>> Records(log, raw_record)[-1]["response"], Records(log, clean_record)[-1]["response"]
        (' Hello! ', 'Hello!')
    """

    def __init__(self, log: InteractionLog | ScopedLog, record: Callable[[Interaction], Record]) -> None:
        self._log, self._record = log, record

    def __len__(self) -> int:
        return len(self._log)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        if isinstance(index, slice):
            return [self._record(call) for call in self._log.all()[index]]
        return self._record(self._log.at(index))

    def __iter__(self) -> Iterator[Record]:
        return map(self._record, self._log.all())

    def __repr__(self) -> str:
        return f"<{len(self)} calls>"


def raw_record(call: Interaction) -> Record:
    """Return a call as a dict, with the response as it came back.

    Examples:
        >>> call = Interaction(sequence_number=1, prompt="Hi", response=" Hello! ", clean_response="Hello!", model="m",
        ...                    timestamp=0.0)
        >>> raw_record(call)["response"]
        ' Hello! '
    """
    return call.to_dict()


def clean_record(call: Interaction) -> Record:
    """Return a call as a dict, with the cleaned response as its ``response``.

    Examples:
        >>> call = Interaction(sequence_number=1, prompt="Hi", response=" Hello! ", clean_response="Hello!", model="m",
        ...                    timestamp=0.0)
        >>> clean_record(call)["response"]
        'Hello!'
    """
    record = call.to_dict()
    record["response"] = record["clean_response"]
    return record
