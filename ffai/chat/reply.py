"""What a chat model gives back, and how it is read from whatever a client answered."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ffai._text import clean_text
from ffai.chat.message import member
from ffai.errors import ArgumentTypeError, ClientError


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens a call used. ``None`` where the provider did not say; never 0 for "unknown".

    A sum with something unknown is unknown.

    Examples:
        >>> TokenUsage(7, 5, 12) + TokenUsage(10, None, None)
        TokenUsage(input_tokens=17, output_tokens=None, total_tokens=None)
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None

    def __add__(self, other: TokenUsage) -> TokenUsage:
        """Add what two calls used."""
        return TokenUsage(
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            _sum(self.total_tokens, other.total_tokens),
        )


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool the model asks for.

    Examples:
        >>> ToolCall("call_1", "add", '{"a": 1}').as_message()["function"]
        {'name': 'add', 'arguments': '{"a": 1}'}
    """

    id: str
    name: str
    arguments: str
    """The arguments as the model wrote them: JSON, as a rule."""

    def as_message(self) -> dict[str, Any]:
        """Return the call as it stands in the message of an assistant."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """One reply of a chat model.

    Examples:
        >>> ChatReply(text="Under the mat.", model="fake").text
        'Under the mat.'
    """

    text: str = ""
    """What the model said, unaltered; ``""`` where it only asked for tools."""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage | None = None
    cost_usd: float | None = None
    """``None`` where the price is unknown."""
    model: str = ""
    """The model that answered; after a fallback another one than was asked."""
    finish_reason: str | None = None

    def as_message(self) -> dict[str, Any]:
        """Return the reply as the message of an assistant in a conversation."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.tool_calls:
            message["tool_calls"] = [call.as_message() for call in self.tool_calls]
        return message


def as_reply(value: object, client: object, asked: object = None) -> ChatReply:
    """Read a reply from what a client's ``generate_response`` gave.

    Text, ``None`` (no text), a list of content parts, a message or a whole completion in the shape of OpenAI's, a dict
    or a pydantic model (its JSON). Usage and cost that these don't tell are taken from the client's ``last_usage`` and
    ``last_cost_usd``. A `ChatReply` says itself what is known: another thread may have called the client since.

    Args:
        value: what the client gave.
        client: the client.
        asked: the model that the call named, where it named one; else the client's own is taken to have answered.

    Raises:
        ArgumentTypeError: the value must be awaited; names the async method. A coroutine is closed.
        ClientError: the value is none of these; names its type.

    Examples:
        >>> as_reply({"role": "assistant", "content": None, "tool_calls": [
        ...     {"id": "call_1", "function": {"name": "add", "arguments": "{}"}}]}, client=None).tool_calls
        (ToolCall(id='call_1', name='add', arguments='{}'),)
    """
    reply = value if isinstance(value, ChatReply) else _with_last(_read(value), client)
    models = (reply.model, asked, member(client, "model"))
    model = next((model for model in models if isinstance(model, str) and model), "")
    return replace(reply, text=clean_text(reply.text), model=model)


def as_usage(value: object) -> TokenUsage | None:
    """Read the tokens used from a dict or an object, under any of their usual names.

    Returns:
        ``None`` where nothing is known. What is not a number is unknown; so are zeros without exception, since a call
        has at least one token.

    Examples:
        >>> as_usage({"prompt_tokens": 7, "completion_tokens": 5})
        TokenUsage(input_tokens=7, output_tokens=5, total_tokens=12)
    """
    if value is None:
        return None
    tokens_in = _count(value, "input_tokens", "prompt_tokens")
    tokens_out = _count(value, "output_tokens", "completion_tokens")
    total = _count(value, "total_tokens")
    if not (tokens_in or tokens_out or total):
        return None
    return TokenUsage(tokens_in, tokens_out, total if total is not None else _sum(tokens_in, tokens_out))


