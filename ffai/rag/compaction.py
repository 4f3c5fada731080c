"""Summaries of what was said lately, and capsules: summaries that are kept, with what they are made from."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict

from ffai.chat.flow import Failed, Flow
from ffai.chat.reply import ChatReply
from ffai.core.arguments import check_dict, check_flag, check_text, check_timestamp
from ffai.core.memory.halving import told
from ffai.core.scope import MemoryScope
from ffai.core.scope_policy import Scope
from ffai.errors import EmptySummaryError, EmptyWindowError, StoreError
from ffai.rag.asker import Asker, ChatRequest
from ffai.rag.backing import Backing
from ffai.rag.capsule import MemoryCapsule
from ffai.rag.chat_options import ChatOptions
from ffai.rag.entry import MemoryEntry, Provenance
from ffai.rag.events import COMPACTION_END, COMPACTION_ERROR, COMPACTION_START, OnEvent, check_on_event, emit
from ffai.rag.extraction import EXTRACTION_SYSTEM, Extracted, extraction
from ffai.rag.format import format_session_results
from ffai.rag.prompts import NOTHING_TO_SUMMARISE, SUMMARY_INSTRUCTION, SUMMARY_SYSTEM, summary_prompt
from ffai.rag.step import Step, is_the_callers, taken
from ffai.rag.window import Window

logger = logging.getLogger(__name__)

EXTRACTED = ("facts", "decisions", "tasks", "open_questions")
"""What a model is asked for besides the summary."""


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


class CompactKeywords(TypedDict, total=False):
    """What can be said of a compaction, by name; see :class:`CompactOptions`."""

    hours: float
    limit: int
    include_roles: Iterable[str] | None
    exclude_roles: Iterable[str] | None
    scope: Scope | None
    id: str | None
    instruction: str
    metadata: Mapping[str, Any] | None
    extract: bool
    start_ts: float | None
    end_ts: float | None
    facts: Sequence[Any]
    decisions: Sequence[Any]
    tasks: Sequence[Any]
    open_questions: Sequence[str]
    chat: ChatOptions | Mapping[str, Any] | None
    on_event: OnEvent | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactOptions:
    """What is made a capsule of, and how.

    Raises:
        InvalidArgumentError, ArgumentTypeError: an option can't be used; names it.

    Examples:
        >>> CompactOptions(limit=-1)
        Traceback (most recent call last):
        ffai.errors.InvalidArgumentError: limit must be at least 0, not -1.
    """

    hours: float = 24.0
    """How far to look back."""
    limit: int = 100
    """How many messages at the most, before roles are looked at: the last ones."""
    include_roles: Iterable[str] | None = None
    """Only messages of these roles."""
    exclude_roles: Iterable[str] | None = None
    """No messages of these roles."""
    scope: Scope | None = None
    """Whose messages, and whose the capsule is."""
    id: str | None = None
    """The capsule's; the same one again replaces it. A new one if left out."""
    instruction: str = SUMMARY_INSTRUCTION
    """What is asked for."""
    metadata: Mapping[str, Any] | None = None
    """Is kept with the capsule."""
    extract: bool = False
    """Whether the model is asked for facts, decisions, tasks and open questions besides. Where that fails, the capsule
    has the summary alone, and the reason under ``metadata["extraction_error"]``."""
    start_ts: float | None = None
    """When the time began, in seconds since the epoch; that of the first message if left out."""
    end_ts: float | None = None
    """When it ended; that of the last message if left out."""
    facts: Sequence[Any] = ()
    """Known already: :class:`~ffai.rag.capsule.Fact`, or mappings of its fields. They go before those of the model."""
    decisions: Sequence[Any] = ()
    tasks: Sequence[Any] = ()
    open_questions: Sequence[str] = ()
    chat: ChatOptions | Mapping[str, Any] | None = None
    """Which model is asked, and how."""
    on_event: OnEvent | None = None
    """Is called with a :class:`~ffai.rag.events.StreamEvent` at the start, at the end and after a failure."""

    def __post_init__(self) -> None:
        if self.scope is not None:  # a mapping may change before an awaited call begins
            object.__setattr__(self, "scope", MemoryScope.of(self.scope))
        check_text("instruction", self.instruction)
        if self.metadata is not None:
            check_dict("metadata", self.metadata)
        if self.id is not None:
            check_text("id", self.id)
        for name in ("start_ts", "end_ts"):
            if getattr(self, name) is not None:
                check_timestamp(name, getattr(self, name))
        check_flag("extract", self.extract)
        check_on_event(self.on_event)
        self.window, self.given  # noqa: B018 - refused here, before a model is asked

    @property
    def window(self) -> Window:
        """Which messages are meant."""
        return Window(self.hours, self.limit, self.include_roles, self.exclude_roles)

    @property
    def given(self) -> MemoryCapsule:
        """What is known of the capsule before a model is asked."""
        known = {name: list(getattr(self, name)) for name in EXTRACTED}
        return MemoryCapsule.of_value(
            {"id": self.id or uuid.uuid4().hex, "summary": "", "metadata": dict(self.metadata or {}), **known}
        )


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
    backing: Backing, window: Window, asker: Asker, scope: Scope | None, instruction: str
) -> Flow[Step, str]:
    """Summarise a window; see :meth:`AgentMemory.summarize`."""
    said = taken((yield backing.reading(window, scope)))
    if not said:
        return NOTHING_TO_SUMMARISE
    return (yield from _summary(said, asker, instruction))


