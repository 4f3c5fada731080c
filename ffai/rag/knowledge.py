"""What an application teaches its memory: facts under keys, summaries, and a graph of how things belong together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from ffai.core.arguments import check_whole
from ffai.core.memory.halving import told
from ffai.core.memory.knowledge import Knowledge
from ffai.core.memory.known import Known
from ffai.core.memory.question import Mode
from ffai.core.scope_policy import Scope, scope_taken_now
from ffai.errors import InvalidArgumentError
from ffai.rag.capsule import MemoryCapsule
from ffai.rag.context import kind_of
from ffai.rag.entry import MemoryEntry, SourceKind
from ffai.rag.graph import edge_value, graph_of, node_value
from ffai.rag.window import check_minimum

logger = logging.getLogger(__name__)


class KnowledgeBase:
    """The knowledge of a memory. It is durable when it is taught, embedded in the background, and seen by scope.

    Args:
        knowledge: where it is kept.

    Examples:
        >>> from ffai import FFAI, Memory
        >>> from ffai.testing import FakeClient, FakeEmbedder
        >>> kb = FFAI(FakeClient(), memory=Memory(FakeEmbedder())).rag.kb
        >>> kb.learn("refunds", {"content": "Refunds take five working days."})
        >>> kb.search("How many days do refunds take?")[0].key
        'refunds'
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    def learn(
        self,
        key: str,
        content: str | Mapping[str, Any],
        metadata: Mapping[str, Any] | None = None,
        *,
        scope: Scope | None = None,
    ) -> None:
        """Keep something under a key; see :meth:`Knowledge.learn`."""
        self._knowledge.learn(key, content, metadata, scope=scope)

    @scope_taken_now
    async def alearn(
        self,
        key: str,
        content: str | Mapping[str, Any],
        metadata: Mapping[str, Any] | None = None,
        *,
        scope: Scope | None = None,
    ) -> None:
        """Await :meth:`learn`."""
        await self._knowledge.alearn(key, content, metadata, scope=scope)

    def get(self, key: str, *, scope: Scope | None = None) -> MemoryEntry | None:
        """Return what a key has, in this scope or the next wider one; see :meth:`Knowledge.get`."""
        known = self._knowledge.get(key, scope=scope)
        return None if known is None else _entry(known)

    @scope_taken_now
    async def aget(self, key: str, *, scope: Scope | None = None) -> MemoryEntry | None:
        """Await :meth:`get`."""
        known = await self._knowledge.aget(key, scope=scope)
        return None if known is None else _entry(known)

    def forget(self, key: str, *, scope: Scope | None = None) -> bool:
        """Forget what a key has in just this scope; tells whether there was something. See :meth:`Knowledge.forget`."""
        return self._knowledge.forget(key, scope=scope)

    @scope_taken_now
    async def aforget(self, key: str, *, scope: Scope | None = None) -> bool:
        """Await :meth:`forget`."""
        return await self._knowledge.aforget(key, scope=scope)

    def search(
        self,
        query: str,
        limit: int = 5,
        min_score: float | None = None,
        *,
        scope: Scope | None = None,
        mode: Mode = "hybrid",
    ) -> list[MemoryEntry]:
        """Find what fits a question best.

        Args:
            query: what to look for, in words.
            limit: how many at the most.
            min_score: keeps cosines of at least this; ``None`` keeps all.
            scope: whose; what is everybody's is found too.
            mode: ``"hybrid"``, ``"vector"`` or ``"keyword"``.

        Returns:
            Best first, with scores.

        Raises:
            InvalidArgumentError, ArgumentTypeError: an argument can't be used; names it.
            Exception: whatever the embedder raises.
        """
        _check_search(limit, min_score)
        return [_entry(known) for known in self._knowledge.search(query, limit, min_score, scope=scope, mode=mode)]

    @scope_taken_now
    async def asearch(
        self,
        query: str,
        limit: int = 5,
        min_score: float | None = None,
        *,
        scope: Scope | None = None,
        mode: Mode = "hybrid",
    ) -> list[MemoryEntry]:
        """Await :meth:`search`."""
        _check_search(limit, min_score)
        found = await self._knowledge.asearch(query, limit, min_score, scope=scope, mode=mode)
        return [_entry(known) for known in found]

    # Kinds

    def entries(self, *, scope: Scope | None = None) -> list[MemoryEntry]:
        """Return all that is seen, in the order in which it was first taught."""
        return [_entry(known) for known in self._knowledge.list(scope=scope)]

    @scope_taken_now
    async def aentries(self, *, scope: Scope | None = None) -> list[MemoryEntry]:
        """Await :meth:`entries`."""
        return [_entry(known) for known in await self._knowledge.alist(scope=scope)]

    def capsules(self, *, scope: Scope | None = None) -> list[MemoryCapsule]:
        """Return the summaries that are seen, in the order in which they were first made."""
        return _capsules(self.entries(scope=scope))

    @scope_taken_now
    async def acapsules(self, *, scope: Scope | None = None) -> list[MemoryCapsule]:
        """Await :meth:`capsules`."""
        return _capsules(await self.aentries(scope=scope))

    def nodes(self, *, scope: Scope | None = None) -> list[MemoryEntry]:
        """Return the nodes of the graph that are seen."""
        return _of_kind(self.entries(scope=scope), "node")

    @scope_taken_now
    async def anodes(self, *, scope: Scope | None = None) -> list[MemoryEntry]:
        """Await :meth:`nodes`."""
        return _of_kind(await self.aentries(scope=scope), "node")

    def edges(self, *, scope: Scope | None = None) -> list[MemoryEntry]:
        """Return the edges of the graph that are seen."""
        return _of_kind(self.entries(scope=scope), "edge")

    @scope_taken_now
    async def aedges(self, *, scope: Scope | None = None) -> list[MemoryEntry]:
        """Await :meth:`edges`."""
        return _of_kind(await self.aentries(scope=scope), "edge")

    # The graph

    def add_node(self, kind: str, label: str, *, scope: Scope | None = None, **more: Any) -> str:
        """Keep a node of the graph; returns its id.

        Args:
            kind: what it is, such as ``"person"``.
            label: what it is called.
            scope: whose it is; everybody's if left out.
            more: ``id``, ``summary``, ``confidence``, ``provenance`` and ``metadata``; see
                :func:`ffai.rag.graph.node_value`.

        Raises: as for :meth:`learn`.

        Examples:
            >>> from ffai import FFAI, Memory
            >>> from ffai.testing import FakeClient, FakeEmbedder
            >>> kb = FFAI(FakeClient(), memory=Memory(FakeEmbedder())).rag.kb
            >>> kb.add_node("person", "Dana Reed"), kb.add_edge("person:dana-reed", "project:apollo", "owns")
            ('person:dana-reed', 'person:dana-reed:owns:project:apollo')
        """
        return self._keep(*node_value(kind, label, **more), scope)

    @scope_taken_now
    async def aadd_node(self, kind: str, label: str, *, scope: Scope | None = None, **more: Any) -> str:
        """Await :meth:`add_node`."""
        return await asyncio.to_thread(self.add_node, kind, label, scope=scope, **more)

    def add_edge(self, from_id: str, to_id: str, relation: str, *, scope: Scope | None = None, **more: Any) -> str:
        """Keep an edge of the graph; returns its id.

        Args:
            from_id: the id of a node.
            to_id: the id of another one.
            relation: how the first belongs to the second.
            scope: whose it is; everybody's if left out.
            more: ``id``, ``weight``, ``confidence``, ``provenance`` and ``metadata``; see
                :func:`ffai.rag.graph.edge_value`.

        Raises: as for :meth:`learn`.
        """
        return self._keep(*edge_value(from_id, to_id, relation, **more), scope)

    @scope_taken_now
    async def aadd_edge(
        self, from_id: str, to_id: str, relation: str, *, scope: Scope | None = None, **more: Any
    ) -> str:
        """Await :meth:`add_edge`."""
        return await asyncio.to_thread(self.add_edge, from_id, to_id, relation, scope=scope, **more)

    def add_graph(
        self,
        nodes: Sequence[Mapping[str, Any]] = (),
        edges: Sequence[Mapping[str, Any]] = (),
        *,
        scope: Scope | None = None,
    ) -> list[str]:
        """Keep nodes and edges as a model may have extracted them; returns their ids.

        All of them are checked first; see :func:`ffai.rag.graph.graph_of`.

        Raises: as for :meth:`learn`.
        """
        return [self._keep(key, value, scope) for key, value in graph_of(nodes, edges)]

    @scope_taken_now
    async def aadd_graph(
        self,
        nodes: Sequence[Mapping[str, Any]] = (),
        edges: Sequence[Mapping[str, Any]] = (),
        *,
        scope: Scope | None = None,
    ) -> list[str]:
        """Await :meth:`add_graph`."""
        return await asyncio.to_thread(self.add_graph, nodes, edges, scope=scope)

    def _keep(self, key: str, value: Mapping[str, Any], scope: Scope | None) -> str:
        self._knowledge.learn(key, value, scope=scope)
        return str(value["id"])


def _check_search(limit: int, min_score: float | None) -> None:
    check_whole("limit", limit, least=0)
    if min_score is not None:
        check_minimum(min_score)


def _entry(known: Known) -> MemoryEntry:
    return MemoryEntry(known.key, known.value, known.score)


def _of_kind(entries: Sequence[MemoryEntry], kind: SourceKind) -> list[MemoryEntry]:
    return [entry for entry in entries if kind_of(entry.value) == kind]


def _capsules(entries: Sequence[MemoryEntry]) -> list[MemoryCapsule]:
    return [capsule for entry in _of_kind(entries, "capsule") if (capsule := _capsule(entry)) is not None]


def _capsule(entry: MemoryEntry) -> MemoryCapsule | None:
    """Read a capsule; one that was taught by hand, and is none, must not hide the others."""
    try:
        return MemoryCapsule.of_value(entry.value)
    except InvalidArgumentError as error:
        logger.warning("What is taught under %r is no capsule, and left out: %s", entry.key, told(error))
        return None
