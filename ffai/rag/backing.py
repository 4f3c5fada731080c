"""What answers are made with: a client, a memory, what records, and the policy of their scopes, as steps of flows."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ffai.chat.message import member
from ffai.chat.reply import ChatReply
from ffai.core.history.recorder import HistoryRecorder
from ffai.core.memory.knowledge import Knowledge
from ffai.core.memory.memory import Memory
from ffai.core.memory.retrieving import NOTHING, Retrieved
from ffai.core.scope import MemoryScope
from ffai.core.scope_policy import OPEN, Scope, ScopePolicy
from ffai.errors import ClosedError, MemoryDisabledError
from ffai.rag.ask_options import ContextOptions
from ffai.rag.chat_options import ChatOptions
from ffai.rag.entry import Source
from ffai.rag.graph import EDGE_KIND, NODE_KIND
from ffai.rag.step import Step
from ffai.rag.window import Window

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backing:
    """What stands behind an :class:`~ffai.rag.agent_memory.AgentMemory`."""

    client: Any
    memory: Memory | None
    """Has the policy too."""
    recorder: HistoryRecorder | None = None
    """Records what is to be remembered; without it the memory alone keeps it."""
    policy: ScopePolicy = OPEN
    agent_actor_id: str | None = None
    is_closed: Callable[[], bool] = lambda: False
    """Tells whether no model can be asked any more."""

    # Steps

    def retrieving(self, query: str, options: ContextOptions, scope: Scope | None, *, with_graph: bool = False) -> Step:
        """Look up turns and knowledge; nothing, where memory is off.

        Args:
            query: what to look for.
            options: how.
            scope: whose.
            with_graph: whether nodes and edges are knowledge too.
        """
        if self.memory is None:
            return Step(lambda: NOTHING, _nothing)
        search = {**options.search, "scope": scope, "without_kinds": () if with_graph else (NODE_KIND, EDGE_KIND)}
        return Step(partial(self.memory.retrieve, query, **search), partial(self.memory.aretrieve, query, **search))

    def reading(self, window: Window, scope: Scope | None) -> Step:
        """Read the messages of a window."""
        return Step(partial(window.read, self.needed, scope), partial(window.aread, self.needed, scope))

    # Scopes

    def asked_scope(self, scope: Scope | None) -> MemoryScope:
        """Return the scope that is looked up.

        Raises:
            ScopeValidationError, ArgumentTypeError: it can't be used.
        """
        return self.policy.searching(scope)

    def kept_scope(self, scope: Scope | None) -> MemoryScope:
        """Return the scope that a turn is recorded with; raises as :meth:`asked_scope`."""
        keeper = self.recorder if self.memory is None else self.memory
        whose = self.policy.adding(scope)
        return whose if keeper is None else keeper.accepted_scope(whose)

    def told(self, scope: Scope | None) -> Mapping[str, Any]:
        """Return the scope that is looked up, as an event tells it."""
        return self.asked_scope(scope).as_dict()

    # What comes of it

    def note(self, text: str, sources: Iterable[Source], scope: Scope | None) -> None:
        """Note what is told of memories, as a whole and each alone, so that none is remembered as something new."""
        if self.memory is not None and text:
            excerpts = dict.fromkeys(source.excerpt for source in sources)
            self.memory.note_recalled([*reversed(excerpts), text], scope=scope)  # what was noted first goes first

    def note_prompt(self, prompt: str, question: str, scope: Scope | None) -> None:
        """Note a prompt, so that its question is remembered in its place where it is sent again."""
        if self.memory is not None and prompt != question:
            self.memory.note_recalled([prompt], scope=scope, instead=question)

    def record(self, question: str, reply: ChatReply, whose: MemoryScope, duration_ms: float) -> str | None:
        """Record a question and its answer as a turn; return its id, where it is remembered.

        Args:
            question: what was asked.
            reply: what was answered.
            whose: the scope, as :meth:`kept_scope` gives it: before a model is asked, for a guard may refuse.
            duration_ms: how long it took.
        """
        if self.recorder is None:
            return self._remember(question, reply, whose)
        return self.recorder.record(
            question,
            reply.text,
            reply.model,
            usage=reply.usage,
            cost_usd=reply.cost_usd,
            duration_ms=duration_ms,
            scope=whose,
            agent_actor_id=self.agent_actor_id,
        ).turn_id

    def _remember(self, question: str, reply: ChatReply, whose: MemoryScope) -> str | None:
        if self.memory is None or not reply.text.strip():
            return None
        try:
            return self.memory.remember(question, reply.text, scope=whose, agent_actor_id=self.agent_actor_id)
        except ClosedError:  # another user of the memory has closed it; the answer is there all the same
            logger.warning("The memory is closed: question and answer are not remembered.")
            return None

    # Parts

    def check_open(self) -> None:
        """Raise :class:`ClosedError` where no model can be asked any more."""
        if self.is_closed():
            raise ClosedError("This FFAI is closed. Make a new one to go on; what was recorded can still be read.")

    @property
    def needed(self) -> Memory:
        """The memory.

        Raises:
            MemoryDisabledError: it is off.
        """
        if self.memory is None:
            raise MemoryDisabledError(
                "Memory is off. FFAI(client, memory_enabled=True) enables it; where it is enabled, no embedding model "
                "can be used, and the log says why."
            )
        return self.memory

    @property
    def knowledge(self) -> Knowledge:
        """Where knowledge is kept; raises as :attr:`needed` does."""
        return self.needed.knowledge

    @property
    def not_remembered(self) -> Mapping[str, int]:
        """How many calls were not handed to memory, by reason."""
        return {} if self.recorder is None else self.recorder.skipped

    @property
    def agent_name(self) -> str:
        """Who answers, as events tell it."""
        return self.agent_actor_id or "assistant"

    def model_of(self, chat: ChatOptions | None) -> str | None:
        """Return the model that is asked, for counting its tokens."""
        named = chat.model if chat is not None and chat.model else member(self.client, "model")
        return named if isinstance(named, str) and named else None


async def _nothing() -> Retrieved:
    await asyncio.sleep(0)
    return NOTHING
