"""Answers grounded in memory: the lines, prompts and budgets of what is recalled."""

from typing import TYPE_CHECKING

from ffai._lazy import lazy_exports

if TYPE_CHECKING:
    from ffai.rag.budget import Fitted, fit
    from ffai.rag.entry import MemoryEntry, Provenance, Source
    from ffai.rag.events import StreamEvent
    from ffai.rag.format import (
        build_rag_prompt,
        format_kb_results,
        format_session_results,
        format_thread_lines,
        with_memory_block,
    )
    from ffai.rag.frame import Quoted, framed
    from ffai.rag.roles import Role, passes_role_filter, role_in, role_of
    from ffai.rag.tokens import count_tokens

__all__ = [
    "Fitted",
    "MemoryEntry",
    "Provenance",
    "Quoted",
    "Role",
    "Source",
    "StreamEvent",
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
        "Fitted": "ffai.rag.budget",
        "MemoryEntry": "ffai.rag.entry",
        "Provenance": "ffai.rag.entry",
        "Quoted": "ffai.rag.frame",
        "Role": "ffai.rag.roles",
        "Source": "ffai.rag.entry",
        "StreamEvent": "ffai.rag.events",
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
