"""Answers grounded in memory: what ``ffai.rag`` of an :class:`~ffai.FFAI.FFAI` gives, and the helpers it is made of."""

from typing import TYPE_CHECKING

from ffai._lazy import lazy_exports

if TYPE_CHECKING:
    from ffai.rag.agent_memory import AgentMemory
    from ffai.rag.answer import AnswerStream, AskResult, AsyncAnswerStream
    from ffai.rag.ask_options import AskOptions, ContextOptions
    from ffai.rag.budget import Fitted, fit
    from ffai.rag.capsule import Decision, Fact, MemoryCapsule, Task
    from ffai.rag.chat_options import ChatOptions
    from ffai.rag.compaction import CompactOptions, CompactResult
    from ffai.rag.context import MemoryContext
    from ffai.rag.entry import MemoryEntry, Provenance, Source
    from ffai.rag.events import StreamEvent
    from ffai.rag.explaining import ExplainedEntry, Explanation
    from ffai.rag.format import (
        build_rag_prompt,
        format_kb_results,
        format_session_results,
        format_thread_lines,
        with_memory_block,
    )
    from ffai.rag.frame import Quoted, framed
    from ffai.rag.graph_search import HybridContext
    from ffai.rag.knowledge import KnowledgeBase
    from ffai.rag.roles import Role, passes_role_filter, role_in, role_of
    from ffai.rag.thread import ChatMessage, Thread
    from ffai.rag.tokens import count_tokens

__all__ = [
    "AgentMemory",
    "AnswerStream",
    "AskOptions",
    "AskResult",
    "AsyncAnswerStream",
    "ChatMessage",
    "ChatOptions",
    "CompactOptions",
    "CompactResult",
    "ContextOptions",
    "Decision",
    "ExplainedEntry",
    "Explanation",
    "Fact",
    "Fitted",
    "HybridContext",
    "KnowledgeBase",
    "MemoryCapsule",
    "MemoryContext",
    "MemoryEntry",
    "Provenance",
    "Quoted",
    "Role",
    "Source",
    "StreamEvent",
    "Task",
    "Thread",
    "build_rag_prompt",
    "count_tokens",
    "fit",
    "format_kb_results",
    "format_session_results",
    "format_thread_lines",
    "framed",
    "passes_role_filter",
    "role_in",
    "role_of",
    "with_memory_block",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "AgentMemory": "ffai.rag.agent_memory",
        "AnswerStream": "ffai.rag.answer",
        "AskOptions": "ffai.rag.ask_options",
        "AskResult": "ffai.rag.answer",
        "AsyncAnswerStream": "ffai.rag.answer",
        "ChatMessage": "ffai.rag.thread",
        "ChatOptions": "ffai.rag.chat_options",
        "CompactOptions": "ffai.rag.compaction",
        "CompactResult": "ffai.rag.compaction",
        "ContextOptions": "ffai.rag.ask_options",
        "Decision": "ffai.rag.capsule",
        "ExplainedEntry": "ffai.rag.explaining",
        "Explanation": "ffai.rag.explaining",
        "Fact": "ffai.rag.capsule",
        "Fitted": "ffai.rag.budget",
        "HybridContext": "ffai.rag.graph_search",
        "KnowledgeBase": "ffai.rag.knowledge",
        "MemoryCapsule": "ffai.rag.capsule",
        "MemoryContext": "ffai.rag.context",
        "MemoryEntry": "ffai.rag.entry",
        "Provenance": "ffai.rag.entry",
        "Quoted": "ffai.rag.frame",
        "Role": "ffai.rag.roles",
        "Source": "ffai.rag.entry",
        "StreamEvent": "ffai.rag.events",
        "Task": "ffai.rag.capsule",
        "Thread": "ffai.rag.thread",
        "build_rag_prompt": "ffai.rag.format",
        "count_tokens": "ffai.rag.tokens",
        "fit": "ffai.rag.budget",
        "format_kb_results": "ffai.rag.format",
        "format_session_results": "ffai.rag.format",
        "format_thread_lines": "ffai.rag.format",
        "framed": "ffai.rag.frame",
        "passes_role_filter": "ffai.rag.roles",
        "role_in": "ffai.rag.roles",
        "role_of": "ffai.rag.roles",
        "with_memory_block": "ffai.rag.format",
    },
)
