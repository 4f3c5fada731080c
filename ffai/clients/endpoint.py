"""One model at one provider: what litellm is told, and what its answer means."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ffai._litellm import load_litellm
from ffai.chat.conversation import Message
from ffai.chat.message import member
from ffai.chat.reply import ChatReply, TokenUsage, ToolCall, as_cost, as_reply, as_usage
from ffai.chat.streaming import AsyncReplyStream, ReplyStream

_TIMEOUT = 600.0  # litellm's own is 6,000 seconds
_ENV_PREFIXES = {"nvidia_nim": "NVIDIA"}
_PROVIDERS_OWN = ("model", "api_base", "base_url", "api_version", "headers", "extra_headers", "organization")
_PROVIDERS_OWN_STARTS = ("aws_", "azure_", "vertex_")
_SECRET_ENDS = ("_key", "_token", "_secret", "_credentials", "_password")


def portable(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a call that may go to another provider: no key, address or model's name.

    Examples:
        >>> portable({"api_key": "secret", "temperature": 0.2, "max_tokens": 100})
        {'temperature': 0.2, 'max_tokens': 100}
    """
    return {
        name: value
        for name, value in options.items()
        if not (name in _PROVIDERS_OWN or name.startswith(_PROVIDERS_OWN_STARTS) or name.endswith(_SECRET_ENDS))
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model, the key and address it is called with, and the options sent with each call.

    Examples:
        >>> endpoint = Endpoint(model_string="openai/gpt-4o-mini", api_key="secret")
        >>> endpoint.model, endpoint.provider
        ('gpt-4o-mini', 'openai')
    """

    model_string: str
    """As litellm wants it: ``provider/model``."""
    api_key: str | None = field(default=None, repr=False)
    api_base: str | None = None
    api_version: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """The model's name at its provider: what follows the first slash."""
        return self.model_string.partition("/")[2] or self.model_string

    @property
    def provider(self) -> str:
        """What stands before the first slash; ``""`` where there is none."""
        before, slash, _ = self.model_string.partition("/")
        return before if slash else ""

    def from_environment(self) -> Endpoint:
        """Return the endpoint with key, address and version from the provider's variables where it has none."""
        return replace(
            self,
            api_key=self.api_key or self._variable("API_KEY"),
            api_base=self.api_base or self._variable("API_BASE"),
            api_version=self.api_version or self._variable("API_VERSION"),
        )

    def named(self, model: str | None) -> Endpoint:
        """Return the endpoint of another model for one call; a name without a provider is one of this one's."""
        if model is None or model in (self.model, self.model_string):
            return self
        provider, slash, _ = model.partition("/")
        if slash and provider != self.provider and provider not in load_litellm().provider_list:
            model = f"{self.provider}/{model}" if self.provider else model
        return self.beside(model)

    def beside(self, model: str) -> Endpoint:
        """Return the endpoint of another model, ``provider/model``, or a model of this provider.

        A key never goes to another provider: there, what its own variables hold is taken.
        """
        provider, slash, _ = model.partition("/")
        if not slash:
            return replace(self, model_string=f"{self.provider}/{model}" if self.provider else model)
        if provider == self.provider:
            return replace(self, model_string=model)
        return Endpoint(model_string=model, options=portable(self.options)).from_environment()

    def ask(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatReply:
        """Answer the last of the messages."""
        return self._read(load_litellm().completion(**self._arguments(messages, options)))

    async def aask(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatReply:
        """The async twin of `ask`."""
        return self._read(await load_litellm().acompletion(**self._arguments(messages, options)))

    def stream(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ReplyStream:
        """Answer the last of the messages in pieces of text."""
        chunks = _Chunks(self.model)

        def pieces() -> Any:
            source = load_litellm().completion(**self._stream_arguments(messages, options))
            try:
                for chunk in source:
                    yield chunks.take(chunk)
            finally:
                chunks.end(source)
                _close(source, "close")

        return ReplyStream(pieces(), chunks.reply)

    def astream(self, messages: Sequence[Message], options: Mapping[str, Any]) -> AsyncReplyStream:
        """The async twin of `stream`."""
        chunks = _Chunks(self.model)

        async def pieces() -> Any:
            source = await load_litellm().acompletion(**self._stream_arguments(messages, options))
            try:
                async for chunk in source:
                    yield chunks.take(chunk)
            finally:
                chunks.end(source)
                closing = _close(source, "aclose")
                if closing is not None:
                    await closing

        return AsyncReplyStream(pieces(), chunks.reply)

    def _arguments(self, messages: Sequence[Message], options: Mapping[str, Any]) -> dict[str, Any]:
        arguments = {
            "timeout": _TIMEOUT,
            "max_retries": 0,  # a retry client tries again, and says so
            **self.options,
            "api_key": self.api_key,
            "api_base": self.api_base,
            "api_version": self.api_version,
            **options,
            "model": self.model_string,
            "messages": messages,
        }
        return {name: value for name, value in arguments.items() if value is not None}

    def _stream_arguments(self, messages: Sequence[Message], options: Mapping[str, Any]) -> dict[str, Any]:
        return self._arguments(messages, {"stream_options": {"include_usage": True}, **options, "stream": True})

    def _read(self, response: Any) -> ChatReply:
        reply = as_reply(response, None)
        return replace(reply, cost_usd=_cost(response, reply.usage), model=self.model)

    def _variable(self, name: str) -> str | None:
        """Read ``<PROVIDER>_<NAME>``; with Azure, where a model may have its own address, the model's comes first."""
        prefix = _ENV_PREFIXES.get(self.provider, _upper(self.provider))
        own = (f"{prefix}_{_upper(self.model)}_{name}",) if self.provider == "azure" else ()
        names = (*own, f"{prefix}_{name}") if prefix else ()
        return next((value for variable in names if (value := os.environ.get(variable))), None)


class _Chunks:
    """What the chunks of a stream add up to."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._calls: list[ToolCall] = []
        self._places: dict[int, int] = {}
        self._finish_reason: str | None = None
        self._usage: TokenUsage | None = None
        self._cost: float | None = None

    def take(self, chunk: Any) -> str | None:
        cost = _hidden_cost(chunk)
        self._cost = self._cost if cost is None else cost
        self._usage = as_usage(getattr(chunk, "usage", None)) or self._usage
        if not chunk.choices:
            return None
        choice = chunk.choices[0]
        self._finish_reason = choice.finish_reason or self._finish_reason
        for part in member(choice.delta, "tool_calls") or ():
            self._take_call(part)
        content: str | None = member(choice.delta, "content")
        return content

    def end(self, source: Any) -> None:
        """Forget the usage if the provider said nothing of it: litellm hands on a guess of its own then."""
        if not any(as_usage(getattr(chunk, "usage", None)) for chunk in getattr(source, "chunks", ())):
            self._usage = None

    def reply(self, text: str) -> ChatReply:
        return ChatReply(
            text=text,
            tool_calls=tuple(self._calls),
            usage=self._usage,
            cost_usd=as_cost(self._cost, self._usage) if self._usage else None,
            model=self._model,
            finish_reason=self._finish_reason,
        )

    def _take_call(self, part: Any) -> None:
        """Add a part of a call.

        Some providers repeat id and name with each part, others say them once; some give every call the same index.
        """
        place = self._places.get(part.index)
        if place is None or (part.id and part.id != self._calls[place].id):
            self._places[part.index] = place = len(self._calls)
            self._calls.append(ToolCall(part.id or "", "", ""))
        so_far = self._calls[place]
        self._calls[place] = ToolCall(
            so_far.id,
            so_far.name or part.function.name or "",
            so_far.arguments + (part.function.arguments or ""),
        )


def _cost(response: Any, usage: TokenUsage | None) -> float | None:
    return as_cost(_hidden_cost(response), usage) if usage else None


def _hidden_cost(response: Any) -> Any:
    return member(getattr(response, "_hidden_params", None), "response_cost")


def _close(source: Any, name: str) -> Any:
    close = getattr(source, name, None)
    return close() if callable(close) else None


def _upper(name: str) -> str:
    return name.upper().replace("-", "_").replace(".", "_")