def as_cost(value: object, usage: TokenUsage | None) -> float | None:
    """Read a price in US dollars; ``None`` where it is not a number, or 0 for an unknown number of tokens.

    Examples:
        >>> as_cost(0.002, None), as_cost(0.0, None), as_cost("free", None)
        (0.002, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        return None
    return float(value) if value or usage else None


def _with_last(reply: ChatReply, client: object) -> ChatReply:
    usage = reply.usage or as_usage(member(client, "last_usage"))
    return replace(reply, usage=usage, cost_usd=as_cost(member(client, "last_cost_usd"), usage))


def _read(value: object) -> ChatReply:
    if value is None or isinstance(value, str):
        return ChatReply(text=value or "")
    if inspect.isawaitable(value):
        _drop(value)
        raise ArgumentTypeError(
            "The client answers asynchronously: generate_response gave an awaitable. "
            "Call agenerate_response (or astream_response) instead."
        )
    choices = member(value, "choices")
    if isinstance(choices, list) and (member(value, "object") == "chat.completion" or _holds_message(choices)):
        return _read_completion(value, choices)
    if _is_message(value):
        return _read_message(value)
    return ChatReply(text=_read_json(value))


def _read_completion(value: object, choices: Sequence[Any]) -> ChatReply:
    if not choices:
        raise ClientError(f"The client's {type(value).__name__} has no choices: the model gave no reply.")
    finish_reason = member(choices[0], "finish_reason")
    model = member(value, "model")
    return replace(
        _read_message(member(choices[0], "message")),
        usage=as_usage(member(value, "usage")),
        model=model if isinstance(model, str) else "",
        finish_reason=finish_reason if isinstance(finish_reason, str) else None,
    )


def _holds_message(choices: list[Any]) -> bool:
    return bool(choices) and _is_message(member(choices[0], "message"))


def _is_message(value: object) -> bool:
    content = member(value, "content")
    if not (content is None or isinstance(content, (str, list))):
        return False
    return isinstance(member(value, "role"), str) or isinstance(member(value, "tool_calls"), (list, tuple))


def _read_message(value: object) -> ChatReply:
    content, calls = member(value, "content"), member(value, "tool_calls")
    text = _parts_text(content) if isinstance(content, (list, tuple)) else content
    if not (text is None or isinstance(text, str)):
        raise _unknown(value)
    return ChatReply(
        text=text or "",
        tool_calls=tuple(_tool_call(call) for call in calls) if isinstance(calls, (list, tuple)) else (),
    )


def _tool_call(call: object) -> ToolCall:
    if isinstance(call, ToolCall):
        return call
    inner = member(call, "function") or call
    name, identity = member(inner, "name"), member(call, "id")
    if not isinstance(name, str):
        raise ClientError(f"The client gave a tool call without a name: {type(call).__name__}.")
    arguments = next((found for key in ("arguments", "args", "input") if (found := member(inner, key)) is not None), "")
    return ToolCall(
        id=identity if isinstance(identity, str) else "",
        name=name,
        arguments=clean_text(arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)),
    )


def _read_json(value: object) -> str:
    """Return the text of parts, or the JSON of a dict, list or pydantic model."""
    if isinstance(value, (list, tuple)) and all(
        isinstance(member(p, "type"), str) or isinstance(p, str) for p in value
    ):
        return _parts_text(value)
    dump = getattr(type(value), "model_dump_json", None)
    if callable(dump):
        return str(dump(value))
    if isinstance(value, (Mapping, list)):
        try:
            return json.dumps(value, ensure_ascii=False)
        except TypeError as error:
            raise ClientError(f"The client gave a {type(value).__name__} that JSON can't hold: {error}") from error
    raise _unknown(value)


def _parts_text(parts: Sequence[object]) -> str:
    return "\n".join(_part_text(part) for part in parts)


def _part_text(part: object) -> str:
    """Return the text of one part, or its type in brackets: a thought that a model tells is no part of its answer."""
    if isinstance(part, str):
        return part
    kind, text = member(part, "type"), member(part, "text")
    return text if kind in ("text", "output_text") and isinstance(text, str) else f"[{kind}]"


def _unknown(value: object) -> ClientError:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    return ClientError(f"The client gave a {kind}, which is not a reply. Return text or a ChatReply.")


def _drop(value: Any) -> None:
    """End a coroutine, so that Python doesn't warn that it was never awaited, or a task that already runs."""
    for name in ("close", "cancel"):
        end = getattr(value, name, None)
        if callable(end):
            end()
            return


def _count(value: object, *names: str) -> int | None:
    for name in names:
        found = member(value, name)
        if isinstance(found, int) and not isinstance(found, bool) and found >= 0:
            return found
    return None


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b
