"""The parts of a store, whether its engine waits or is awaited: what is told to all, and what each class needs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from ffai._fork import held_over_forks
from ffai.errors import ArgumentTypeError
from ffai.objects.asker import Asker
from ffai.objects.backends import backend_of
from ffai.objects.declaration import Declared, Provider, declared_of, registered
from ffai.objects.generation import Generation
from ffai.objects.providers import embedder_for
from ffai.objects.search import VectorSearch
from ffai.objects.settings import StoreSettings, settings_of
from ffai.objects.tenancy import Tenancy

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from ffai.core.embeddings.protocol import Embedder


class Wiring:
    """What a `Store` and an `AsyncStore` are made of.

    Attributes:
        settings: see `StoreSettings`.
        tenancy: what can be seen now.
        asker: asks the model.
        backend: keeps and compares vectors.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        llm: Any = None,
        embedder: Embedder | None = None,
        scope: Mapping[type[Any], Callable[[], Any]] | None = None,
        settings: StoreSettings | Mapping[str, Any] | None = None,
        cache: MutableMapping[str, Any] | None = None,
    ) -> None:
        if embedder is not None and not callable(getattr(embedder, "embed", None)):
            raise ArgumentTypeError(f"embedder must have a method embed(texts); {embedder!r:.100} has none.")
        self.settings = settings_of(settings)
        self.tenancy = Tenancy(scope)
        self.asker = Asker(
            llm, max_data_length=self.settings.max_data_length, tool_rounds=self.settings.tool_rounds, cache=cache
        )
        self.backend = backend_of(engine, self.settings.storage)
        self._llm, self._embedder = llm, embedder
        self._choosing = held_over_forks(threading.Lock())
        self._chosen: dict[Provider, Embedder] = {}
        self._seen: dict[str, type[Any]] = {}

    def see(self, kind: type[Any]) -> Declared:
        """Note a class whose records belong to the store, and return what it declares.

        Raises:
            ArgumentTypeError: it is not a mapped class.
        """
        declared = declared_of(kind)
        base = declared.base
        self._seen.setdefault(declared.owner_type, base)
        return declared

    def kind_of(self, owner_type: str) -> type[Any] | None:
        """Return the class that records are filed under; ``None`` where it is not known, or more than one could be."""
        if owner_type in self._seen:
            return self._seen[owner_type]
        found = {declared_of(kind).base for kind in registered() if declared_of(kind).owner_type == owner_type}
        return found.pop() if len(found) == 1 else None

    def embeds_by_itself(self, kind: type[Any]) -> bool:
        """Tell whether changes of a class are embedded without being asked for."""
        embedded = declared_of(kind).ai.embedded
        if embedded is None:
            return False
        return self.settings.auto_generate if embedded.auto_generate is None else embedded.auto_generate

    def embedder(self, kind: type[Any]) -> Embedder:
        """Return what embeds the texts of a class; the same one for as long as the store is there."""
        if self._embedder is not None:
            return self._embedder
        embedded = declared_of(kind).ai.embedded
        provider = (embedded.provider if embedded is not None else None) or self.settings.provider
        with self._choosing:
            if provider not in self._chosen:
                self._chosen[provider] = embedder_for(provider, self.settings, self._llm)
            return self._chosen[provider]

    def search(self, kind: type[Any]) -> VectorSearch[Any]:
        """Return what searches among the records of a class."""
        return VectorSearch(kind, self.embedder(kind), self.backend, self.tenancy)

    def generation(self, kind: type[Any]) -> Generation:
        """Return what embeds the records of a class."""
        return Generation(kind, self.embedder(kind), self.backend.tables, self.tenancy)
