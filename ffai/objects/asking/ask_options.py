"""What a call to ask about records takes beside the record and the question."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, get_args

from ffai.core.arguments import check_flag
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.objects.asking.payload import check_budget
from ffai.objects.asking.toolbox import CallTools

_OWN = ("include_data", "max_data_length", "call_tools")
_SQUEEZED = {name.replace("_", ""): name for name in _OWN}
"""A misspelt one would go to the client, and the record to the model that should not see it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """Options of one call; see `of`."""

    include_data: bool
    """Whether the model is shown the record."""
    max_data_length: int | None
    """Characters of the record that it is shown; ``None`` for all."""
    call_tools: CallTools
    """Which methods it may call."""
    model: Mapping[str, Any] = field(default_factory=dict)
    """The rest, for the client: ``model``, ``temperature``, ``max_tokens`` and others."""

    @classmethod
    def of(
        cls,
        options: Mapping[str, Any],
        *,
        max_data_length: int | None,
        call_tools: CallTools,
        refused: Collection[str],
    ) -> AskOptions:
        """Read options from keyword arguments.

        Args:
            options: as they were given.
            max_data_length: the default.
            call_tools: the default.
            refused: names that can't be given, since the call says them itself.

        Raises:
            ArgumentTypeError: one of those was given, or an option has a wrong type.
            InvalidArgumentError: an option has a value that can't be used.

        Examples:
            >>> defaults = {"max_data_length": None, "call_tools": "all", "refused": ("tools",)}
            >>> AskOptions.of({"include_data": False, "temperature": 0}, **defaults).model
            {'temperature': 0}
        """
        if taken := [name for name in options if name in refused]:
            raise ArgumentTypeError(f"{taken[0]!r} can't be given: this call says itself what the model gets there.")
        rest = dict(options)
        for name in rest.keys() - _OWN:
            if meant := get_close_matches(name.lower().replace("_", ""), _SQUEEZED, n=1, cutoff=0.85):
                raise ArgumentTypeError(f"There is no option {name!r}; {_SQUEEZED[meant[0]]!r} is meant.")
        include_data = rest.pop("include_data", True)
        check_flag("include_data", include_data)
        allowed = rest.pop("call_tools", call_tools)
        if allowed not in get_args(CallTools):
            raise InvalidArgumentError(f"call_tools must be 'none', 'read_only' or 'all', not {allowed!r:.80}.")
        budget = check_budget(rest.pop("max_data_length", max_data_length))
        return cls(include_data=include_data, max_data_length=budget, call_tools=allowed, model=rest)
