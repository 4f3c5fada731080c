"""Answers that rest on memory: what ``ffai.rag`` is."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Unpack

from ffai.chat.calling import check_client
from ffai.chat.message import member
from ffai.chat.reply import ChatReply
from ffai.core.arguments import check_text
from ffai.core.history.recorder import HistoryRecorder
from ffai.core.memory.halving import told
from ffai.core.memory.memory import Memory
from ffai.core.memory.retrieving import NOTHING
from ffai.core.scope import MemoryScope, check_actor_id
from ffai.core.scope_policy import OPEN, Scope, ScopePolicy
from ffai.errors import ClosedError, MemoryDisabledError
from ffai.rag.answer import AnswerStream, AskResult, AsyncAnswerStream, answered, contexted, finished, is_the_callers, prepared
from ffai.rag.ask_options import AskKeywords, AskOptions, ContextKeywords, ContextOptions
from ffai.rag.capsule import MemoryCapsule
from ffai.rag.chat_options import ChatOptions
from ffai.rag.compaction import Compaction, CompactResult, compacted, safely, summarised
from ffai.rag.context import MemoryContext
from ffai.rag.explaining import Explanation, explained
from ffai.rag.format import bullet
from ffai.rag.graph_search import HybridContext, hybrid
from ffai.rag.knowledge import KnowledgeBase
from ffai.rag.step import Step, ado, do
from ffai.rag.thread import MAX_TURNS, Thread
from ffai.rag.window import Window

logger = logging.getLogger(__name__)


class AgentMemory:
    """A memory and a client that answers from it.

    Nothing is kept in it: it is a view on the memory, and as cheap as one. What is asked does not enter the
    conversation that the client keeps, and what is recalled is never remembered as something new.

    Args:
        client: any chat client.
        memory: what is looked up; ``None`` where memory is off: answers then rest on nothing.
        recorder: records what is to be remembered; the memory alone if left out.
        policy: what applies to the scope of each call; the memory's.
        agent_actor_id: who answers.
        is_closed: tells whether nothing can be asked any more.

    Examples:
        >>> from ffai.testing import FakeClient, FakeEmbedder
        >>> memory = Memory(FakeEmbedder())
        >>> _ = memory.remember("Where is the key?", "Under the mat.")
        >>> rag = AgentMemory(FakeClient(["It is under the mat."]), memory)
        >>> result = rag.ask("Where did we put the key?")
        >>> result.answer, [source.excerpt for source in result.sources]
        ('It is under the mat.', ['Where is the key?\\nUnder the mat.'])
    """

    def __init__(
        self,
        client: Any,
        memory: Memory | None,
        *,
        recorder: HistoryRecorder | None = None,
        policy: ScopePolicy = OPEN,
        agent_actor_id: str | None = None,
        is_closed: Callable[[], bool] = lambda: False,
    ) -> None:
        check_client(client)
        self.client, self.memory = client, memory
        self._recorder, self._policy, self._is_closed = recorder, policy, is_closed
        self._agent = check_actor_id("agent_actor_id", agent_actor_id)
