"""Telling where each setting comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from ffai.config.settings import Source, checked, layered


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as it is in force."""

    key: str
    """Dotted, such as ``memory.persist``."""
    value: Any
    origin: str
    """``"environment MEMORY__PERSIST"``, the path of a file, ``"config="``, or ``"default"``."""


def explain(source: Source = None) -> list[Setting]:
    """List every setting with its value and where it comes from, as ``Config.load(source)`` reads it.

    Raises:
        ConfigError: as ``Config.load`` does.

    Examples:
        >>> next(setting.origin for setting in explain({"memory": {"enabled": True}}))
        'config='
    """
    layer = layered(source)
    return [Setting(key, value, layer.origin(key)) for key, value in _leaves(checked(layer))]


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Walk through sections, and through dicts whose values are sections."""
    inner = value if isinstance(value, BaseModel) else value.items()
    for name, child in inner:
        if isinstance(child, BaseModel) or (isinstance(child, dict) and _holds_models(child)):
            yield from _leaves(child, f"{key}{name}.")
        else:
            yield f"{key}{name}", child


def _holds_models(values: dict[str, Any]) -> bool:
    return bool(values) and all(isinstance(value, BaseModel) for value in values.values())
