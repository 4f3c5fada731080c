"""Cleaning a reply: without the model's thoughts and, where JSON was asked for, as the value it stands for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ffai.core.turn import plain_copy
from ffai.errors import InvalidArgumentError

# Code is matched first and kept, so that a reply which shows the tag in code stays whole. Every alternative
# matches to the end where its closing half is missing: a failed match would be tried again at each next tag.
_THOUGHTS = re.compile(
    r"(?P<code>```.*?(?:```|\Z)|`[^`\n]*`)|<think(?:\s[^<>]*)?>.*?(?P<end></think\s*>|\Z)",
    re.DOTALL,
)
_CUT_OFF_THOUGHT = re.compile(r"\s*<think[\s>]")
_FENCE = re.compile(r"```(?:json|JSON)?[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)

_REPAIR_LIMIT = 1_000_000
"""Characters times opening brackets: json_repair was measured to take 13 s on 8,000 characters with 1,300 of them."""


def clean_response(text: str | None, *, expects_json: bool = False) -> Any:
    """Return a reply without ``<think>`` blocks and outer blanks, parsed where JSON was asked for.

    Args:
        text: the reply; ``None`` stays ``None``. A block that was never closed is a thought only where nothing
            precedes it. Code, fenced or not, is left as it is.
        expects_json: the model was asked for JSON. A reply in which no object or array is found stays text.

    Returns:
        The text; a dict or a list for JSON.

    Examples:
        >>> clean_response("<think>easy</think> Paris.")
        'Paris.'
        >>> clean_response("Sure: {'city': 'Paris'}", expects_json=True)
        {'city': 'Paris'}
    """
    if text is None:
        return None
    answer = _without_thoughts(text).strip()
    if not expects_json:
        return answer
    value = _parse(answer.lstrip("\ufeff"))
    return answer if value is None else value


def json_in(text: str) -> Iterator[Any]:
    """Yield the objects and arrays that a reply may mean, the likeliest first.

    That is what `clean_response` gives, repaired where it has to be, then those that stand whole in the text one after
    the other: the first may be an example that the model gave.

    Examples:
        >>> list(json_in('Not {"city": "..."} but {"city": "Paris"}'))
        [{'city': '...'}, {'city': 'Paris'}]
        >>> list(json_in("yes"))
        []
    """
    answer = _without_thoughts(text).strip().lstrip("\ufeff")
    likeliest = _parse(answer)
    if likeliest is None:
        return
    yield likeliest
    decode, at = json.JSONDecoder().raw_decode, answer.find("{")
    while at >= 0:
        try:
            parsed, end = decode(answer, at)
        except (ValueError, RecursionError):
            return
        value = _value(parsed)
        if value is not None and value != likeliest:
            yield value
        at = answer.find("{", end)


def clean_text(cleaned: Any) -> str:
    """Return a cleaned reply as text: JSON values as JSON, nothing as ``""``.

    Examples:
        >>> clean_text({"city": "Köln"})
        '{"city": "Köln"}'
    """
    if cleaned is None:
        return ""
    return cleaned if isinstance(cleaned, str) else json.dumps(cleaned, ensure_ascii=False)


def _without_thoughts(text: str) -> str:
    if "<think" not in text:
        return text
    spoken = _THOUGHTS.sub(lambda match: "" if match["end"] else match[0], text)
    return "" if _CUT_OFF_THOUGHT.match(spoken) else spoken


def _parse(answer: str) -> Any:
    """Return the object or array in an answer, or ``None``."""
    fence = _FENCE.search(answer)
    for candidate in (answer, *([fence[1]] if fence else ())):
        value = _strict(candidate)
        if value is not None:
            return value
    within = _strict_within(answer)
    return _repaired(fence[1] if fence else answer) if within is None else within


def _strict(text: str) -> Any:
    try:
        return _value(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _strict_within(text: str) -> Any:
    """Return the first object or array that words surround."""
    decode = json.JSONDecoder().raw_decode
    for start in sorted(at for at in (text.find("{"), text.find("[")) if at >= 0):
        try:
            return _value(decode(text, start)[0])
        except (ValueError, RecursionError):
            continue
    return None


def _repaired(text: str) -> Any:
    if len(text) * (text.count("{") + text.count("[")) > _REPAIR_LIMIT:
        return None
    import json_repair

    try:
        return _value(json_repair.loads(text)) or None
    except (ValueError, RecursionError):
        return None


def _value(parsed: Any) -> Any:
    """Return an object or array that can be copied later; ``None`` for anything else."""
    if not isinstance(parsed, (dict, list)):
        return None
    try:
        return plain_copy(parsed)
    except InvalidArgumentError:
        return None
