"""Making a client from settings, as they stand in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from ffai.clients.litellm import AsyncLiteLLMClient, Fallback, LiteLLMClient
from ffai.clients.retry import RetryPolicy
from ffai.errors import InvalidArgumentError


@overload
def build_client(
    model: str,
    *,
    provider_prefix: str = ...,
    api_key_env: str = ...,
    fallbacks: Sequence[Fallback] = ...,
    retry: RetryPolicy | Mapping[str, Any] | None = ...,
    asynchronous: Literal[False] = ...,
    **options: Any,
) -> LiteLLMClient: ...
@overload
def build_client(
    model: str,
    *,
    provider_prefix: str = ...,
    api_key_env: str = ...,
    fallbacks: Sequence[Fallback] = ...,
    retry: RetryPolicy | Mapping[str, Any] | None = ...,
    asynchronous: Literal[True],
    **options: Any,
) -> AsyncLiteLLMClient: ...
@overload
def build_client(
    model: str,
    *,
    provider_prefix: str = ...,
    api_key_env: str = ...,
    fallbacks: Sequence[Fallback] = ...,
    retry: RetryPolicy | Mapping[str, Any] | None = ...,
    asynchronous: bool,
    **options: Any,
) -> LiteLLMClient | AsyncLiteLLMClient: ...
def build_client(
    model: str,
    *,
    provider_prefix: str = "",
    api_key_env: str = "",
    fallbacks: Sequence[Fallback] = (),
    retry: RetryPolicy | Mapping[str, Any] | None = None,
    asynchronous: bool = False,
    **options: Any,
) -> LiteLLMClient | AsyncLiteLLMClient:
    """Make a client from settings.

    Args:
        model: the model's name, with or without its provider.
        provider_prefix: the provider, with or without the slash; put before a name that doesn't start with it.
        api_key_env: the variable that holds the key; empty takes the provider's usual one.
        fallbacks: model names, clients, or mappings with settings like these.
        retry: a policy, or its fields.
        asynchronous: whether the client is an `AsyncLiteLLMClient`.
        options: the other arguments of `LiteLLMClient`, such as ``api_base`` and ``temperature``.

    Raises:
        InvalidArgumentError: the variable is named and not set, or a setting is not one.

    Examples:
        >>> build_client("mistral-small-latest", provider_prefix="mistral/", temperature=0.2).model_string
        'mistral/mistral-small-latest'
    """
    kind = AsyncLiteLLMClient if asynchronous else LiteLLMClient
    settings = _settings({"model": model, "provider_prefix": provider_prefix, "api_key_env": api_key_env, **options})
    model_string = settings.pop("model", "")
    return kind(
        model_string,
        settings,
        fallbacks=[_settings(f) if isinstance(f, Mapping) else f for f in fallbacks],
        retry=retry,
    )


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Put the provider before the model, and the key in the place of its variable."""
    settings = {name: value for name, value in given.items() if value not in (None, "")}
    prefix = settings.pop("provider_prefix", "").removesuffix("/")
    variable = settings.pop("api_key_env", None)
    model = settings.get("model", "")
    if prefix and model and not model.startswith(f"{prefix}/"):
        settings["model"] = f"{prefix}/{model}"
    if variable:
        if not os.environ.get(variable):
            raise InvalidArgumentError(
                f"`api_key_env` of {settings.get('model')!r} names {variable!r}, which is not set in the environment."
            )
        settings["api_key"] = os.environ[variable]
    return settings
