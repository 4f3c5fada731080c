"""What is known about something, as text for prompts of the caller's own."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, Unpack

from ffai.chat.flow import Flow
from ffai.core.arguments import check_text, from_keywords
from ffai.rag.answer import contexted
from ffai.rag.ask_options import ContextKeywords, ContextOptions
from ffai.rag.backing import Backing
from ffai.rag.context import MemoryContext
from ffai.rag.explaining import Explanation, explained
from ffai.rag.graph_search import HybridContext, Seeds, hybrid
from ffai.rag.step import Step, ado, do, or_nothing


class Contexts:
    """The side of an :class:`~ffai.rag.agent_memory.AgentMemory` that looks things up, and asks no model."""

    _backing: Backing

    def build_context(self, query: str, **options: Unpack[ContextKeywords]) -> str:
        """Return what is known about something as lines for a prompt: messages, then knowledge.

        Args:
            query: what to look for, in words.
            options: see :class:`~ffai.rag.ask_options.ContextOptions`.

        Returns:
            ``[name]: text`` for each message and ``[KB] text`` for each entry of knowledge; ``""`` where nothing is
            found, or memory is off.

        Raises:
            InvalidArgumentError, ArgumentTypeError: an argument can't be used; names it.
            TypeError: there is no such option.
            Exception: whatever memory raises.

        Examples:
            >>> from ffai import Memory
            >>> from ffai.rag import AgentMemory
            >>> from ffai.testing import FakeClient, FakeEmbedder
            >>> memory = Memory(FakeEmbedder())
            >>> _ = memory.remember("Where is the key?", "Under the mat.")
            >>> print(AgentMemory(FakeClient(), memory).build_context("the key"))
            [user]: Where is the key?
            [assistant]: Under the mat.
        """
        return self.context(query, **options).text

    def abuild_context(self, query: str, **options: Unpack[ContextKeywords]) -> Coroutine[Any, Any, str]:
        """Await :meth:`build_context`."""
        return ado(_text_of(contexted(self._backing, *self._looking_up(query, options))))

    def context(self, query: str, **options: Unpack[ContextKeywords]) -> MemoryContext:
        """Return the context of :meth:`build_context` with its sources, and what did not fit into the budget."""
        return do(contexted(self._backing, *self._looking_up(query, options)))

    def acontext(self, query: str, **options: Unpack[ContextKeywords]) -> Coroutine[Any, Any, MemoryContext]:
        """Await :meth:`context`."""
        return ado(contexted(self._backing, *self._looking_up(query, options)))

    def build_context_safe(self, query: str, **options: Unpack[ContextKeywords]) -> str:
        """Return :meth:`build_context`; ``""`` where memory can't be looked up just now, which is logged.

        Raises:
            InvalidArgumentError, ArgumentTypeError, TypeError: the arguments are wrong.
        """
        return do(or_nothing("context", _text_of(contexted(self._backing, *self._looking_up(query, options)))))

    def abuild_context_safe(self, query: str, **options: Unpack[ContextKeywords]) -> Coroutine[Any, Any, str]:
        """Await :meth:`build_context_safe`."""
        return ado(or_nothing("context", _text_of(contexted(self._backing, *self._looking_up(query, options)))))

    def build_hybrid_context(
        self,
        query: str,
        seed_node_ids: Iterable[str] = (),
        *,
        auto_seed: bool = True,
        max_hops: int = 1,
        **options: Unpack[ContextKeywords],
    ) -> HybridContext:
        """Look up by meaning, and along the edges of the graph, with a citation for each line.

        Args:
            query: what to look for, in words.
            seed_node_ids: ids of nodes whose edges are looked at.
            auto_seed: whether those of the nodes that are found by meaning are, too.
            max_hops: how far along the edges, from 1 to 3.
            options: see :class:`~ffai.rag.ask_options.ContextOptions`.

        Returns:
            Lines ``[what it is cited by] text``: turns, knowledge, then edges in the order of their seeds; each once.
            Where memory can't be looked up by meaning just now, the edges of the seeds that were given.

        Raises: as for :meth:`build_context`.
        """
        seeds = Seeds(ids=seed_node_ids, auto=auto_seed, max_hops=max_hops)
        return do(hybrid(self._backing, *self._looking_up(query, options), seeds))

    def abuild_hybrid_context(
        self,
        query: str,
        seed_node_ids: Iterable[str] = (),
        *,
        auto_seed: bool = True,
        max_hops: int = 1,
        **options: Unpack[ContextKeywords],
    ) -> Coroutine[Any, Any, HybridContext]:
        """Await :meth:`build_hybrid_context`."""
        seeds = Seeds(ids=seed_node_ids, auto=auto_seed, max_hops=max_hops)
        return ado(hybrid(self._backing, *self._looking_up(query, options), seeds))

    def explain(self, query: str, turn_id: str | None = None, **options: Unpack[ContextKeywords]) -> Explanation:
        """Tell why a question finds what it finds, and why it does not find something else.

        Args:
            query: what to look for, in words.
            turn_id: a turn that is expected; the nearest misses are told of if left out.
            options: those of the call that is to be explained; see :class:`~ffai.rag.ask_options.ContextOptions`.

        Returns:
            What is found and missed, with scores, thresholds and parts, and the state of the memory. ``print`` shows a
            report.

        Raises:
            InvalidArgumentError, ArgumentTypeError, TypeError: the arguments are wrong. An outage is told, not raised.

        Examples:
            >>> from ffai import Memory
            >>> from ffai.rag import AgentMemory
            >>> from ffai.testing import FakeClient, FakeEmbedder
            >>> memory = Memory(FakeEmbedder())
            >>> expected = memory.remember("Where is the key?", "Under the mat.")
            >>> AgentMemory(FakeClient(), memory).explain("a boat", expected).missed[0].state
            'too far'
        """
        if turn_id is not None:
            check_text("turn_id", turn_id)
        return do(explained(self._backing, *self._looking_up(query, options), turn_id))

    def aexplain(
        self, query: str, turn_id: str | None = None, **options: Unpack[ContextKeywords]
    ) -> Coroutine[Any, Any, Explanation]:
        """Await :meth:`explain`."""
        if turn_id is not None:
            check_text("turn_id", turn_id)
        return ado(explained(self._backing, *self._looking_up(query, options), turn_id))

    def _looking_up(self, query: str, options: Mapping[str, Any]) -> tuple[str, ContextOptions]:
        checked = from_keywords(ContextOptions, options)
        self._backing.asked_scope(checked.scope)
        return check_text("query", query), checked


def _text_of(flow: Flow[Step, MemoryContext]) -> Flow[Step, str]:
    return (yield from flow).text
