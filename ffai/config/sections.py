"""The sections of the configuration: what can be set, its default, and a sentence about it."""

from __future__ import annotations

import os
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator


def _no_bool(value: object) -> object:
    if isinstance(value, bool):  # pydantic would take true for 1
        raise ValueError("a number, not true or false")
    return value


def _path_text(value: object) -> object:
    return os.path.expanduser(os.fspath(value)) if isinstance(value, str | os.PathLike) else value


def _plain_name(value: str) -> str:
    plain = re.fullmatch(r'[^\x00-\x1f\x7f\ud800-\udfff/\\:*?"<>|]+', value)
    if not plain or len(value.encode()) > 200 or value.startswith(".") or value != value.strip():
        raise ValueError("a plain file name: no folder, no leading dot, no space around it, at most 200 bytes")
    return value


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def _seconds_of(value: object) -> object:
    """Read a time such as ``30d``; numbers are seconds."""
    if not isinstance(value, str):
        return _no_bool(value)
    told = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([smhdw]?)", value.strip())
    if told is None:
        raise ValueError("seconds, or a number with a unit: s, m, h, d or w, such as 30d")
    return float(told[1]) * _UNITS[told[2] or "s"]


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


Whole = Annotated[int, BeforeValidator(_no_bool)]
Seconds = Annotated[float, BeforeValidator(_no_bool), Field(ge=0, allow_inf_nan=False)]
PathText = Annotated[str, BeforeValidator(_path_text), Field(min_length=1)]
Duration = Annotated[float, BeforeValidator(_seconds_of), Field(gt=0, allow_inf_nan=False)]
FileName = Annotated[str, AfterValidator(_plain_name)]


class Section(BaseModel):
    """What all sections share: they can't be changed, and take no setting that they don't know."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class MemorySettings(Section):
    """Section ``memory``: whether and how turns become searchable memory.

    Examples:
        >>> MemorySettings(enabled=True).persist_dir
        './ffai_data/memory'
    """

    enabled: bool = False
    """Whether finished turns are embedded and can be searched."""
    embedding_model: str | None = Field(default=None, min_length=1)
    """The model that embeds, such as `local/all-MiniLM-L6-v2`; null takes the first one available."""
    store_backend: Literal["memory"] = "memory"
    """The engine that searches; `memory` is the exact search inside this process."""
    store_config: dict[str, Any] = Field(default_factory=dict)
    """Arguments of the engine; the one inside this process takes none."""
    persist_dir: PathText = "./ffai_data/memory"
    """The folder of the memory file; a relative one starts at the current folder."""
    collection_name: FileName = "ffai_turns"
    """The name of the memory file, without its ending."""
    persist: bool = False
    """Whether memory is kept on disk; false writes nothing anywhere."""
    allow_api: bool = True
    """Whether a paid embedding API may be taken when no local model can be loaded."""
    redact: bool = False
    """Whether secrets, such as keys and passwords, are replaced before a turn is kept, embedded or exported."""
    durability: Literal["process", "power"] = "process"
    """What an accepted turn survives: the end of the `process`, or a loss of `power` (one disk sync each turn)."""
    on_model_change: Literal["reindex", "error"] = "reindex"
    """What happens to stored turns that another model has embedded: `reindex` embeds them again, `error` refuses."""
    ttl: Duration | None = None
    """How long a turn is remembered: seconds, or a text such as `12h` or `30d`; null keeps it for ever."""


class HistorySettings(Section):
    """Section ``history``: what the histories keep.

    Examples:
        >>> HistorySettings().max_turns is None
        True
    """

    max_turns: Whole | None = Field(default=None, ge=1)
    """How many turns the histories keep in memory, the newest; null keeps all."""


class PathSettings(Section):
    """Section ``paths``: where files go.

    Examples:
        >>> PathSettings().ffai_data
        './ffai_data'
    """

    ffai_data: PathText = "./ffai_data"
    """The folder for exported histories; it is made when something is written."""


class RetrySettings(Section):
    """Section ``retry``: what happens when a provider answers with a passing error.

    Examples:
        >>> RetrySettings(max_attempts=1).retry_on_status_codes
        (408, 429, 500, 502, 503, 504, 529)
    """

    max_attempts: Whole = Field(default=3, ge=1)
    """How often a call is tried in all; 1 never tries again."""
    min_wait_seconds: Seconds = 1.0
    """The wait before the second try, in seconds."""
    max_wait_seconds: Seconds = 60.0
    """The longest wait between two tries, in seconds."""
    exponential_base: Annotated[float, BeforeValidator(_no_bool)] = Field(default=2.0, ge=1, allow_inf_nan=False)
    """What each wait is multiplied by to get the next."""
    exponential_jitter: bool = True
    """Whether waits are varied by chance, so that many clients don't come back together."""
    retry_on_status_codes: tuple[Annotated[Whole, Field(ge=100, le=599)], ...] = (408, 429, 500, 502, 503, 504, 529)
    """The HTTP status codes that are worth another try."""

    @model_validator(mode="after")
    def _ordered(self) -> RetrySettings:
        if self.min_wait_seconds > self.max_wait_seconds:
            raise ValueError(
                f"min_wait_seconds of at most max_wait_seconds, not {self.min_wait_seconds} and {self.max_wait_seconds}"
            )
        return self


