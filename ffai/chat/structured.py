"""Asking a model for an object of a pydantic class: its schema goes along, the reply is read with patience."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from ffai.chat.flow import Failed, Flow
from ffai.chat.message import clean_copy
from ffai.chat.schema import shown_schema
from ffai.core.history.clean import json_in
from ffai.errors import ArgumentTypeError, StructuredReplyError

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound="BaseModel")

_QUOTED = 2_000
"""Characters of a reply that the model is shown again."""
_PROBLEMS = 10
"""Faults of a reply that are told, at the most."""


def structured(prompt: str, kind: type[M]) -> Flow[str, M]:
    """Make a flow that asks a model for an object.

    The reply may stand in a code fence or among words, have single quotes or commas too many, or be cut at its end. Its
    values have to be of the right types as they are: ``"yes"`` is no truth value. If the reply can't be read, the model
    is told why and asked once more.

    Args:
        prompt: what is asked. The class's JSON schema is put behind it, with the first paragraph of each description.
        kind: the class of the object.

    Returns:
        A flow: its steps are prompts to send, the outcome of a step is the reply's text or `Failed`; its result is the
        object. An error of a step is raised as it is.

    Raises:
        ArgumentTypeError: ``kind`` is no pydantic class.
        StructuredReplyError: from the flow: the second reply can't be read either; it has the reply and the reason.

    Examples:
        >>> from pydantic import BaseModel
        >>> from ffai.chat.flow import run
        >>> class Verdict(BaseModel):
        ...     result: bool
        >>> replies = iter(["Yes!", "Sure: {'result': True}"])
        >>> run(structured("Is the sky blue?", Verdict), lambda prompt: next(replies))
        Verdict(result=True)
    """
    from pydantic import BaseModel

    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        raise ArgumentTypeError(f"kind must be a class of pydantic's BaseModel, not {kind!r:.100}.")
    return _asked_twice(f"{prompt}\n\n{_demand(kind)}", kind)


def read_as(kind: type[M], reply: str) -> M:
    """Read an object from a reply, as `structured` does.

    Raises:
        StructuredReplyError: it can't be read.

    Examples:
        >>> from pydantic import BaseModel
        >>> class City(BaseModel):
        ...     name: str
        >>> read_as(City, 'Here you are: {"name": "Paris",}')
        City(name='Paris')
    """
    from pydantic import ValidationError

    reason = ""
    for value in json_in(reply):
        try:
            # As JSON: strict about its types, and still a date is text and a tuple an array there.
            return kind.model_validate_json(json.dumps(clean_copy(_unpacked(value))), strict=True)
        except ValidationError as error:
            reason = reason or _told(error)
    raise StructuredReplyError(kind.__name__, reply, reason or ("no JSON is in it" if reply.strip() else "it is empty"))


def _asked_twice(asked: str, kind: type[M]) -> Flow[str, M]:
    reply = _text((yield asked))
    try:
        return read_as(kind, reply)
    except StructuredReplyError as error:
        again = f"{asked}\n\n{_complaint(error)}"
    return read_as(kind, _text((yield again)))


def _text(outcome: Any) -> str:
    if isinstance(outcome, Failed):
        raise outcome.error
    text: str = outcome
    return text


def _demand(kind: type[BaseModel]) -> str:
    return f"Answer with JSON only, without words around it. It has to fit this JSON schema:\n{shown_schema(kind)}"


def _complaint(error: StructuredReplyError) -> str:
    was = f" It was:\n{error.reply[:_QUOTED]}\n" if error.reply.strip() else ""
    return f"Your last answer could not be used: {error.reason}.{was}\nAnswer again, with JSON only."


def _unpacked(value: Any) -> Any:
    """Return the only object of an array: some models put one around it."""
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) else value


def _told(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False)
    told = [
        f"{'.'.join(map(str, problem['loc'])) or 'the whole'}: {problem['msg']}, not {_shown(problem['input'])}"
        for problem in problems[:_PROBLEMS]
    ]
    return "; ".join(told) + (f"; and {len(problems) - _PROBLEMS} more" if len(problems) > _PROBLEMS else "")


def _shown(value: Any) -> str:
    return f"{json.dumps(value, ensure_ascii=False, default=str):.80}"
