"""Every public method that embeds, calls a model or waits has an async twin with the same arguments."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from ffai import FFAI, Embeddings, Memory
from ffai.clients import AsyncLiteLLMClient, FallbackClient, LiteLLMClient, RetryClient
from ffai.core.history_manager import HistoryManager
from ffai.core.memory.knowledge import Knowledge
from ffai.core.memory.threads import Threads
from ffai.rag import AgentMemory, KnowledgeBase, Thread
from ffai.rag.asker import Asker
from ffai.testing import FakeClient
from ffai.workflow import WorkflowEngine

WAITING = {
    FFAI: {"generate_response", "stream_response", "ask", "flush", "close"},
    WorkflowEngine: {"generate_response", "stream_response"},
    HistoryManager: {"search", "flush"},
    Memory: {
        "index_turn",
        "index_turn_text",
        "search",
        "list",
        "reindex",
        "forget",
        "verify",
        "repair",
        "flush",
        "close",
        "export_jsonl",
        "import_jsonl",
        "retrieve",
        "recent",
        "get",
        "place_of",
    },
    Knowledge: {"learn", "get", "forget", "search", "list"},
    Threads: {"add", "history", "clear"},
    Embeddings: {"embed", "embed_single", "ensure_available"},
    FakeClient: {"generate_response", "stream_response"},
    RetryClient: {"generate_response", "stream_response"},
    FallbackClient: {"generate_response", "stream_response"},
}
AT_ONCE = {
    FFAI: {"set_client", "scoped", "records"},
    Memory: {
        "count",
        "clear",
        "status",
        "retry_failed",
        "remember",
        "persist_to",
        "when_forgotten",
        "scoped",
        "under",
        "settled",
        "accepted_scope",
        "kept_scope",
        "note_recalled",
        "without_recalled",
    },
    Knowledge: {"refused"},
    Threads: set(),
    Embeddings: {"clear_cache", "cache_stats", "cosine_similarity", "forget"},
}
"""Methods that only look something up, or write to a disk on this machine."""

WAITING[FFAI] |= {"ask"}
WAITING |= {
    AgentMemory: {
        "ask",
        "ask_with_thread",
        "stream_ask",
        "context",
        "build_context",
        "build_context_safe",
        "build_hybrid_context",
        "explain",
        "recent_text",
        "summarize",
        "compact_window",
        "compact_window_safe",
    },
    KnowledgeBase: {
        "learn",
        "get",
        "forget",
        "search",
        "entries",
        "capsules",
        "nodes",
        "edges",
        "add_node",
        "add_edge",
        "add_graph",
    },
    Thread: {"add", "add_all", "history", "clear", "ask", "stream_ask"},
    Asker: {"ask", "stream"},
}
AT_ONCE |= {AgentMemory: {"scoped", "thread"}, KnowledgeBase: set(), Thread: set(), Asker: set()}


def public(kind: type) -> dict[str, Any]:
    return {name: member for name, member in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


def parameters(function: Any) -> list[tuple[str, Any, Any]]:
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("kind", WAITING, ids=lambda kind: kind.__name__)
def test_each_method_that_waits_has_a_twin_with_the_same_arguments(kind: type) -> None:
    methods = public(kind)
    for name in WAITING[kind]:
        assert parameters(methods[f"a{name}"]) == parameters(methods[name]), name


@pytest.mark.parametrize("kind", AT_ONCE, ids=lambda kind: kind.__name__)
def test_no_public_method_is_forgotten_here(kind: type) -> None:
    twins = {f"a{name}" for name in WAITING[kind]}
    assert set(public(kind)) == WAITING[kind] | twins | AT_ONCE[kind]


@pytest.mark.parametrize("name", ["generate_response", "stream_response"])
def test_the_async_litellm_client_takes_what_the_sync_one_takes(name: str) -> None:
    assert parameters(getattr(AsyncLiteLLMClient, name)) == parameters(getattr(LiteLLMClient, name))
