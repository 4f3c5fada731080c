"""Looking up by meaning and along the edges of a graph at once, with citations."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ffai.chat.flow import Failed, Flow
from ffai.core.arguments import check_flag, check_ids, check_whole
from ffai.core.memory.halving import told
from ffai.core.memory.known import Known
from ffai.core.memory.retrieving import NOTHING
from ffai.errors import InvalidArgumentError
from ffai.rag.ask_options import ContextOptions
from ffai.rag.backing import Backing
from ffai.rag.context import Piece, cited, fitted, kind_of, piece_of_known, pieces_of
from ffai.rag.entry import Source
from ffai.rag.step import Step, is_the_callers, taken
from ffai.rag.tokens import count_tokens

logger = logging.getLogger(__name__)
MOST_HOPS = 3


@dataclass(frozen=True, slots=True)
class HybridContext:
    """What was found, as lines that each begin with what they are cited by.

    Examples:
        >>> str(HybridContext("[wiki] The checklist is there."))
        '[wiki] The checklist is there.'
    """

    text: str = ""
    citations: tuple[Source, ...] = ()
    """One for each line of the text, in its order; those that were found along edges have no score."""
    left_out: tuple[Source, ...] = ()
    """What did not fit into the budget, best first."""
    error: str | None = None
    """Why the edges alone were looked at; ``None`` where the search by meaning worked."""

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeds:
    """Where the way along the edges begins.

    Raises:
        InvalidArgumentError, ArgumentTypeError: an argument can't be used; names it.
    """

    ids: Iterable[str] = ()
    """Ids of nodes."""
    auto: bool = True
    """Whether the nodes that are found by meaning are seeds too."""
    max_hops: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.ids, Iterator):  # it is gone through once to be checked, and once more for its order
            object.__setattr__(self, "ids", tuple(self.ids))
        check_ids("seed_node_ids", self.ids)
        check_flag("auto_seed", self.auto)
        if check_whole("max_hops", self.max_hops, least=1) > MOST_HOPS:
            raise InvalidArgumentError(f"max_hops must be from 1 to {MOST_HOPS}, not {self.max_hops!r}.")

    @property
    def nodes(self) -> list[str]:
        """The ids, each once, in their order."""
        return [self.ids] if isinstance(self.ids, str) else list(dict.fromkeys(self.ids))


def hybrid(backing: Backing, query: str, options: ContextOptions, seeds: Seeds) -> Flow[Step, HybridContext]:
    """Look up by meaning and along edges; see :meth:`AgentMemory.build_hybrid_context`."""
    outcome: Any = yield backing.retrieving(query, options, options.scope, with_graph=True)
    error = None
    if isinstance(outcome, Failed):
        if is_the_callers(outcome.error) or not seeds.nodes:
            raise outcome.error
        logger.warning("Nothing can be looked up by meaning just now; the edges alone are: %s", told(outcome.error))
        error, outcome = told(outcome.error), NOTHING
    pieces = pieces_of(outcome, options.limits, kinds=("kb", "capsule", "node", "edge"))
    starts = [*seeds.nodes, *(_nodes(pieces) if seeds.auto else ())]
    if starts and backing.memory is not None:
        known = taken((yield Step(
            partial(backing.knowledge.list, scope=options.scope), partial(backing.knowledge.alist, scope=options.scope)
        )))  # fmt: skip
        pieces += [piece_of_known(edge, options.limits) for edge in edges_from(known, starts, seeds.max_hops)]
    pieces = _each_once(pieces)
    make = partial(fitted, pieces, options.limits, partial(count_tokens, model=backing.model_of(None)), lines=cited)
    context = taken((yield Step(make, partial(asyncio.to_thread, make))))
    backing.note(context.text, context.sources, options.scope)
    return HybridContext(context.text, context.sources, context.left_out, error)


def edges_from(known: Sequence[Known], seeds: Sequence[str], hops: int = 1) -> list[Known]:
    """Return the edges that touch a node, and then those that touch what these lead to.

    Args:
        known: all knowledge.
        seeds: ids of the nodes to begin with.
        hops: how far to go.

    Returns:
        Each edge once: those of the first seed first.
    """
    edges = [entry for entry in known if kind_of(entry.value) == "edge"]
    touching: dict[str, list[Known]] = {}
    for edge in edges:
        for end in {str(edge.value.get("from")), str(edge.value.get("to"))}:
            touching.setdefault(end, []).append(edge)
    found: dict[str, Known] = {}
    frontier, seen = list(dict.fromkeys(seeds)), set(seeds)
    for _ in range(hops):
        reached: list[str] = []
        for node in frontier:
            for edge in touching.get(node, ()):
                found.setdefault(edge.key, edge)
                reached += [str(edge.value.get(end)) for end in ("from", "to")]
        frontier = [node for node in dict.fromkeys(reached) if node not in seen]
        seen |= set(frontier)
    return list(found.values())


def _each_once(pieces: Iterable[Piece]) -> list[Piece]:
    """Drop what stands further in front already. The same key may have another text in another scope."""
    first: dict[tuple[str, str, str], Piece] = {}
    for piece in pieces:
        first.setdefault((piece.source.kind, piece.source.id, piece.source.excerpt), piece)
    return list(first.values())


def _nodes(pieces: Sequence[Piece]) -> list[str]:
    return [piece.source.id for piece in pieces if piece.source.kind == "node"]
