"""Clients of chat models: any provider through litellm, and two that wrap others. Providers load at the first call."""

from typing import TYPE_CHECKING

from ffai._lazy import lazy_exports

if TYPE_CHECKING:
    from ffai.clients.build import build_client
    from ffai.clients.fallback import FallbackClient
    from ffai.clients.litellm import AsyncLiteLLMClient, LiteLLMClient
    from ffai.clients.retry import RetryClient, RetryPolicy

__all__ = ["AsyncLiteLLMClient", "FallbackClient", "LiteLLMClient", "RetryClient", "RetryPolicy", "build_client"]

__getattr__ = lazy_exports(
    __name__,
    {
        "AsyncLiteLLMClient": "ffai.clients.litellm",
        "FallbackClient": "ffai.clients.fallback",
        "LiteLLMClient": "ffai.clients.litellm",
        "RetryClient": "ffai.clients.retry",
        "RetryPolicy": "ffai.clients.retry",
        "build_client": "ffai.clients.build",
    },
)
