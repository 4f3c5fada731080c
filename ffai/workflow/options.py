"""How one call differs from the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ffai.core.arguments import options_of
from ffai.core.scope import MemoryScope


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseOptions:
    """Options of one call. What is ``None`` is left to the client.

    Examples:
        >>> ResponseOptions(model="mistral/mistral-small-latest").model
        'mistral/mistral-small-latest'
    """

    model: str | None = None
    """The model to ask, where the client knows several."""
    system_instructions: str | None = None
    """Instructions for this call instead of the client's."""
    history: Sequence[str] | None = None
    """Names of earlier prompts that are put, with their responses, in front of this one."""
    scope: MemoryScope | Mapping[str, Any] | None = None
    """Whose call it is; see :class:`~ffai.MemoryScope`."""
    strict: bool = False
    """Whether a reference to a prompt without a response is an error; else it is empty, with a warning."""

    @classmethod
    def of(cls, options: ResponseOptions | Mapping[str, Any] | None) -> ResponseOptions:
        """Take options, or a mapping of them.

        Raises:
            ArgumentTypeError: it is neither.
            InvalidArgumentError: the mapping has an unknown key; names it.
        """
        return options_of(cls, options)
