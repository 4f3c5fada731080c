"""How one call asks its model: which one, with which instructions, by whom."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ffai.chat.reply import ChatReply
from ffai.core.arguments import check_str, options_of
from ffai.errors import ArgumentTypeError

ChatFn = Callable[[str | None, str, str | None], str | ChatReply | Awaitable[str | ChatReply]]
"""Asks a model: takes the model's name, the prompt and the system prompt, gives the reply or something to await."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """How a model is asked in one call. What is ``None`` is left to the client and to the function that asks.

    Raises:
        ArgumentTypeError: an option has a wrong type; names it.

    Examples:
        >>> ChatOptions(model="mistral/mistral-small-latest").model
        'mistral/mistral-small-latest'
    """

    model: str | None = None
    """The model to ask, where the client knows several."""
    system: str | None = None
    """The system prompt in the place of the function's own and the client's, even where it is empty."""
    chat_fn: ChatFn | None = None
    """Called with model, prompt and system prompt in the place of the client. A coroutine function can be used by the
    async calls only; another one is called in a thread by these."""

    def __post_init__(self) -> None:
        for name in ("model", "system"):
            if getattr(self, name) is not None:
                check_str(name, getattr(self, name))
        if self.chat_fn is not None and not callable(self.chat_fn):
            raise ArgumentTypeError(
                f"chat_fn must be a function of model, prompt and system, not {type(self.chat_fn).__name__}: "
                f"{self.chat_fn!r:.100}."
            )

    @classmethod
    def of(cls, options: ChatOptions | Mapping[str, Any] | None) -> ChatOptions:
        """Take options, or a mapping of them.

        Raises:
            ArgumentTypeError: it is neither, or an option has a wrong type.
            InvalidArgumentError: the mapping has an unknown key; names it.

        Examples:
            >>> ChatOptions.of({"system": "Be brief."}).system
            'Be brief.'
        """
        return options_of(cls, options, name="chat options")


def system_for(default: str | None, given: str | None, clients_own: object) -> str | None:
    r"""Return the system prompt to send; ``None`` leaves it to the client.

    Args:
        default: that of the function which asks.
        given: that of the caller, which wins, even where it is empty.
        clients_own: the client's; what is not text with something in it counts as none. It stands in front of the
            default.

    Examples:
        >>> system_for("Answer from the context.", None, "You are a travel agent.")
        'You are a travel agent.\n\nAnswer from the context.'
        >>> system_for("Answer from the context.", "", "You are a travel agent.")
        ''
    """
    if given is not None or not default:
        return given
    return f"{clients_own}\n\n{default}" if isinstance(clients_own, str) and clients_own.strip() else default
