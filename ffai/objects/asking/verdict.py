"""Reading yes or no from a model's reply: one boolean, or an error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ffai.core.history.clean import clean_response
from ffai.errors import MalformedReply

_TRIES = 1_000
"""Opening braces at which an object is looked for: each is read to where it goes wrong."""


def read_verdict(reply: str) -> bool:
    r"""Return the boolean that a reply gives as ``{"result": ...}``.

    The object may have more keys, stand in a code fence or among words, and be said again. The model's thoughts don't
    count.

    Raises:
        MalformedReply: there is no such object, its ``result`` is no boolean, or there are two that differ.

    Examples:
        >>> read_verdict('Sure:\n```json\n{"result": true, "why": "It is plain."}\n```')
        True
        >>> read_verdict('{"result": 1}')
        Traceback (most recent call last):
        ffai.errors.MalformedReply: The model's reply is no verdict: "result" is 1, neither true nor false. ...
    """
    answer = clean_response(reply).lstrip("\ufeff")
    if not answer:
        raise MalformedReply(reply, "it is empty")
    given = [value for found in _objects(answer) for name, value in found if name == "result"]
    if not given:
        raise MalformedReply(reply, 'it has no JSON object with a "result"')
    for value in given:
        if value is not True and value is not False:
            raise MalformedReply(reply, f'"result" is {_shown(value)}, neither true nor false')
    if any(value is not given[0] for value in given):
        raise MalformedReply(reply, "it says both true and false")
    verdict: bool = given[0]
    return verdict


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object; a dict would keep one of two equal keys."""


def _objects(answer: str) -> Iterator[_Pairs]:
    """Yield the objects that stand in a text: the whole of it, else each that is within no other."""
    decoder = json.JSONDecoder(object_pairs_hook=_Pairs)
    try:
        whole = decoder.decode(answer)
    except (ValueError, RecursionError):
        pass
    else:
        if isinstance(whole, _Pairs):
            yield whole
        return
    at = answer.find("{")
    for _ in range(_TRIES):
        if at < 0:
            return
        try:
            found, end = decoder.raw_decode(answer, at)
        except (ValueError, RecursionError):
            at = answer.find("{", at + 1)
        else:
            yield found
            at = answer.find("{", end)


def _shown(value: Any) -> str:
    return f"{json.dumps(dict(value) if isinstance(value, _Pairs) else value, ensure_ascii=False):.80}"
