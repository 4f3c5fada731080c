"""Secrets out of texts: each becomes a visible placeholder, and everything else stays as it is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from ffai.core.secret_names import is_secret, kind_named, named_secrets
from ffai.core.secret_shapes import Span, shaped_secrets
from ffai.errors import ArgumentTypeError, InvalidArgumentError

logger = logging.getLogger(__name__)

Redactor = Callable[[str], str]
"""Takes a text and returns it without its secrets. It may be called by several threads at once."""

UNREADABLE = "[redacted: everything]"
"""What is kept of a text for which a redactor failed."""


def redact(text: str) -> str:
    r"""Replace the secrets of a text: keys of providers, private keys, tokens, and values that are named as secrets.

    The time it takes is linear in the length of the text. Redacting again changes nothing.

    Args:
        text: any text.

    Returns:
        The text, each secret as ``[redacted: ...]``; the text itself where there is none.

    Examples:
        >>> redact("Log in with password=hunter2, the key is in the build.")
        'Log in with password=[redacted: password], the key is in the build.'
        >>> redact("There is no API key in the build, and token: str is a type.")
        'There is no API key in the build, and token: str is a type.'
    """
    while spans := _apart((*shaped_secrets(text), *named_secrets(text))):
        text = _replaced(text, spans)  # again: what a secret hid may stand alone now
    return text


def redactor_of(choice: bool | Redactor) -> Redactor | None:
    """Return what redacts.

    Args:
        choice: ``True`` for :func:`redact`, ``False`` for nothing, or a redactor. One that fails, or returns no text,
            lets nothing through: the whole text is replaced, and a WARNING names the error's type.

    Raises:
        ArgumentTypeError: it is neither.

    Examples:
        >>> redactor_of(False) is None, redactor_of(lambda text: text.replace("Ann", "[name]"))("Ann is here")
        (True, '[name] is here')
    """
    if isinstance(choice, bool):
        return redact if choice else None
    if not callable(choice):
        raise ArgumentTypeError(f"redact must be True, False or a callable from text to text, not {choice!r}.")
    return choice if isinstance(choice, _Careful) or choice is redact else _Careful(choice)


class _Careful:
    """A redactor of somebody else, which may fail without breaking a chat, or letting a secret through."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def __call__(self, text: str) -> str:
        try:
            redacted: object = self._redactor(text)
        except Exception as error:  # noqa: BLE001 - it raises what it likes, and the error may quote the text
            logger.warning(
                "The redactor %r failed with %s; the text is left out.", self._redactor, type(error).__name__
            )
            return UNREADABLE
        if isinstance(redacted, str):
            return redacted
        logger.warning("The redactor %r gave no text; the text is left out.", self._redactor)
        return UNREADABLE


def redact_strings(value: Any, redactor: Redactor) -> Any:
    """Redact every text in a value that JSON can hold; keys, numbers and the value that was given stay as they are.

    With :func:`redact` a value is also judged by its key, as in a text.

    Args:
        value: text, a number, a list, or a dict with text as keys.
        redactor: what redacts.

    Raises:
        InvalidArgumentError: it is nested too deeply.

    Examples:
        >>> redact_strings({"password": "hunter2", "tags": ["a", "sk-a8Kd93jfLw02mPq7"]}, redact)
        {'password': '[redacted: password]', 'tags': ['a', '[redacted: api key]']}
    """
    try:
        return _within(value, redactor, "")
    except RecursionError:
        raise InvalidArgumentError("A value is nested too deeply to be redacted.") from None


def _within(value: Any, redactor: Redactor, key: str) -> Any:
    if isinstance(value, str):
        kind = kind_named(key) if redactor is redact and key else None
        return _placeholder(kind) if kind and is_secret(value, kind) else redactor(value)
    if isinstance(value, dict):
        return {name: _within(item, redactor, str(name)) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_within(item, redactor, key) for item in value]
    return value


def _placeholder(kind: str) -> str:
    return f"[redacted: {kind}]"


def _apart(spans: Iterable[Span]) -> list[Span]:
    """Sort spans and join those that overlap; the first, or the longer of two, says the kind."""
    joined: list[Span] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if joined and start < joined[-1][1]:
            first, last, first_kind = joined[-1]
            joined[-1] = (first, max(last, end), first_kind)
        else:
            joined.append((start, end, kind))
    return joined


def _replaced(text: str, spans: Iterable[Span]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end, kind in spans:
        pieces += text[done:start], _placeholder(kind)
        done = end
    return "".join((*pieces, text[done:]))
