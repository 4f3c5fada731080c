"""A client is made from settings as they stand in a file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ffai.clients
import ffai.rag
from ffai.clients import AsyncLiteLLMClient, LiteLLMClient, build_client
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from tests.doubles.openai_server import Answer, OpenAIServer

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("settings", "model_string"),
    [
        ({"model": "mistral-small-latest", "provider_prefix": "mistral/"}, "mistral/mistral-small-latest"),
        ({"model": "mistral-small-latest", "provider_prefix": "mistral"}, "mistral/mistral-small-latest"),
        ({"model": "mistral/small", "provider_prefix": "mistral/"}, "mistral/small"),
        ({"model": "openai/gpt-4o-mini"}, "openai/gpt-4o-mini"),
        ({"model": "meta/llama", "provider_prefix": "nvidia_nim/"}, "nvidia_nim/meta/llama"),
    ],
)
def test_the_provider_is_put_before_the_model_once(settings: dict[str, Any], model_string: str) -> None:
    assert build_client(**settings).model_string == model_string


def test_either_kind_of_client_is_made() -> None:
    assert type(build_client("openai/a")) is LiteLLMClient
    assert type(build_client("openai/a", asynchronous=True)) is AsyncLiteLLMClient


def test_the_key_is_read_from_the_named_variable_for_fallbacks_too(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRST_KEY", "one")
    monkeypatch.setenv("SECOND_KEY", "two")
    openai_server.script(Answer(status=401), Answer())
    address = {"provider_prefix": "openai/", "api_base": openai_server.api_base}
    client = build_client(
        "a",
        api_key_env="FIRST_KEY",
        temperature=0.5,
        fallbacks=[{"model": "b", "api_key_env": "SECOND_KEY", **address}],
        retry={"max_attempts": 1},
        **address,
    )
    assert client.generate_response("Hi").model == "b"
    sent = [(request.key, request.body["model"], request.body["temperature"]) for request in openai_server.requests]
    assert sent == [("one", "a", 0.5), ("two", "b", 0.5)]


def test_a_named_variable_that_is_not_set_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(InvalidArgumentError, match="'openai/a' names 'NO_SUCH_KEY', which is not set"):
        build_client("a", provider_prefix="openai/", api_key_env="NO_SUCH_KEY")


def test_a_missing_model_is_an_error() -> None:
    with pytest.raises(InvalidArgumentError, match="model"):
        build_client("")
    with pytest.raises(ArgumentTypeError, match="model"):
        build_client("openai/a", fallbacks=[{"api_base": "http://x"}])


def test_no_provider_is_imported_before_a_model_is_called() -> None:
    code = """
import sys
from ffai.clients import *
import ffai.chat.calling, ffai.testing
client = build_client("openai/a", fallbacks=["mistral/b"])
client.stream_response("Hi")
heavy = {"litellm", "openai", "httpx", "numpy", "pydantic", "polars"} & set(sys.modules)
assert not heavy, heavy
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=60)


@pytest.mark.parametrize("package", [ffai.clients, ffai.chat, ffai.rag])
def test_every_public_name_can_be_imported(package: Any) -> None:
    assert package.__all__ == sorted(package.__all__)
    for name in package.__all__:
        assert getattr(package, name).__module__.startswith(package.__name__)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = package.no_such_name
