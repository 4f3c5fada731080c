"""The configuration as one value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from ffai.config.sections import (
    SECTIONS,
    ClientSettings,
    ClientTypeSettings,
    HistorySettings,
    LoggingSettings,
    MemorySettings,
    ModelDefaultSettings,
    ObjectSettings,
    PathSettings,
    RetrySettings,
)
from ffai.config.sources import Layer, SectionVariables, from_environment, from_given
from ffai.errors import ConfigError

if TYPE_CHECKING:
    from ffai.clients import LiteLLMClient

Source = Mapping[str, Any] | str | os.PathLike[str] | None
"""What a configuration can be made of: a mapping, the path of a file or folder, or the usual places."""


class Config(BaseSettings):
    """All settings. A value: it can't be changed, and nothing is remembered between two of them.

    ``Config(memory=...)`` takes sections as keywords, environment variables fill in the rest.
    ``load`` reads files too, and is what ``FFAI`` uses.

    Examples:
        >>> Config.load({"memory": {"enabled": True}}).memory.enabled
        True
    """

    model_config = SettingsConfigDict(
        frozen=True,
        extra="ignore",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        env_parse_none_str="null",
        protected_namespaces=(),
    )

    memory: MemorySettings = Field(default_factory=MemorySettings)
    history: HistorySettings = Field(default_factory=HistorySettings)
    objects: ObjectSettings = Field(default_factory=ObjectSettings)
    paths: PathSettings = Field(default_factory=PathSettings)
    retry: RetrySettings = Field(default_factory=RetrySettings)
    clients: ClientSettings = Field(default_factory=ClientSettings)
    model_defaults: ModelDefaultSettings = Field(default_factory=ModelDefaultSettings)
    logging: LoggingSettings = Field(default_factory=LoggingSettings)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Say what the constructor reads: its keywords, then the variables of the sections."""
        del env_settings, dotenv_settings, file_secret_settings
        return init_settings, SectionVariables(settings_cls)

    @classmethod
    def load(cls, source: Config | Source = None) -> Config:
        """Read the configuration: environment over what is given or found, over the defaults, key by key.

        Args:
            source: a configuration, which is returned as it is; a mapping of sections; the path of a YAML file, or
                of a folder with ``main.yaml`` and its siblings; ``None`` for what ``FFAI_CONFIG`` names, else
                ``./config``, else the defaults.

        Raises:
            ArgumentTypeError: ``source`` is none of these.
            ConfigError: a file can't be read, a setting is unknown, or a value has a wrong type; names the file or
                the variable, the key, and what was expected.
        """
        return source if isinstance(source, Config) else checked(layered(source))

    def with_values(self, **sections: Mapping[str, Any]) -> Config:
        """Return a configuration with some settings replaced; a value of ``None`` leaves the setting as it is.

        Raises:
            ConfigError: a section or setting is unknown, or a value has a wrong type.

        Examples:
            >>> config = Config().with_values(memory={"enabled": True, "persist": None}, paths={"ffai_data": "data"})
            >>> config.memory.enabled, config.memory.persist, config.paths.ffai_data
            (True, False, 'data')
        """
        if unknown := sorted(sections.keys() - SECTIONS.keys()):
            raise ConfigError("keyword", unknown[0], f"is not a section. Known: {', '.join(SECTIONS)}.")
        given = {
            name: {key: value for key, value in values.items() if value is not None}
            for name, values in sections.items()
        }
        origins = {f"{name}.{key}": "keyword" for name, values in given.items() for key in values}
        return checked(Layer(given, origins).over(Layer(self.model_dump())))

    def client(self, name: str | None = None) -> LiteLLMClient:
        """Make the chat client that an entry of ``clients.client_types`` describes.

        It tries again as section ``retry`` says, and sends the arguments of ``model_defaults`` with each call.

        Args:
            name: the entry; ``None`` takes ``clients.default_client``.

        Raises:
            ConfigError: there is no such entry.
            InvalidArgumentError: the entry has no model, or names a variable for its key that is not set.

        Examples:
            >>> small = {"provider_prefix": "mistral", "default_model": "mistral-small-latest"}
            >>> config = Config(clients=ClientSettings(client_types={"small": small}, default_client="small"))
            >>> config.client().model_string
            'mistral/mistral-small-latest'
        """
        from ffai.clients import build_client

        entries = self.clients.client_types
        chosen = name if name is not None else self.clients.default_client
        if chosen is None or chosen not in entries:
            raise ConfigError("clients", "client_types", f"has no entry {chosen!r}. Known: {sorted(entries)}.")
        entry = entries[chosen]
        fallbacks = [_described(entries[other]) if other in entries else other for other in entry.fallbacks]
        options = {**self.model_defaults.arguments(entry.model), **_described(entry)}
        made: LiteLLMClient = build_client(**options, fallbacks=fallbacks, retry=self.retry.model_dump())
        return made


def _described(entry: ClientTypeSettings) -> dict[str, Any]:
    """Say an entry in the words of ``build_client``."""
    return {"model": entry.model, "api_key_env": entry.api_key_env, "api_base": entry.api_base}


def layered(source: Source) -> Layer:
    """Lay the environment over what is given or found. Values are not checked yet."""
    return from_environment(Config).over(from_given(source))


def checked(layer: Layer) -> Config:
    """Turn what was read into a configuration.

    Raises:
        ConfigError: the first wrong setting, with its origin.
    """
    sections: dict[str, Any] = {}
    for name, model in SECTIONS.items():
        try:
            sections[name] = model.model_validate(layer.values.get(name, {}))
        except ValidationError as error:
            raise _first_error(error.errors(include_url=False)[0], name, model, layer) from error
    return Config(**sections)


_EXPECTED = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "invalid_key": "text as a name",
    "model_type": "a mapping of settings",
    "string_too_short": "text that is not empty",
    "string_type": "text",
    "too_short": "text that is not empty",
    "tuple_type": "a list; in a variable as JSON, such as [429, 503]",
}
"""What pydantic says about a wrong type, in the words of somebody who edits a file."""


def _first_error(error: ErrorDetails, section: str, model: type[BaseModel], layer: Layer) -> ConfigError:
    path = [section, *map(str, error["loc"])]
    key = ".".join(path)
    if error["type"] == "extra_forbidden":
        known = ClientTypeSettings.model_fields if len(path) > 2 else model.model_fields
        near = get_close_matches(path[-1], known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."
        return ConfigError(layer.origin(key), key, f"is not a setting. {hint}")
    said = error["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    expected = f"expected {_EXPECTED.get(error['type'], said)}"
    of_the_whole_section = error["type"] == "value_error" and not error["loc"]
    return ConfigError(layer.origin(key), key, expected if of_the_whole_section else f"got {_short(error)}; {expected}")


def _short(error: ErrorDetails) -> str:
    text = repr(error["input"])
    return text if len(text) <= 80 else f"{text[:77]}..."
