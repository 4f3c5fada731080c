"""The classes whose records a store looks after, and what embeds them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ffai.objects.declaration import declared_of, is_registered, mapper_of, registered
from ffai.objects.vectors.record_texts import topmost

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


class StoreKinds(Kinds):
    """The classes of a store: those it has met, and others of the mixin whose records nobody else's are filed with.

    Two classes of one process may have tables of the same name, in two databases. A store that finds a job knows which
    one is meant when it has met that class, in a session or by name.
    """

    def __init__(self, embedder: Callable[[type[Any]], Embedder], *, auto_generate: bool = True) -> None:
        super().__init__(self._all, embedder, auto_generate=auto_generate)
        self._met: dict[str, type[Any]] = {}

    def meet(self, kind: type[Any]) -> None:
        """Note a class whose records are in the store."""
        self._met.setdefault(declared_of(kind).owner_type, topmost(kind))

    def watches(self, kind: type[Any]) -> bool:
        """Tell whether records of a class are looked after; one with the mixin is met thereby."""
        if is_registered(kind):
            self.meet(kind)
            return True
        return kind in self._met.values()

    def _all(self) -> list[type[Any]]:
        others: dict[str, set[type[Any]]] = {}
        for kind in registered():
            owner_type = declared_of(kind).owner_type
            if owner_type not in self._met:
                others.setdefault(owner_type, set()).add(topmost(kind))
        alone = [kind for kinds in others.values() if len(kinds) == 1 for kind in kinds]
        met = [kind for top in self._met.values() for kind in (top, *_below(top))]
        return [*met, *(kind for top in alone for kind in (top, *_below(top)))]


def _below(top: type[Any]) -> list[type[Any]]:
    return [mapper.class_ for mapper in mapper_of(top).self_and_descendants if mapper.class_ is not top]
