"""Clients of any provider that litellm knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from ffai.chat.calling import check_client, cloned
from ffai.chat.conversation import Conversation
from ffai.chat.message import check_prompt
from ffai.chat.reply import ChatReply
from ffai.chat.streaming import AsyncReplyStream, ReplyStream
from ffai.clients.chain import Chain, ChainClient
from ffai.clients.endpoint import Endpoint
from ffai.clients.member import Guest, Member, Model, Request
from ffai.clients.retry import RetryPolicy, as_policy
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.typing import Prompt

Fallback = str | Mapping[str, Any] | Any
"""A model's name, a dict with ``model`` and its own ``api_key``, ``api_base`` and options, or a client."""

_SHARED = ("temperature", "max_tokens")


class LiteLLMChat(ChainClient):
    """What the sync and the async client share: one model, its fallbacks, and one conversation.

    Args:
        model_string: ``provider/model``, as litellm wants it.
        config: the same settings as a mapping; an argument wins over it.
        api_key: the provider's key; else ``<PROVIDER>_API_KEY`` in the environment.
        api_base: the address of the server; else ``<PROVIDER>_API_BASE``.
        api_version: else ``<PROVIDER>_API_VERSION``.
        system_instructions: what the model is told before the conversation.
        temperature: sent with each call where it is given.
        max_tokens: the longest reply, in tokens; sent where it is given.
        fallbacks: asked in order when this model fails; each with its own key and address.
        retry: when to begin again after all of them failed, a policy or its fields; 3 attempts by default.
        extra: other options of litellm, sent with each call to this model.

    Raises:
        InvalidArgumentError: ``model_string`` is blank.
        ArgumentTypeError: an argument has a wrong type.
    """

    def __init__(
        self,
        model_string: str,
        config: Mapping[str, Any] | None = None,
        *,
        api_key: str | None = None,
        api_base: str | None = None,
        api_version: str | None = None,
        system_instructions: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        fallbacks: Sequence[Fallback] | None = None,
        retry: RetryPolicy | Mapping[str, Any] | None = None,
        **extra: Any,
    ) -> None:
        given = {
            "api_key": api_key,
            "api_base": api_base,
            "api_version": api_version,
            "system_instructions": system_instructions,
            "temperature": temperature,
            "max_tokens": max_tokens,
            "fallbacks": fallbacks,
            "retry": retry,
            **extra,
        }
        settings = {**(config or {}), **{name: value for name, value in given.items() if value is not None}}
        self._model_string, self._settings = model_string, dict(settings)
        policy = as_policy(settings.pop("retry", None))
        fallbacks = _checked_fallbacks(settings.pop("fallbacks", None) or ())
        primary = Model(_endpoint(model_string, settings), settings.get("system_instructions"))
        members = [primary, *(_member(fallback, primary) for fallback in fallbacks)]
        self._models = [member for member in members if isinstance(member, Model)]
        super().__init__(Chain(members, Conversation(), policy))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._model_string!r})"  # a key stays out of logs

    @property
    def model_string(self) -> str:
        """The model as litellm knows it: ``provider/model``."""
        return self._model_string

    @property
    def system_instructions(self) -> str | None:
        """What the model is told before the conversation; its fallbacks are told the same."""
        return self._models[0].system_instructions

    @system_instructions.setter
    def system_instructions(self, text: str | None) -> None:
        for model in self._models:
            model.system_instructions = text

    def clone(self) -> Self:
        """Return a client with the same settings and no conversation."""
        fallbacks = [_clone(fallback) for fallback in self._settings.get("fallbacks", ())]
        own = {"fallbacks": fallbacks, "system_instructions": self.system_instructions}
        return type(self)(self._model_string, {**self._settings, **own})

    async def agenerate_response(
        self,
        prompt: Prompt,
        model: str | None = None,
        system_instructions: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        **kwargs: Any,
    ) -> ChatReply:
        """The async twin of `LiteLLMClient.generate_response`."""
        return await self._chain.aask(_request(prompt, model, system_instructions, temperature, max_tokens, kwargs))

    def astream_response(
        self,
        prompt: Prompt,
        model: str | None = None,
        system_instructions: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        **kwargs: Any,
    ) -> AsyncReplyStream:
        """The async twin of `LiteLLMClient.stream_response`."""
        return self._chain.astream(_request(prompt, model, system_instructions, temperature, max_tokens, kwargs))


