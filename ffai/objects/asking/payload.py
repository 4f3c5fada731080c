"""The public form of a record as JSON of bounded length, which says what was cut."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from json.encoder import encode_basestring
from typing import Any

from ffai.core.arguments import check_whole

NOTE = "_truncated"
"""The key under which it is said what was cut."""

_ELLIPSIS = "…"
_FLOOR = 200
"""Characters of a text that stay, as long as lists can be cut instead."""


def check_budget(max_data_length: Any) -> int | None:
    """Return how many characters of a record a model is shown; ``None`` for all.

    Raises:
        ArgumentTypeError: it is no whole number.
        InvalidArgumentError: it is below 1.

    Examples:
        >>> check_budget(100_000)
        100000
    """
    return None if max_data_length is None else check_whole("max_data_length", max_data_length, least=1)


def payload_of(form: Mapping[str, Any], max_data_length: int | None = None) -> str:
    r"""Return a public form as JSON, two blanks a level, of so many characters at the most.

    Where it is longer, the longest texts are shortened first, as far as needed: short ones stay whole. Then lists, and
    dicts within, lose their tail. A text that was cut ends with ``…``; the key ``_truncated`` names what was cut, with
    its full length: characters of a text, items of a list. Where even that is too long, keys are left out from the end,
    and ``_truncated`` is just ``true``.

    Args:
        form: as `public_of` gives it.
        max_data_length: characters, not bytes; ``None`` for all.

    Returns:
        Valid JSON; ``""`` where not even ``{}`` has room.

    Raises:
        ArgumentTypeError, InvalidArgumentError: ``max_data_length`` is no whole number from 1 on.

    Examples:
        >>> print(payload_of({"title": "Tea", "body": "leaf " * 1000}, 80))
        {
          "title": "Tea",
          "body": "lea…",
          "_truncated": {
            "body": 5000
          }
        }
    """
    budget = check_budget(max_data_length)
    whole = _json(form)
    if budget is None or len(whole) <= budget:
        return whole
    return _json(cut) if (cut := _cut(form, budget)) is not None else "{}" if budget > 1 else ""


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _cut(form: Mapping[str, Any], budget: int) -> dict[str, Any] | None:
    """Return the form with as little cut as needed; ``None`` where nothing of it has room."""

    def fitted(text: int, items: int) -> dict[str, Any] | None:
        return _Cutter(budget, text, items).fitted(form)

    everything = budget  # no list that fits has more items, and no text more characters
    found = _most(lambda text: fitted(text, everything), _FLOOR, budget)
    if found is not None:
        return found[1]
    of_lists = _most(lambda items: fitted(_FLOOR, items), 0, budget)
    if of_lists is not None:
        longer = _most(lambda text: fitted(text, of_lists[0]), _FLOOR, budget)
        return longer[1] if longer else of_lists[1]
    of_texts = _most(lambda text: fitted(text, 0), 0, min(_FLOOR, budget))
    if of_texts is not None:
        return of_texts[1]
    of_keys = _most(lambda keys: _Cutter(budget, 0, 0).first(form, keys), 0, len(form))
    return of_keys[1] if of_keys else None


def _most(attempt: Callable[[int], dict[str, Any] | None], least: int, most: int) -> tuple[int, dict[str, Any]] | None:
    """Return the highest number whose attempt has room, and what it gave."""
    if most < least or (given := attempt(least)) is None:
        return None
    best = (least, given)
    low, high = least + 1, most
    while low <= high:
        middle = (low + high) // 2
        given = attempt(middle)
        if given is None:
            high = middle - 1
        else:
            best, low = (middle, given), middle + 1
    return best


class _TooLongError(Exception):
    """There is no room for it."""


@dataclass
class _Cutter:
    """One attempt: copies a form and cuts it, counts the characters of its JSON, and stops where they are too many."""

    budget: int
    text: int
    """Characters that a text may have, as JSON has it, without its quotes."""
    items: int
    """Items that a list, or a dict within, may have."""
    size: int = 0
    notes: dict[str, int] = field(default_factory=dict)

    def fitted(self, form: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the whole form, cut, with notes; ``None`` where it is too long."""
        try:
            copy = {key: self._member(key, value, key, 1) for key, value in form.items()}
            self._add(2 + _line(0))
        except _TooLongError:
            return None
        if self.notes:
            name = _free_name(form)
            copy[name] = self.notes
            # The notes have been counted one by one; their key and the braces have not.
            self.size += _line(1) + len(encode_basestring(name)) + 5 + _line(1)
        return copy if self.size <= self.budget else None

    def first(self, form: Mapping[str, Any], keys: int) -> dict[str, Any] | None:
        """Return the first keys of the form, cut, and that it is; ``None`` where that is too long."""
        cut = {key: self._bare(value) for key, value in islice(form.items(), keys)}
        cut[_free_name(form)] = True
        return cut if len(_json(cut)) <= self.budget else None

    def _bare(self, value: Any) -> Any:
        if isinstance(value, str):
            return value if len(value) <= 1 else _ELLIPSIS
        return type(value)() if isinstance(value, (dict, list)) else value

    def _member(self, key: str, value: Any, path: str, depth: int) -> Any:
        self._add(_line(depth) + len(encode_basestring(key)) + 3)
        return self._copy(value, path, depth)

    def _copy(self, value: Any, path: str, depth: int) -> Any:
        if isinstance(value, str):
            return self._copy_text(value, path)
        if isinstance(value, dict):
            kept = list(islice(value.items(), self._kept(value, path)))
            self._add(2 + (_line(depth) if kept else 0))
            return {key: self._member(key, item, f"{path}.{key}", depth + 1) for key, item in kept}
        if isinstance(value, list):
            count = self._kept(value, path)
            self._add(2 + (_line(depth) + count * (_line(depth + 1) + 1) if count else 0))
            return [self._copy(value[at], f"{path}[{at}]", depth + 1) for at in range(count)]
        self._add(len(json.dumps(value)))
        return value

    def _copy_text(self, text: str, path: str) -> str:
        note = self._note_size(path, len(text))
        if len(text) <= self.text + note + 1:
            written = len(encode_basestring(text)) - 2
            if written <= self.text + note + 1:
                self._add(written + 2)
                return text
        kept = _prefix(text, self.text)
        self._note(path, len(text))
        self._add(len(encode_basestring(kept)) + len(_ELLIPSIS))
        return kept + _ELLIPSIS

    def _kept(self, value: dict[str, Any] | list[Any], path: str) -> int:
        if len(value) > self.items:
            self._note(path, len(value))
        return min(len(value), self.items)

    def _note(self, path: str, length: int) -> None:
        self.notes[path] = length
        self._add(self._note_size(path, length))

    def _note_size(self, path: str, length: int) -> int:
        return _line(2) + len(encode_basestring(path)) + 3 + len(str(length))

    def _add(self, size: int) -> None:
        self.size += size
        if self.size > self.budget:
            raise _TooLongError


def _line(depth: int) -> int:
    """Return the characters of a new line at a depth."""
    return 1 + 2 * depth


def _prefix(text: str, length: int) -> str:
    """Return the longest beginning of a text whose JSON has so many characters at the most."""
    low, high = 0, min(len(text), length)
    if len(encode_basestring(text[:high])) - 2 <= length:
        return text[:high]
    while low < high:
        middle = (low + high + 1) // 2
        if len(encode_basestring(text[:middle])) - 2 <= length:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def _free_name(form: Mapping[str, Any]) -> str:
    name = NOTE
    while name in form:
        name += "_"
    return name
