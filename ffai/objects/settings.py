"""How a store works, where a class does not say otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ffai.core.arguments import check_flag, check_whole
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
        if self.max_data_length is not None:
            check_whole("max_data_length", self.max_data_length, least=1)