class ClientTypeSettings(Section):
    """One entry of ``clients.client_types``: a chat model under a name of your own.

    Examples:
        >>> ClientTypeSettings(provider_prefix="mistral", default_model="mistral-small-latest").model
        'mistral/mistral-small-latest'
    """

    provider_prefix: str = ""
    """The provider, as LiteLLM names it, such as `mistral/`; empty where the model's name begins with it."""
    default_model: str = ""
    """The model's name at its provider."""
    api_key_env: str = ""
    """The environment variable that holds the key; empty takes the provider's usual one."""
    api_base: str = ""
    """The address of the server; empty takes the provider's own."""
    fallbacks: tuple[str, ...] = ()
    """What to try, in order, when this one fails: models, or names of other entries, each with its own key."""

    @property
    def model(self) -> str:
        """The name that LiteLLM knows the model by."""
        provider = self.provider_prefix.removesuffix("/")
        named = not provider or self.default_model.startswith(f"{provider}/")
        return self.default_model if named else f"{provider}/{self.default_model}"


class ClientSettings(Section):
    """Section ``clients``: chat models under names of your own.

    Examples:
        >>> ClientSettings(client_types={"small": {"default_model": "mistral/mistral-small-latest"}}).client_types
        {'small': ClientTypeSettings(... default_model='mistral/mistral-small-latest', ...)}
    """

    default_client: str | None = None
    """The entry of client_types that is taken when none is named."""
    client_types: dict[str, ClientTypeSettings] = Field(default_factory=dict)
    """Your chat models: a name, and for each provider_prefix, default_model, api_key_env, api_base, fallbacks."""

    @model_validator(mode="after")
    def _default_is_known(self) -> ClientSettings:
        if self.default_client is not None and self.default_client not in self.client_types:
            raise ValueError(
                f"a default_client that is in client_types, not {self.default_client!r}; "
                f"known: {sorted(self.client_types)}"
            )
        return self


class ModelDefaultSettings(Section):
    """Section ``model_defaults``: arguments of chat calls that need not be repeated in code.

    Examples:
        >>> defaults = ModelDefaultSettings(generic={"temperature": 0.7}, models={"openai/o3": {"temperature": 1}})
        >>> defaults.arguments("openai/o3"), defaults.arguments("mistral/mistral-small-latest")
        ({'temperature': 1}, {'temperature': 0.7})
    """

    generic: dict[str, Any] = Field(default_factory=dict)
    """Arguments sent with each call, such as `temperature` and `max_tokens`."""
    models: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Arguments for one model, by its name; they win over the generic ones."""

    def arguments(self, model: str) -> dict[str, Any]:
        """Return what a call of this model gets, unless the caller says otherwise."""
        return {**self.generic, **self.models.get(model, {})}


class LoggingSettings(Section):
    """Section ``logging``: what the ``ffai`` command logs. The library itself sets up no logging.

    Examples:
        >>> LoggingSettings(level="debug").level
        'DEBUG'
    """

    level: Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], BeforeValidator(_upper)] = "WARNING"
    """The lowest level that the `ffai` command logs."""
    format: str = "%(levelname)s %(name)s: %(message)s"
    """The form of a log line, as Python's logging writes it."""
    file: PathText | None = None
    """A file that the log lines are added to; null writes them to the terminal."""


class ObjectSettings(Section):
    """Section ``objects``: how records of a database are embedded, and what a model is shown of them.

    Examples:
        >>> ObjectSettings(provider="local").storage
        'process'
    """

    provider: Literal["local", "ai", "auto"] = "auto"
    """Where vectors come from: `local`, a model on this machine; `ai`, the client or a provider; `auto`, either."""
    embedding_model: str | None = Field(default=None, min_length=1)
    """The model that embeds, such as `local/all-MiniLM-L6-v2`; null takes the one of the memory, or what there is."""
    dimensions: Whole | None = Field(default=None, ge=1)
    """The size of the vectors, where a provider's model offers several; null takes its usual one."""
    allow_api: bool = True
    """Whether texts may be sent to a provider when no local model can be loaded."""
    storage: Literal["process", "native"] = "process"
    """What compares vectors: this `process`, or the database with sqlite-vec or pgvector, `native`."""
    auto_generate: bool = True
    """Whether a change of an embedded text is embedded by itself; a class can say otherwise."""
    generate: Literal["background", "commit"] = "background"
    """When that happens: in the `background`, or before the call that commits returns, `commit`."""
    batch_size: Whole = Field(default=32, ge=1)
    """Texts that go to the embedding model at once."""
    max_data_length: Whole | None = Field(default=100_000, ge=1)
    """Characters of a record that a model is shown at the most; null for any number."""
    tool_rounds: Whole = Field(default=5, ge=1)
    """How often a model may call methods of a record before it has to answer."""


SECTIONS: dict[str, type[Section]] = {
    "memory": MemorySettings,
    "history": HistorySettings,
    "objects": ObjectSettings,
    "paths": PathSettings,
    "retry": RetrySettings,
    "clients": ClientSettings,
    "model_defaults": ModelDefaultSettings,
    "logging": LoggingSettings,
}
"""Every section, by the name it has in a file."""
