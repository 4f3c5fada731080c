"""Errors as values: they say what happened wherever they are carried."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from ffai import errors
from ffai.core.memory import load_store

MADE: list[errors.FFAIError] = [
    errors.InvalidArgumentError("top_k is wrong"),
    errors.ScopeValidationError([errors.Violation("actor_id", "pair", "actor_id is missing")]),
    errors.ArgumentTypeError("prompt must be text"),
    errors.ConfigError("main.yaml", "memory.enabled", "is not a setting"),
    errors.ClosedError("closed"),
    errors.MissingExtraError("fastembed", "memory"),
    errors.ClientError("no reply"),
    errors.AllClientsFailedError([("a", TimeoutError("too slow"))]),
    errors.StructuredReplyError("Verdict", "yes", "no JSON is in it"),
    errors.MalformedReply("Yes!", "no JSON is in it"),
    errors.ToolLoopLimit(5, ["word_count"]),
    errors.SensitiveFieldError("token", "Article", "embedded"),
    errors.UnsafeFilterError("text is in it"),
    errors.MemoryDisabledError("memory is off"),
    errors.EmptyWindowError("nothing was said"),
    errors.EmptySummaryError("a blank summary"),
    errors.UnknownReferenceError(["nobody"], ["capital"]),
    errors.EmbeddingError("busy", transient=True, retry_after=2.0, status_code=429),
    errors.ModelUnavailableError("not cached"),
    errors.DamagedModelError("cut"),
    errors.MissingKeyError("mistral/mistral-embed", "MISTRAL_API_KEY"),
    errors.BadVectorError("zeros"),
    errors.DimensionError(3, 4),
    errors.StoreError("full"),
    errors.StoreFileNotFoundError(Path("turns.parquet")),
    errors.SchemaVersionError([2], 1),
    errors.ModelChangedError("local/old", "local/new", 384),
    errors.DamagedFileError(Path("turns.parquet"), "is cut"),
    errors.JournalError("locked"),
]


def test_every_error_is_tried_here() -> None:
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.FFAIError)}
    assert {type(error) for error in MADE} == kinds - {errors.FFAIError}


@pytest.mark.parametrize("carry", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize("error", MADE, ids=lambda error: type(error).__name__)
def test_an_error_arrives_as_it_was(error: errors.FFAIError, carry: Callable[[Any], Any]) -> None:
    arrived = carry(error)

    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert {name: str(value) for name, value in vars(arrived).items()} == {
        name: str(value) for name, value in vars(error).items()
    }


def test_an_error_in_a_pool_of_processes_reaches_the_one_who_asked(tmp_path: Path) -> None:
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(errors.StoreFileNotFoundError, match="nothing-here"),
    ):
        pool.submit(load_store, tmp_path / "nothing-here.parquet").result(timeout=60)
