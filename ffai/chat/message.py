"""A prompt: text, or a list of message parts. Checked and cleaned once, on the way in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ffai._text import clean_text
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.typing import Prompt


def check_prompt(prompt: object) -> Prompt:
    """Return a prompt as it can be sent and stored.

    Args:
        prompt: text, or a list whose items are text or dicts with a ``"type"``.

    Returns:
        Text, or a new list of parts that shares nothing with the one given. Text in the list becomes a text part;
        characters that no encoding can hold are replaced.

    Raises:
        InvalidArgumentError: the prompt has no text and nothing else in it.
        ArgumentTypeError: it is neither text nor a list of parts; names the item.

    Examples:
        >>> check_prompt(["What is this?", {"type": "image_url", "image_url": {"url": "data:..."}}])[0]
        {'type': 'text', 'text': 'What is this?'}
    """
    if isinstance(prompt, str):
        if not prompt.strip():
            raise InvalidArgumentError(f"Empty prompt: `prompt` is {prompt!r}. Give it text.")
        return clean_text(prompt)
    if isinstance(prompt, (list, tuple)) and prompt:
        parts = [_part(part, index) for index, part in enumerate(prompt)]
        if all(part["type"] == "text" and not part["text"].strip() for part in parts):
            raise InvalidArgumentError("Empty prompt: every part of `prompt` is blank text. Give it text.")
        return parts
    told = "an empty list" if isinstance(prompt, (list, tuple)) else f"{type(prompt).__name__} {prompt!r:.80}"
    raise ArgumentTypeError(f"`prompt` must be text or a list of message parts, not {told}.")


def member(value: object, name: str) -> Any:
    """Return a member of a dict or of an object; ``None`` where it has none.

    Examples:
        >>> member({"type": "text"}, "type"), member(3 + 4j, "real"), member("text", "type")
        ('text', 3.0, None)
    """
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def clean_copy(value: Any) -> Any:
    r"""Copy dicts, lists and text, with the text cleaned; other values stay the same objects.

    Examples:
        >>> clean_copy({"content": ["half \ud83d", 3]})
        {'content': ['half \ufffd', 3]}
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {key: clean_copy(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean_copy(item) for item in value]
    return value


def _part(part: object, index: int) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": clean_text(part)}
    kind = part.get("type") if isinstance(part, Mapping) else None
    if not isinstance(part, Mapping) or not isinstance(kind, str):
        raise ArgumentTypeError(
            f'`prompt[{index}]` must be text or a dict with a "type", not {type(part).__name__} {part!r:.80}.'
        )
    if kind == "text" and not isinstance(part.get("text"), str):
        raise ArgumentTypeError(f'`prompt[{index}]` is a text part; its "text" is {part.get("text")!r:.80}, not text.')
    return {str(key): clean_copy(value) for key, value in part.items()}