class LiteLLMClient(LiteLLMChat):
    """A chat model of any provider, with its fallbacks and one conversation; see `LiteLLMChat` for the arguments.

    Examples:
        >>> client = LiteLLMClient("openai/gpt-4o-mini", mock_response="Under the mat.")  # litellm's mock: no network
        >>> client.generate_response("Where is the key?").text  # doctest: +SKIP
        'Under the mat.'
    """

    def generate_response(
        self,
        prompt: Prompt,
        model: str | None = None,
        system_instructions: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        **kwargs: Any,
    ) -> ChatReply:
        """Answer a prompt and add both to the conversation.

        Args:
            prompt: text, or a list of message parts.
            model: another model for this call; without a provider it is one of this client's provider.
            system_instructions: in the place of the client's.
            temperature: in the place of the client's.
            max_tokens: in the place of the client's.
            kwargs: other options of litellm, such as ``tools`` and ``response_format``.

        Raises:
            InvalidArgumentError, ArgumentTypeError: the prompt is blank, or not a prompt.
            AllClientsFailedError: there are fallbacks, and every model failed.
            Exception: litellm's own error, where there are none.
        """
        return self._chain.ask(_request(prompt, model, system_instructions, temperature, max_tokens, kwargs))

    def stream_response(
        self,
        prompt: Prompt,
        model: str | None = None,
        system_instructions: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        **kwargs: Any,
    ) -> ReplyStream:
        """Answer a prompt in pieces of text; both are added to the conversation when the last piece has come.

        The arguments are checked at once; the model is called when the first piece is asked for.
        """
        return self._chain.stream(_request(prompt, model, system_instructions, temperature, max_tokens, kwargs))


class AsyncLiteLLMClient(LiteLLMChat):
    """The async twin of `LiteLLMClient`: its replies are awaited, its streams read with ``async for``.

    Examples:
        >>> AsyncLiteLLMClient("mistral/mistral-small-latest").model
        'mistral-small-latest'
    """

    generate_response = LiteLLMChat.agenerate_response
    stream_response = LiteLLMChat.astream_response


def _request(
    prompt: Prompt,
    model: str | None,
    system_instructions: str | None,
    temperature: float | None,
    max_tokens: int | None,
    kwargs: Mapping[str, Any],
) -> Request:
    named = {
        "model": model,
        "system_instructions": system_instructions,
        "temperature": temperature,
        "max_tokens": max_tokens,
    }
    given = {name: value for name, value in named.items() if value is not None}
    return Request(check_prompt(prompt), {**kwargs, **given})


def _endpoint(model_string: object, settings: Mapping[str, Any]) -> Endpoint:
    if not isinstance(model_string, str):
        raise ArgumentTypeError(f"`model_string` must be text like 'provider/model', not {model_string!r:.80}.")
    if not model_string.strip():
        raise InvalidArgumentError(f"`model_string` is {model_string!r}. Name a model, like 'openai/gpt-4o-mini'.")
    known = ("api_key", "api_base", "api_version", "system_instructions")
    endpoint = Endpoint(
        model_string=model_string,
        api_key=settings.get("api_key"),
        api_base=settings.get("api_base"),
        api_version=settings.get("api_version"),
        options={name: value for name, value in settings.items() if name not in known},
    )
    return endpoint.from_environment()


def _checked_fallbacks(fallbacks: object) -> list[Fallback]:
    if isinstance(fallbacks, str) or not isinstance(fallbacks, Iterable):
        raise ArgumentTypeError(f"`fallbacks` must be a list of models or clients, not {fallbacks!r:.80}.")
    return list(fallbacks)


def _member(fallback: Fallback, primary: Model) -> Member:
    """Make a member of the chain. What belongs to the first one's provider is not handed on."""
    shared = {name: primary.endpoint.options[name] for name in _SHARED if name in primary.endpoint.options}
    if isinstance(fallback, str):
        return Model(replace(primary.endpoint.beside(fallback), options=shared), primary.system_instructions)
    if isinstance(fallback, Mapping):
        own = dict(fallback)
        model_string = own.pop("model", None) or own.pop("model_string", None)
        system = own.pop("system_instructions", primary.system_instructions)
        return Model(_endpoint(model_string, {**shared, **own}), system)
    check_client(fallback)
    return Guest(fallback)


def _clone(fallback: Fallback) -> Fallback:
    return fallback if isinstance(fallback, (str, Mapping)) else cloned(fallback)
