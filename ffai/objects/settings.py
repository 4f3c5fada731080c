"""How a store works, where a class does not say otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ffai.core.arguments import check_flag, check_whole, from_keywords
from ffai.errors import InvalidArgumentError
from ffai.objects.declaration import Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """The settings of a store: the section ``objects`` of the configuration.

    Examples:
        >>> StoreSettings(storage="native").storage
        'native'
    """

    provider: Provider = "auto"
    """Where vectors come from; see `Provider`."""
    embedding_model: str | None = None
    """The model that embeds, such as ``local/all-MiniLM-L6-v2``; ``None`` takes what the provider has."""
    dimensions: int | None = None
    """The size of the vectors, in numbers, where a provider's model offers several; ``None`` takes its usual one."""
    allow_api: bool = True
    """Whether texts may be sent to a provider, where no model is named."""
    storage: Literal["process", "native"] = "process"
    """What compares vectors: this process, or the database (sqlite-vec, pgvector)."""
    auto_generate: bool = True
    """Whether a change of an embedded text is embedded by itself."""
    generate: Literal["background", "commit"] = "background"
    """When that happens: beside the program, or before the call that commits returns."""
    batch_size: int = 32
    """Texts that go to the model at once."""
    max_data_length: int | None = 100_000
    """Characters of a record that a model is shown at the most; ``None`` for any number."""
    tool_rounds: int = 5
    """How often a model may call methods before it has to answer."""

    def __post_init__(self) -> None:
        for name, among in (
            ("provider", ("local", "ai", "auto")),
            ("storage", ("process", "native")),
            ("generate", ("background", "commit")),
        ):
            if getattr(self, name) not in among:
                told = ", ".join(map(repr, among))
                raise InvalidArgumentError(f"{name} must be one of {told}, not {getattr(self, name)!r:.80}.")
        for name in ("allow_api", "auto_generate"):
            check_flag(name, getattr(self, name))
        for name in ("batch_size", "tool_rounds"):
            check_whole(name, getattr(self, name), least=1)
        for name in ("dimensions", "max_data_length"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), least=1)


def settings_of(given: StoreSettings | Mapping[str, Any] | None) -> StoreSettings:
    """Return settings from what a caller gave: a mapping of some of them is enough.

    Raises:
        ArgumentTypeError: there is no such setting; names those that there are.

    Examples:
        >>> settings_of({"generate": "commit"}).generate
        'commit'
    """
    if isinstance(given, StoreSettings):
        return given
    return from_keywords(StoreSettings, given or {})
