"""Embedding models of providers, through litellm."""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

from ffai._litellm import load_litellm
from ffai.errors import EmbeddingError, MissingKeyError

_KEY_VARIABLES = {
    "azure": ("AZURE_OPENAI_API_KEY", "AZURE_API_KEY"),
    "fireworks_ai": ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"),
    "huggingface": ("HUGGINGFACE_API_KEY", "HF_TOKEN"),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_AI_API_KEY"),
}
# Servers of one's own, and clouds that have credentials of another kind, which litellm finds.
_KEYLESS = frozenset(
    {"bedrock", "hosted_vllm", "infinity", "lm_studio", "ollama", "sagemaker", "vertex_ai", "watsonx", "xinference"}
)
_TEXTS_A_REQUEST = 96  # the smallest limit among the larger providers
_TIMEOUT_SECONDS = 60.0  # litellm's own is 10 minutes
_TRANSIENT = frozenset({408, 409, 425, 429})


def key_variables(model: str) -> tuple[str, ...]:
    """Return the environment variables that may hold the key for a model; none where it needs no key.

    Examples:
        >>> key_variables("mistral/mistral-embed"), key_variables("ollama/nomic-embed-text")
        (('MISTRAL_API_KEY',), ())
    """
    provider = model.partition("/")[0] if "/" in model else "openai"
    if provider in _KEYLESS:
        return ()
    return _KEY_VARIABLES.get(provider, (f"{provider.upper().replace('-', '_')}_API_KEY",))


def find_key(model: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the key for a model from the environment; a blank one does not count.

    Examples:
        >>> find_key("openai/text-embedding-3-small", {"OPENAI_API_KEY": " "}) is None
        True
    """
    keys = (environ.get(variable, "").strip() for variable in key_variables(model))
    return next((key for key in keys if key), None)


class ApiModel:
    """A provider's embedding model. Making one sends nothing and imports nothing.

    Args:
        model: ``provider/model``, as litellm knows it.
        api_key: else the one in the environment, looked up at each call.
        api_base: address of the provider's server, where it is not the usual one.
        options: passed on to litellm.

    Examples:
        >>> ApiModel("mistral/mistral-embed", api_key="k", api_base=None, options={}).ensure_available()
    """

    is_downloading = False

    def __init__(self, model: str, *, api_key: str | None, api_base: str | None, options: Mapping[str, Any]) -> None:
        self._model, self._api_key, self._api_base = model, api_key, api_base
        self._options = dict(options)

    def ensure_available(self) -> None:
        """Check that there is a key; sends nothing.

        Raises:
            MissingKeyError: there is none, and the provider needs one.
        """
        self._key()

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text, in order.

        Raises:
            MissingKeyError: the provider needs a key and there is none.
            EmbeddingError: the provider failed; tells whether to try again, and when.
        """
        rows: list[list[float]] = []
        for part in _parts(texts):
            request = self._request(part)
            litellm = load_litellm()
            with self._provider_errors():
                response = litellm.embedding(**request)
            rows += self._vectors(response, len(part))
        return rows

    async def aembed(self, texts: list[str]) -> list[list[float]]:
        """The async twin of `embed`."""
        rows: list[list[float]] = []
        for part in _parts(texts):
            request = self._request(part)
            litellm = await asyncio.to_thread(load_litellm)  # the first time it takes seconds
            with self._provider_errors():
                response = await litellm.aembedding(**request)
            rows += self._vectors(response, len(part))
        return rows

    def _key(self) -> str | None:
        key = self._api_key or find_key(self._model)
        if key is None and (variables := key_variables(self._model)):
            raise MissingKeyError(self._model, variables[0])
        return key

    def _request(self, texts: list[str]) -> dict[str, Any]:
        request: dict[str, Any] = {"model": self._model, "input": texts, "timeout": _TIMEOUT_SECONDS, "max_retries": 0}
        if (key := self._key()) is not None:
            request["api_key"] = key
        if self._api_base:
            request["api_base"] = self._api_base
        return {**request, **self._options}

    def _vectors(self, response: Any, expected: int) -> list[list[float]]:
        data = sorted(response.data or [], key=lambda item: item["index"])
        if [item["index"] for item in data] != list(range(expected)):
            raise EmbeddingError(f"{self._model!r} answered {len(data)} vectors for {expected} texts.")
        return [item["embedding"] for item in data]

    @contextlib.contextmanager
    def _provider_errors(self) -> Iterator[None]:
        """Turn a provider's failure into an EmbeddingError that keeps its status and its wait."""
        from openai import OpenAIError  # the root of litellm's errors too

        try:
            yield
        except (OpenAIError, OSError) as error:
            status = getattr(error, "status_code", None)
            told = str(error)
            if key := self._api_key or find_key(self._model):
                told = told.replace(key, "***")  # some providers repeat it
            raise EmbeddingError(
                f"{self._model!r} failed: {told}",
                transient=_is_transient(status, told),
                retry_after=_retry_after(error),
                status_code=status,
            ) from error


def _parts(texts: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(texts), _TEXTS_A_REQUEST):
        yield texts[start : start + _TEXTS_A_REQUEST]


def _is_transient(status: int | None, told: str) -> bool:
    if "insufficient_quota" in told:  # also a 429: the account has no credit, and no wait will help
        return False
    return status is None or status in _TRANSIENT or status >= 500


def _retry_after(error: Exception) -> float | None:
    """Read the server's Retry-After, in seconds or as a date."""
    places = (
        getattr(error, "litellm_response_headers", None),
        getattr(getattr(error, "response", None), "headers", None),
    )
    for headers in places:
        told = (headers or {}).get("retry-after")
        if told is None:
            continue
        with contextlib.suppress(ValueError):
            return max(0.0, float(told))
        with contextlib.suppress(ValueError):
            return max(0.0, email.utils.parsedate_to_datetime(told).timestamp() - time.time())
    return None
