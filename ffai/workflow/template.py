"""References in a prompt to the responses of earlier ones: ``{{name.response}}``, ``{{name.response.a.0.b}}``."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable
from typing import Any

from ffai.core.history.clean import clean_response
from ffai.errors import UnknownReferenceError
from ffai.typing import Prompt

logger = logging.getLogger(__name__)

_REFERENCE = re.compile(r"\{\{\s*([\w-]+)\.response((?:\.[\w-]+)*)\s*\}\}")

Lookup = Callable[[str], str | None]
"""Gives the latest response of a named prompt; ``None`` where there is none."""


def has_references(prompt: Prompt) -> bool:
    """Tell whether a prompt refers to responses.

    Examples:
        >>> has_references("Say {{greeting.response}} again"), has_references("Say {{x}}")
        (True, False)
    """
    return any(_REFERENCE.search(text) for text in _texts(prompt))


def resolve(
    prompt: Prompt, lookup: Lookup, known: Callable[[], Iterable[str]] = tuple, *, strict: bool = False
) -> Prompt:
    """Replace the references of a prompt, in one pass: what a response says is not looked at again.

    Args:
        prompt: text, or message parts.
        lookup: gives the responses.
        known: gives the names that have one, for the error.
        strict: raise where a name has no response; else the reference becomes empty, with a warning.

    Raises:
        UnknownReferenceError: ``strict``, and a name has no response.

    Examples:
        >>> resolve("Why {{answer.response.colour}}?", {"answer": '{"colour": "red"}'}.get)
        'Why red?'
    """
    names = {match[1] for text in _texts(prompt) for match in _REFERENCE.finditer(text)}
    responses = {name: lookup(name) for name in names}
    missing = [name for name, response in responses.items() if response is None]
    if missing and strict:
        raise UnknownReferenceError(missing, list(known()))
    if missing:
        logger.warning("No response is known for %s; the references become empty.", ", ".join(map(repr, missing)))

    def replacement(match: re.Match[str]) -> str:
        response = responses[match[1]] or ""
        return _field(response, match[2].split(".")[1:]) if match[2] else response

    if isinstance(prompt, str):
        return _REFERENCE.sub(replacement, prompt)
    return [_resolved_part(part, replacement) for part in prompt]


def _resolved_part(part: Any, replacement: Callable[[re.Match[str]], str]) -> Any:
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return {**part, "text": _REFERENCE.sub(replacement, part["text"])}
    return part


def _texts(prompt: Prompt) -> list[str]:
    if isinstance(prompt, str):
        return [prompt]
    return [part["text"] for part in prompt if isinstance(part, dict) and isinstance(part.get("text"), str)]


def _field(response: str, path: list[str]) -> str:
    """Follow a path into a JSON response; the whole response where it is not JSON, "" where the path leads nowhere."""
    value = clean_response(response, expects_json=True)
    if isinstance(value, str):
        return response
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.lstrip("-").isdigit() and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        else:
            return ""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
