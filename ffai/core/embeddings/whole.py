"""Telling a whole file of a model from one whose download broke off, without reading it all."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import BinaryIO

_CUT = "is cut off, or no such file at all"


def why_not_whole(path: Path) -> str | None:
    """Look at the ends of a file.

    A file that is damaged in its middle passes: loading it will show.

    Returns:
        None for a whole file, else what is wrong: it is missing, empty, cut, or something else, such as the page of a
        guest network.

    Examples:
        >>> why_not_whole(Path("no-such-model.onnx"))
        'is missing'
    """
    looks_whole = {".onnx": _onnx_ends, ".json": _json_ends, ".safetensors": _safetensors_ends}.get(path.suffix)
    try:
        size = path.stat().st_size
        if size == 0:
            return "is empty"
        if looks_whole is None:
            return None
        with path.open("rb") as file:
            return None if looks_whole(file, size) else _CUT
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"can't be read ({error.strerror})"


def _json_ends(file: BinaryIO, size: int) -> bool:
    first = file.read(64).lstrip()[:1]
    file.seek(max(0, size - 64))
    return first + file.read().rstrip()[-1:] in (b"{}", b"[]")


def _safetensors_ends(file: BinaryIO, size: int) -> bool:
    """A length, a header of that length, and the tensors; the header's end is all that can be had cheaply."""
    head = file.read(9)
    return len(head) == 9 and head[8:] == b"{" and 8 + struct.unpack("<Q", head[:8])[0] <= size


def _onnx_ends(file: BinaryIO, size: int) -> bool:
    """Step over the fields of the outermost protobuf message: the last one must end where the file ends.

    Source: the protobuf encoding guide, "Message Structure" (https://protobuf.dev/programming-guides/encoding).
    """
    while file.tell() < size:
        tag = _varint(file)
        if tag is None:
            return False
        length = _field_length(file, tag & 7)
        if length is None:
            return False
        file.seek(length, os.SEEK_CUR)
    return file.tell() == size


def _field_length(file: BinaryIO, wire_type: int) -> int | None:
    """Return how many bytes of the field are still ahead; None where it is no field."""
    if wire_type == 0:
        return None if _varint(file) is None else 0
    if wire_type == 2:
        return _varint(file)
    return {1: 8, 5: 4}.get(wire_type)


def _varint(file: BinaryIO) -> int | None:
    """Read a number of 7 bits a byte, lowest first; None where there is none."""
    value = 0
    for shift in range(0, 70, 7):
        byte = file.read(1)
        if not byte:
            return None
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
    return None
