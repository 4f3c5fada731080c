"""The classes whose records a store looks after, and what embeds them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ffai.objects.declaration import declared_of
from ffai.objects.record_texts import topmost

if TYPE_CHECKING:
    from ffai.core.embeddings.protocol import Embedder


@dataclass(frozen=True, slots=True)
class Handled:
    """A class whose records are embedded."""

    kind: type[Any]
    """The class itself; with subclasses the highest one that is filed under the same name."""
    embedder: Embedder


class Kinds:
    """Knows the classes that are looked after.

    Args:
        classes: gives all of them, each time it is asked: more may have been defined.
        embedder: gives what embeds the records of a class.
        auto_generate: whether changes are embedded by themselves, where a class does not say.
    """

    def __init__(
        self,
        classes: Callable[[], Iterable[type[Any]]],
        embedder: Callable[[type[Any]], Embedder],
        *,
        auto_generate: bool = True,
    ) -> None:
        self._classes, self._embedder, self._auto_generate = classes, embedder, auto_generate
        self._known: set[type[Any]] = set()

    def watches(self, kind: type[Any]) -> bool:
        """Tell whether records of a class are looked after."""
        if kind not in self._known:
            self._known = set(self._classes())
        return kind in self._known

    def generates(self, kind: type[Any]) -> bool:
        """Tell whether changes of a class's records are embedded by themselves."""
        embedded = declared_of(kind).ai.embedded
        if embedded is None:
            return False
        return self._auto_generate if embedded.auto_generate is None else embedded.auto_generate

    def embedded(self) -> dict[str, Handled]:
        """Return the classes whose records are embedded, by what they are filed under."""
        found: dict[str, Handled] = {}
        for kind in self._classes():
            declared = declared_of(kind)
            if declared.ai.embedded is not None and declared.owner_type not in found:
                found[declared.owner_type] = Handled(topmost(kind), self._embedder(kind))
        return found
