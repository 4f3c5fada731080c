"""The write side of the histories: each call is recorded once, in all of them."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, get_args

from ffai._fork import held_over_forks, renew_after_fork
from ffai.core.arguments import check_ids, check_timestamp, check_whole
from ffai.core.conversation_id import is_internal
from ffai.core.history.clean import clean_response
from ffai.core.history.histories import Histories
from ffai.core.history.interaction import Interaction
from ffai.core.history.log import InteractionLog
from ffai.core.history.permanent import PermanentHistory
from ffai.core.history.scoped import ScopedLog, ScopedPermanent
from ffai.core.history.whose import Accept, accepting, settled_by
from ffai.core.memory.filters import TurnFilter
from ffai.core.scope import NO_SCOPE, MemoryScope, with_known_conversation
from ffai.core.turn import plain_copy, text_of
from ffai.errors import ArgumentTypeError, ClosedError, InvalidArgumentError
from ffai.typing import Metadata, Prompt, Status

logger = logging.getLogger(__name__)

_STATUSES = frozenset(get_args(Status))


class TurnSink(Protocol):
    """Where turns are handed over to be remembered."""

    def remember(
        self,
        prompt: str,
        response: str,
        *,
        scope: Any = None,
        timestamp: float | None = None,
        metadata: Metadata | None = None,
    ) -> str:
        """Take a turn, without waiting for its embedding, and return its id.

        An outage raises nothing.

        Raises:
            ClosedError: it takes no turns any more.
        """
        ...


class HistoryRecorder(Histories):
    """Owns the four histories and writes each call to all of them at once.

    Args:
        memory: what remembers the successes; ``None`` remembers nothing.
        max_turns: calls kept, each with its question and answer; the oldest goes first. ``None`` keeps all.

    Examples:
        >>> recorder = HistoryRecorder()
        >>> call = recorder.record("Capital of France?", "Paris", "some-model", prompt_name="capital")
        >>> recorder.latest_response("capital"), len(recorder.raw), len(recorder.permanent)
        ('Paris', 1, 2)
    """

    def __init__(self, *, memory: TurnSink | None = None, max_turns: int | None = None) -> None:
        turns = None if max_turns is None else 2 * check_whole("max_turns", max_turns, least=1)
        self.renew_after_fork()
        renew_after_fork(self)
        # held while histories change, and never while anything is waited for
        self._lock = held_over_forks(threading.RLock())
        self._log = InteractionLog(max_turns=max_turns, lock=self._lock)
        self._permanent = PermanentHistory(max_turns=turns, lock=self._lock)
        super().__init__(self._log, self._permanent)
        self._memory = memory
        self._skipped: Counter[str] = Counter()

    def renew_after_fork(self) -> None:
        """Wait for no call that a thread of the parent is recording."""
        self._turn = threading.RLock()  # held while a call is recorded, and while the journal is waited for

    @property
    def memory(self) -> TurnSink | None:
        """What remembers the successes."""
        return self._memory

    def seen_by(self, scope: MemoryScope) -> Histories:
        """Return the histories as a scope sees them; who took part in a conversation, memory tells, where it is on.

        Raises:
            ScopeValidationError: nothing can be looked for with the scope.
        """
        if scope is NO_SCOPE or (wanted := TurnFilter.of(None, scope)).allows_all:
            return self

        def seen() -> Accept:
            return accepting(self._settled(wanted))

        own = scope.place
        return Histories(ScopedLog(self._log, seen, own), ScopedPermanent(self._permanent, seen, own))

    def _settled(self, wanted: TurnFilter) -> TurnFilter:
        if callable(settled := getattr(self._memory, "settled", None)):
            known: TurnFilter = settled(wanted)
            return known
        return settled_by((call for call in self._log.all() if call.status == "success"), wanted)

    def accepted_scope(self, scope: MemoryScope) -> MemoryScope:
        """Return the scope that a call is recorded with.

        Raises:
            ScopeValidationError: it can't be stored with a turn.
        """
        if callable(accepted := getattr(self._memory, "accepted_scope", None)):
            checked: MemoryScope = accepted(scope)
            return checked
        checked = scope.validate("add")
        named = checked.conversation_id
        if named is None or not is_internal(named):
            return checked
        known = (call.scope for call in self._log.all() if call.scope.internal_conversation_id == named)
        return with_known_conversation(checked, next(known, NO_SCOPE).conversation_id)

    @property
    def skipped(self) -> dict[str, int]:
        """How many calls were recorded and not handed to memory, by reason.

        The reasons: ``failed``, ``skipped``, ``aborted`` (how the call ended), ``tool_calls_only``, ``empty_reply``,
        ``memory_closed``.
        """
        with self._lock:
            return dict(self._skipped)

    def record(
        self,
        prompt: Prompt,
        response: Prompt | None,
        model: str,
        prompt_name: str | None = None,
        history: Sequence[str] | None = None,
        status: Status = "success",
        resolved_prompt: Prompt | None = None,
        usage: Any = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        error: str | None = None,
        cost_usd: float | None = None,
        duration_ms: float | None = None,
        tool_calls: Iterable[Any] = (),
        expects_json: bool = False,
        scope: MemoryScope = NO_SCOPE,
        agent_actor_id: str | None = None,
        timestamp: float | None = None,
    ) -> Interaction:
        """Record a call in the four histories; hand a success that has text to memory.

        Two calls recorded at once follow each other in every history and in memory, in the same order.

        Args:
            prompt: as it was given, with its references in braces; text or message parts.
            response: what came back, unaltered; ``None`` where nothing did.
            model: the model that answered.
            prompt_name: what the prompt is found under.
            history: names of the prompts that were put in front of this one.
            status: how the call ended.
            resolved_prompt: the prompt with its references resolved, without injected history or recalled context;
                ``None`` where it is ``prompt``.
            usage: what the client told about tokens.
            metadata: what the caller attaches; ``None`` is ``{"prompt_name": …}``, or ``{}`` without a name.
            error: why the call failed.
            cost_usd: ``None`` where it is unknown.
            duration_ms: how long the call took.
            tool_calls: the tools the model asked for.
            expects_json: JSON was asked for, so the cleaned response is the value it stands for.
            scope: whose turn it is.
            agent_actor_id: who answered, for the participants of the conversation.
            timestamp: seconds since the epoch; ``None`` is now.

        Raises:
            ArgumentTypeError: an argument has a wrong type. Nothing is recorded.
            InvalidArgumentError: an argument has a wrong value. Nothing is recorded.
        """
        _check(prompt, response, status, prompt_name, history, metadata)
        said = prompt if resolved_prompt is None else resolved_prompt
        text = None if response is None else text_of(response)
        tools = tuple(tool_calls)
        attached = _attached(metadata, prompt_name)
        given = None if timestamp is None else check_timestamp("timestamp", timestamp)
        cleaned = clean_response(text, expects_json=expects_json)
        reason = _why_not_remembered(status, text, tools)
        whose = self.accepted_scope(scope)
        agent = {} if agent_actor_id is None else {"agent_actor_id": agent_actor_id}
        with self._turn:
            now = time.time() if given is None else given
            turn_id = None
            if self._memory is not None and reason is None and text is not None:
                try:
                    turn_id = self._memory.remember(
                        self._new_in(text_of(said), whose),
                        text,
                        scope=whose,
                        timestamp=now,
                        metadata=plain_copy(attached),
                        **agent,
                    )
                except ClosedError:  # another user of the memory has closed it; the answer is there all the same
                    reason = "memory_closed"
                    self._say_closed()
            with self._lock:
                if self._memory is not None and reason is not None:
                    self._skipped[reason] += 1
                if status != "skipped":
                    self._permanent.add_turn_user(
                        said, attached, timestamp=now, turn_id=turn_id, scope=whose, agent_actor_id=agent_actor_id
                    )
                if not _is_blank(text):
                    self._permanent.add_turn_assistant(
                        text or "", attached, timestamp=now, turn_id=turn_id, scope=whose, agent_actor_id=agent_actor_id
                    )
                return self._log.add(
                    lambda number: Interaction(
                        sequence_number=number,
                        prompt=text_of(prompt),
                        response=text,
                        clean_response=cleaned,
                        model=model,
                        timestamp=now,
                        prompt_name=prompt_name,
                        resolved_prompt=None if resolved_prompt is None else text_of(resolved_prompt),
                        history=None if history is None else tuple(history),
                        status=status,
                        error=error,
                        usage=usage,
                        cost_usd=cost_usd,
                        duration_ms=duration_ms,
                        tool_calls=tools,
                        turn_id=turn_id,
                        scope=whose,
                        agent_actor_id=agent_actor_id,
                        metadata=attached,
                    )
                )

    def forget(self, turn_ids: Iterable[str]) -> dict[str, int]:
        """Drop the calls of turns from every history, and what was said in them; the others keep their numbers.

        A name whose newest success is dropped stands for the one before it, if there is one. A turn that is just being
        recorded is waited for; who records waits too, about 1 µs for each call that is kept.

        Args:
            turn_ids: ids of turns in memory; unknown ones are ignored.

        Returns:
            ``history_calls``: calls dropped from the raw, clean and ordered history; ``permanent_turns``: turns of user
            and assistant dropped from the permanent one.
        """
        ids = check_ids("turn_ids", turn_ids)
        with self._turn, self._lock:
            return {"history_calls": self._log.forget(ids), "permanent_turns": self._permanent.forget(ids)}

    def _new_in(self, said: str, scope: MemoryScope) -> str:
        """Return what memory does not know already: a prompt without what it has recalled itself."""
        without: Any = getattr(self._memory, "without_recalled", None)
        return str(without(said, scope=scope)) if callable(without) else said

    def _say_closed(self) -> None:
        if "memory_closed" not in self.skipped:
            logger.warning("The memory is closed. The histories go on without it.")


def _check(prompt: Any, response: Any, status: Any, prompt_name: Any, history: Any, metadata: Any) -> None:
    if not isinstance(prompt, (str, list, tuple)):
        raise ArgumentTypeError(f"prompt must be text or a list of message parts, not {type(prompt).__name__}.")
    if response is not None and not isinstance(response, (str, list, tuple)):
        raise ArgumentTypeError(f"response must be text, message parts or None, not {type(response).__name__}.")
    if status not in _STATUSES:
        raise InvalidArgumentError(f"status must be one of {sorted(_STATUSES)}, not {status!r}.")
    if prompt_name is not None and not isinstance(prompt_name, str):
        raise ArgumentTypeError(f"prompt_name must be text, not {prompt_name!r}.")
    if history is not None and (isinstance(history, str) or not isinstance(history, Sequence)):
        raise ArgumentTypeError(f"history must be a list of prompt names, not {history!r}.")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise ArgumentTypeError(f"metadata must be a dict, not {metadata!r}.")


def _attached(metadata: Mapping[str, Any] | None, prompt_name: str | None) -> Metadata:
    if metadata is None:
        return {"prompt_name": prompt_name} if prompt_name else {}
    copied: Metadata = plain_copy(dict(metadata))
    return copied


def _why_not_remembered(status: Status, text: str | None, tool_calls: tuple[Any, ...]) -> str | None:
    if status != "success":
        return status
    if not _is_blank(text):
        return None
    return "tool_calls_only" if tool_calls else "empty_reply"


def _is_blank(text: str | None) -> bool:
    return not text or text.isspace()
