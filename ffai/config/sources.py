"""Where settings are read from: YAML files, a mapping, environment variables. Nothing is checked here but the form."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource

from ffai.config.sections import SECTIONS
from ffai.errors import ArgumentTypeError, ConfigError

logger = logging.getLogger(__name__)

FILES = ("main.yaml", "clients.yaml", "model_defaults.yaml", "logging.yaml")
"""The files of a configuration folder. Where two set the same key, the earlier one wins."""

_SHARED = ("logging", "paths")
"""Sections whose variables other programs use too, such as .NET's ``Logging__LogLevel__Default``."""

_FREE = (("memory", "store_config"), ("model_defaults", "generic"), ("model_defaults", "models"))
"""Settings whose values may have any type."""

_Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Layer:
    """Settings from one place, or from several laid over each other."""

    values: _Values = field(default_factory=dict)
    """Section name to its settings, as nested dicts."""
    origins: dict[str, str] = field(default_factory=dict)
    """Dotted key to where it was said."""

    def over(self, base: Layer) -> Layer:
        """Lay this over ``base``, key by key."""
        return Layer(_merged(base.values, self.values), {**base.origins, **self.origins})

    def origin(self, key: str) -> str:
        """Return where a setting, the mapping it lies in, or a part of it was said; else ``"default"``."""
        parts = key.split(".")
        for end in range(len(parts), 0, -1):
            if (said := self.origins.get(".".join(parts[:end]))) is not None:
                return said
        return next((said for inner, said in self.origins.items() if inner.startswith(key + ".")), "default")


class SectionVariables(EnvSettingsSource):
    """Variables such as ``MEMORY__ENABLED``; one that is only a section's name, such as ``MEMORY``, is never read."""

    def __call__(self) -> _Values:
        """Return section name to its settings, as nested dicts."""
        values = super().__call__()
        for name in _SHARED:
            if name in values:
                known = SECTIONS[name].model_fields
                values[name] = {key: value for key, value in values[name].items() if key in known}
        for name, setting in _FREE:
            if setting in values.get(name, {}):
                values[name][setting] = _typed(values[name][setting])
        return values

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002
        """Return nothing: what a section's own name holds is another program's."""
        return None, field_name, True

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        """Decode JSON; other text is left for the check of the types, which knows the variable's name."""
        try:
            return super().decode_complex_value(field_name, field, value)
        except ValueError:
            return value


def from_environment(settings: type[BaseSettings]) -> Layer:
    """Read the variables of all sections. An empty variable counts as not set."""
    values = SectionVariables(settings)()
    leaves = list(_leaves(values))
    origins: dict[str, str] = {}
    for name, text in os.environ.items():
        key = name.lower().replace("__", ".")
        if text and any(leaf == key or leaf.startswith(f"{key}.") for leaf in leaves):
            origins[key] = f"environment {name}"
    return Layer(values, origins)


def _typed(value: Any) -> Any:
    """Read numbers and the like where any type is allowed: a provider refuses ``temperature="0.5"``."""
    if isinstance(value, dict):
        return {key: _typed(inner) for key, inner in value.items()}
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def from_given(source: Mapping[str, Any] | str | os.PathLike[str] | None) -> Layer:
    """Read what ``config=`` was given, else what ``FFAI_CONFIG`` names, else ``./config``.

    Raises:
        ArgumentTypeError: ``source`` is none of these types.
        ConfigError: a file can't be found or read, or is not a mapping of sections.
    """
    if isinstance(source, Mapping):
        return _layer(source, "config=")
    if isinstance(source, str | os.PathLike):
        return _from_named(Path(source), "config=")
    if source is not None:
        raise ArgumentTypeError(f"config is a Config, a mapping or a path, not {source!r}")
    if named := os.environ.get("FFAI_CONFIG", "").strip():
        return _from_named(Path(named), "environment FFAI_CONFIG")
    return _from_folder(Path("config"), named=False)


def _from_named(path: Path, said: str) -> Layer:
    path = path.expanduser()
    if not path.exists():
        raise ConfigError(said, str(path), "there is no such file or folder")
    if not path.is_dir():
        return _from_file(path, named=True)
    if not any((path / name).is_file() for name in FILES):
        raise ConfigError(said, str(path), f"the folder holds none of {', '.join(FILES)}")
    return _from_folder(path, named=True)


def _from_folder(folder: Path, *, named: bool) -> Layer:
    layer = Layer()
    for name in FILES:
        if os.path.isfile(folder / name):  # False, too, for a folder that may not be entered
            layer = layer.over(_from_file(folder / name, named=named))
    return layer


def _from_file(path: Path, *, named: bool) -> Layer:
    """Read one file. What was found and not named, and has not our form, is another program's and ignored."""
    content = _parsed(path)
    if content is None:
        return Layer()
    if not isinstance(content, dict):
        if named:
            raise ConfigError(
                str(path), "top level", f"is a {type(content).__name__}; expected sections like 'memory:'"
            )
        logger.debug("Ignored %s: a %s, not sections of settings", path, type(content).__name__)
        return Layer()
    if not named:
        for name in SECTIONS:
            if not isinstance(content.get(name, {}), dict | None):
                logger.warning(
                    "Ignored %r in %s: it is %r, and a section of ffai is a mapping of settings. If the file is "
                    "another program's, pass config= or set FFAI_CONFIG.",
                    name,
                    path,
                    content.pop(name),
                )
    return _layer(content, str(path))


def _parsed(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text("utf-8-sig"))
    except OSError as error:
        raise ConfigError(str(path), "file", f"can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), f"byte {error.start}", "is not UTF-8 text") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2024-13-01
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else "file"
        problem = getattr(error, "problem", None) or str(error)
        hint = "If the file is another program's, pass config= or set FFAI_CONFIG."
        raise ConfigError(str(path), where, f"is not YAML: {problem}. {hint}") from error


def _layer(content: Mapping[Any, Any], said: str) -> Layer:
    values: _Values = {}
    for name, section in content.items():
        if name in SECTIONS:
            values[name] = _plain(section, said, str(name))
        elif near := get_close_matches(str(name), SECTIONS, n=1, cutoff=0.8):
            logger.warning("Ignored %r in %s: not a section of ffai. Did you mean %r?", name, said, near[0])
    return Layer(values, dict.fromkeys(_leaves(values), said))


def _plain(section: Any, said: str, name: str) -> _Values:
    """Return a section as a dict of its own."""
    if section is None:
        return {}
    if isinstance(section, BaseModel):
        return section.model_dump(exclude_unset=True)
    if isinstance(section, Mapping):
        return _merged({}, section)
    raise ConfigError(said, name, f"got {section!r}; expected a mapping of settings")


def _merged(base: Mapping[Any, Any], top: Mapping[Any, Any]) -> dict[Any, Any]:
    merged = {**base}
    for key, value in top.items():
        if isinstance(value, Mapping):
            below = merged.get(key)
            merged[key] = _merged(below if isinstance(below, Mapping) else {}, value)
        else:
            merged[key] = value
    return merged


def _leaves(values: Mapping[Any, Any], prefix: str = "") -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"
