"""Summaries of what was said lately, and capsules: summaries that are kept, with what they are made from."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ffai.chat.flow import Failed, Flow
from ffai.chat.reply import ChatReply
from ffai.core.arguments import check_dict, check_text
from ffai.core.memory.halving import told
from ffai.core.scope import MemoryScope
from ffai.core.scope_policy import Scope
from ffai.errors import EmptySummaryError, EmptyWindowError, ScopeValidationError, StructuredReplyError, Violation
from ffai.rag.asker import Asker, ChatRequest
from ffai.rag.capsule import MemoryCapsule
from ffai.rag.entry import MemoryEntry, Provenance
from ffai.rag.events import COMPACTION_END, COMPACTION_ERROR, COMPACTION_START, OnEvent, emit
from ffai.rag.extraction import extraction
from ffai.rag.format import format_session_results
from ffai.rag.prompts import NOTHING_TO_SUMMARISE, SUMMARY_INSTRUCTION, SUMMARY_SYSTEM, summary_prompt
from ffai.rag.step import Step, taken
from ffai.rag.window import Window

if TYPE_CHECKING:
    from ffai.rag.agent_memory import AgentMemory

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CompactResult:
    """What became of a compaction.

    Examples:
        >>> CompactResult(ok=False, error="TimeoutError: busy").capsule is None
        True
    """

    ok: bool
    capsule: MemoryCapsule | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """What is to be made a capsule of, and how.

    Raises:
        InvalidArgumentError, ArgumentTypeError: an argument can't be used; names it.
        ScopeValidationError: a capsule can't be kept for the people of a scope: one that takes part later would see it.
    """

    window: Window
    asker: Asker
    scope: Scope | None = None
    id: str | None = None
    instruction: str = SUMMARY_INSTRUCTION
    metadata: Mapping[str, Any] = field(default_factory=dict)
    extract: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the capsule that the caller knows better: ``facts``, ``decisions``, ``start_ts`` and others."""
    on_event: OnEvent | None = None

    def __post_init__(self) -> None:
        check_text("instruction", self.instruction)
        check_dict("metadata", self.metadata)
        if self.id is not None:
            check_text("id", self.id)
        if MemoryScope.of(self.scope).participant_ids:
            wrong = "a capsule is kept for a person, a conversation or everybody; give conversation_id, not participants"
            raise ScopeValidationError([Violation("participant_ids", "exclusive", wrong)])


def asking(flow: Flow[str, Any], asker: Asker, system: str) -> Flow[Step, Any]:
    """Take a flow whose steps are prompts, by asking a model."""
    try:
        prompt = next(flow)
        while True:
            request = ChatRequest(prompt, system)
            reply = yield Step(partial(asker.ask, request), partial(asker.aask, request))
            prompt = flow.send(reply if isinstance(reply, Failed) else reply.text)
    except StopIteration as done:
        return done.value


def summarised(
    memory: AgentMemory, window: Window, asker: Asker, scope: Scope | None, instruction: str
) -> Flow[Step, str]:
    """Summarise a window; see :meth:`AgentMemory.summarize`."""
    said = taken((yield memory.reading(window, scope)))
    if not said:
        return NOTHING_TO_SUMMARISE
    return (yield from _summary(said, asker, instruction))


def _summary(said: Sequence[MemoryEntry], asker: Asker, instruction: str) -> Flow[Step, str]:
    request = ChatRequest(summary_prompt(format_session_results(said), instruction), SUMMARY_SYSTEM)
    reply: ChatReply = taken((yield Step(partial(asker.ask, request), partial(asker.aask, request))))
    return reply.text


def compacted(memory: AgentMemory, asked: Compaction) -> Flow[Step, MemoryCapsule]:
    """Make a capsule and keep it; see :meth:`AgentMemory.compact_window`."""
    capsule_id = asked.id or uuid.uuid4().hex
    about = {
        "agent_name": memory.agent_name,
        "capsule_id": capsule_id,
        "scope": memory.told(asked.scope),
        "hours": asked.window.hours,
        "limit": asked.window.limit,
    }
    emit(asked.on_event, COMPACTION_START, **about)
    try:
        capsule = yield from _compacted(memory, asked, capsule_id)
    except Exception as error:
        emit(asked.on_event, COMPACTION_ERROR, **about, error=told(error))
        raise
    emit(asked.on_event, COMPACTION_END, **about, source_count=len(capsule.source_ids))
    return capsule


def _compacted(memory: AgentMemory, asked: Compaction, capsule_id: str) -> Flow[Step, MemoryCapsule]:
    said = taken((yield memory.reading(asked.window, asked.scope)))
    if not said:
        raise EmptyWindowError(f"Nothing was said in the last {asked.window.hours:g} hours. Nothing was stored.")
    summary = yield from _summary(said, asked.asker, asked.instruction)
    if not summary.strip():
        raise EmptySummaryError("The model gave a blank summary. Nothing was stored.")
    found, metadata = {}, dict(asked.metadata)
    if asked.extract:
        try:
            found = yield from asking(extraction("\n".join(format_session_results(said))), asked.asker, SUMMARY_SYSTEM)
        except StructuredReplyError as error:
            logger.warning("Facts could not be extracted; the capsule has the summary alone: %s", told(error))
            metadata["extraction_error"] = told(error)
    times = [record.value["timestamp"] for record in said]
    fields = {
        "id": capsule_id,
        "summary": summary,
        "start_ts": times[0],
        "end_ts": times[-1],
        "source_ids": _source_ids(said),
        "metadata": metadata,
        **(dict(found) if found else {}),
        **asked.more,
    }
    capsule = MemoryCapsule(**fields)
    cites = sorted({str(record.value["metadata"]["turn_id"]) for record in said})
    is_nobodys = all(_is_nobodys(record) for record in said)
    teach: Callable[..., Any] = partial(
        memory.knowledge.learn, f"capsule:{capsule_id}", capsule.to_value(),
        scope=asked.scope, cites=cites, shared=is_nobodys,
    )  # fmt: skip
    taken((yield Step(teach, partial(asyncio.to_thread, teach))))
    return capsule


def _source_ids(said: Sequence[MemoryEntry]) -> list[str]:
    ids = (Provenance.of_entry(record).source_id for record in said)
    return list(dict.fromkeys(str(source) for source in ids))


def _is_nobodys(record: MemoryEntry) -> bool:
    metadata = record.value["metadata"]
    return record.value["sender_id"] is None and "session_id" not in metadata and not metadata.get("actor_id")


def safely(flow: Flow[Step, MemoryCapsule], is_the_callers: Callable[[Exception], bool]) -> Flow[Step, CompactResult]:
    """Give what becomes of a compaction as a result; wrong arguments are raised all the same."""
    try:
        capsule = yield from flow
    except Exception as error:  # noqa: BLE001 - a client, an embedder or a store may raise anything
        if is_the_callers(error):
            raise
        logger.warning("The window could not be compacted; nothing was stored: %s", told(error))
        return CompactResult(ok=False, error=told(error))
    return CompactResult(ok=True, capsule=capsule)
