"""Reading a file of JSON objects one at a time: one a line, one after another, or all in one array, however big."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, NoReturn

from ffai.errors import InvalidArgumentError

CHUNK = 1024 * 1024
"""Bytes that are read first; twice as many each time an object goes on."""
_BLANKS = re.compile(r"[ \t\r\n]*")
_CUT_OFF = 16
"""Characters before the end in which an object that is only cut off can look wrong."""


class Found(NamedTuple):
    """A value of the file."""

    number: int
    """Which one it is, from 1."""
    line: int
    """The line it begins in, from 1."""
    value: Any


def read_objects(file: BinaryIO) -> Iterator[Found]:
    r"""Read the values of a file from where it stands; at any time one of them is in memory.

    Raises:
        InvalidArgumentError: it is not JSON in UTF-8; names the line and what is wrong.

    Examples:
        >>> import io
        >>> [(one.line, one.value) for one in read_objects(io.BytesIO(b'[{"a": 1},\n {"b": 2}]'))]
        [(1, {'a': 1}), (2, {'b': 2})]
        >>> [one.value for one in read_objects(io.BytesIO(b'{"a": 1}\n{"b": 2}\n'))]
        [{'a': 1}, {'b': 2}]
    """
    text = _Text(file)
    in_array = text.take("[")
    number = 0
    while text.more() and not (in_array and text.take("]")):
        if in_array and number and not text.take(","):
            raise text.error("there is no comma between two of its values")
        number += 1
        text.more()
        line = text.line
        yield Found(number, line, text.value())
        if in_array and not text.more():
            raise text.error("its array does not end")
    if text.more():
        raise text.error("something comes after its array")


class _Text:
    """The text of a file, of which a part is in memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._decode_bytes = file, codecs.getincrementaldecoder("utf-8-sig")().decode
        self._text, self._at, self._ended, self._size = "", 0, False, CHUNK
        self.line = 1

    def more(self) -> bool:
        """Go on to what is no blank; tells whether there is something."""
        while True:
            end = _blanks_end(self._text, self._at)
            self.line += self._text.count("\n", self._at, end)
            self._at = end
            if end < len(self._text):
                return True
            if self._ended:
                return False
            self._read()

    def take(self, mark: str) -> bool:
        """Go past a mark, if it is next."""
        if self.more() and self._text[self._at] == mark:
            self._at += 1
            return True
        return False

    def value(self) -> Any:
        """Read the value that is next."""
        self.more()
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except RecursionError:
                raise self.error("it is nested too deeply") from None
            except json.JSONDecodeError as error:
                if self._ended or not self._may_go_on(error):
                    raise self.error(f"it is not JSON: {error.msg}", error.pos) from error
                self._read()
            except ValueError as error:
                raise self.error(f"it is not JSON: {error}") from error
            else:
                self.line += self._text.count("\n", self._at, end)
                self._at, self._size = end, CHUNK
                return value

    def error(self, what: str, at: int | None = None) -> InvalidArgumentError:
        """Say what is wrong in which line."""
        line = self.line if at is None else self.line + self._text.count("\n", self._at, at)
        return InvalidArgumentError(f"line {line}: {what}.")

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - _CUT_OFF

    def _read(self) -> None:
        raw = self._file.read(self._size)
        self._ended = not raw
        self._size *= 2
        try:
            more = self._decode_bytes(raw, self._ended)
        except UnicodeDecodeError as error:
            raise self.error(f"it is not UTF-8: {error.reason}", len(self._text)) from error
        self._text, self._at = self._text[self._at :] + more, 0


def _blanks_end(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return at if blanks is None else blanks.end()


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON, write null")


_decode = json.JSONDecoder(parse_constant=_no_number).raw_decode
