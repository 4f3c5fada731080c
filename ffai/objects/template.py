"""Templates of combined texts."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

from ffai.errors import InvalidArgumentError


class Template:
    """A text with the names of columns in braces; ``{{`` and ``}}`` are braces.

    Values are put in once: one that holds ``{body}`` itself stays as it is. ``None`` is nothing.

    Raises:
        InvalidArgumentError: it is no such text, or names no column.

    Examples:
        >>> Template("{title}|{body}").filled({"title": "see {body} $&", "body": "B"})
        'see {body} $&|B'
    """

    def __init__(self, template: str) -> None:
        try:
            parts = list(string.Formatter().parse(template))
        except (ValueError, TypeError) as error:
            raise InvalidArgumentError(f"{template!r:.100} is no template: {error}.") from error
        self._parts = [(before, name) for before, name, _, _ in parts]
        self.names = tuple(name for _, name in self._parts if name is not None)
        if odd := [name for _, name, shape, turned in parts if name is not None and (shape or turned or not name)]:
            raise InvalidArgumentError(f"{template!r:.100}: {{{odd[0]}}} must be the plain name of a column.")
        if not self.names:
            raise InvalidArgumentError(f"{template!r:.100} names no column: put one in braces, such as {{title}}.")

    def filled(self, values: Mapping[str, Any]) -> str:
        """Return the text with the values in it."""
        return "".join(before + ("" if name is None else _shown(values[name])) for before, name in self._parts)


def _shown(value: Any) -> str:
    return "" if value is None else str(value)