def _summary(said: Sequence[MemoryEntry], asker: Asker, instruction: str) -> Flow[Step, str]:
    request = ChatRequest(summary_prompt(format_session_results(said), instruction), SUMMARY_SYSTEM)
    reply: ChatReply = taken((yield Step(partial(asker.ask, request), partial(asker.aask, request))))
    return reply.text


def compacted(backing: Backing, asked: CompactOptions, asker: Asker) -> Flow[Step, MemoryCapsule]:
    """Make a capsule and keep it; see :meth:`AgentMemory.compact_window`."""
    given = asked.given
    about = {
        "agent_name": backing.agent_name,
        "capsule_id": given.id,
        "scope": backing.told(asked.scope),
        "hours": asked.hours,
        "limit": asked.limit,
    }
    emit(asked.on_event, COMPACTION_START, **about)
    try:
        capsule = yield from _compacted(backing, asked, asker, given)
    except Exception as error:
        emit(asked.on_event, COMPACTION_ERROR, **about, error=told(error))
        raise
    emit(asked.on_event, COMPACTION_END, **about, source_count=len(capsule.source_ids))
    return capsule


def _compacted(
    backing: Backing, asked: CompactOptions, asker: Asker, given: MemoryCapsule
) -> Flow[Step, MemoryCapsule]:
    said = taken((yield backing.reading(asked.window, asked.scope)))
    if not said:
        raise EmptyWindowError(f"Nothing was said within the last {asked.hours:g} h. Nothing was stored.")
    summary = yield from _summary(said, asker, asked.instruction)
    if not summary.strip():
        raise EmptySummaryError("The model gave a blank summary. Nothing was stored.")
    metadata, found = dict(given.metadata), Extracted()
    if asked.extract:
        try:
            found = yield from asking(extraction("\n".join(format_session_results(said))), asker, EXTRACTION_SYSTEM)
        except Exception as error:
            if is_the_callers(error):
                raise
            logger.warning("Facts could not be extracted; the capsule has the summary alone: %s", told(error))
            metadata["extraction_error"] = told(error)
    times = [record.value["timestamp"] for record in said]
    capsule = given.model_copy(
        update={
            "summary": summary,
            "start_ts": times[0] if asked.start_ts is None else asked.start_ts,
            "end_ts": times[-1] if asked.end_ts is None else asked.end_ts,
            "source_ids": _source_ids(said),
            "metadata": metadata,
            **{name: [*getattr(given, name), *getattr(found, name)] for name in EXTRACTED},
        }
    )
    cites = sorted({str(record.value["metadata"]["turn_id"]) for record in said})
    keep = partial(_keep, backing, capsule, asked.scope, cites, shared=all(map(_is_nobodys, said)))
    taken((yield Step(keep, partial(asyncio.to_thread, keep))))
    return capsule


def _keep(backing: Backing, capsule: MemoryCapsule, scope: Scope | None, cites: Sequence[str], *, shared: bool) -> None:
    """Keep a capsule, unless a turn that it was made from is no longer there: models take their time."""
    if any(backing.needed.get(cited, scope=scope) is None for cited in cites):
        raise StoreError(
            "Some of the messages were forgotten while they were summarised. Nothing was stored: try again."
        )
    backing.knowledge.learn(capsule.key, capsule.to_value(), scope=scope, cites=cites, shared=shared)


def _source_ids(said: Sequence[MemoryEntry]) -> list[str]:
    ids = (Provenance.of_entry(record).source_id for record in said)
    return list(dict.fromkeys(str(source) for source in ids))


def _is_nobodys(record: MemoryEntry) -> bool:
    metadata = record.value["metadata"]
    return "user_id" not in metadata and "session_id" not in metadata


def safely(flow: Flow[Step, MemoryCapsule]) -> Flow[Step, CompactResult]:
    """Give what becomes of a compaction as a result; wrong arguments are raised all the same."""
    try:
        capsule = yield from flow
    except Exception as error:
        if is_the_callers(error):
            raise
        logger.warning("The window could not be compacted; nothing was stored: %s", told(error))
        return CompactResult(ok=False, error=told(error))
    return CompactResult(ok=True, capsule=capsule)
