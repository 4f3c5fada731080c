"""Values as JSON."""

from __future__ import annotations

from typing import Any

import pytest

from ffai.core.memory.jsontext import to_json
from ffai.errors import InvalidArgumentError


@pytest.mark.parametrize("deep", ["many lists", "itself"])
def test_what_is_nested_too_deeply_is_refused_by_name(deep: str) -> None:
    value: list[Any] = []
    if deep == "itself":
        value.append(value)
    for _ in range(100_000 if deep != "itself" else 0):
        value = [value]
    with pytest.raises(InvalidArgumentError, match="metadata contains itself or is nested too deeply"):
        to_json({"x": value}, "metadata")
