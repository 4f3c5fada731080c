"""How one question is answered from memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict, get_args

from ffai.core.arguments import check_flag, check_ids, check_number, check_whole
from ffai.core.memory.question import Mode, Question
from ffai.core.scope import MemoryScope, check_actor_id
from ffai.core.scope_policy import Scope
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.rag.chat_options import ChatOptions
from ffai.rag.context import Limits
from ffai.rag.events import OnEvent, check_on_event
from ffai.rag.thread import Thread
from ffai.rag.window import check_minimum

ContextRole = Literal["user", "system"]
OnContextError = Literal["raise", "ignore"]


class ContextKeywords(TypedDict, total=False):
    """What can be said of what is looked up, by name; see :class:`ContextOptions`."""

    scope: Scope | None
    limit: int
    min_score: float
    include_roles: Iterable[str] | None
    exclude_roles: Iterable[str] | None
    max_tokens: int | None
    max_chars: int | None
    flatten: bool
    mode: Mode
    as_of: float | None
    half_life: float | None
    speaker_actor_id: str | None
    speaker_rewrite: bool
    wait: float | None


class AskKeywords(ContextKeywords, total=False):
    """What can be said of a question, by name; see :class:`AskOptions`."""

    chat: ChatOptions | Mapping[str, Any] | None
    system: str | None
    framed: bool
    context_role: ContextRole
    remember: bool
    on_context_error: OnContextError
    on_event: OnEvent | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOptions:
    """What is looked up for a question.

    Raises:
        InvalidArgumentError, ArgumentTypeError: an option can't be used; names it.

    Examples:
        >>> ContextOptions(limit=-1)
        Traceback (most recent call last):
        ffai.errors.InvalidArgumentError: limit must be at least 0, not -1.
    """

    scope: Scope | None = None
    """Whose memories: see :class:`~ffai.MemoryScope`. Knowledge of wider scopes is seen too."""
    limit: int = 10
    """Turns, and entries of knowledge, at the most."""
    min_score: float = 0.5
    """The least cosine, in ``[-1, 1]``, of a turn or an entry that has no words of the question. The more of these it
    has, the less is enough; see :mod:`ffai.rag.closeness`. An unrelated question finds nothing."""
    include_roles: Iterable[str] | None = None
    """Only messages of these roles; a turn has two, of ``"user"`` and ``"assistant"``."""
    exclude_roles: Iterable[str] | None = None
    """No messages of these roles."""
    max_tokens: int | None = None
    """Tokens of the context at the most, counted for the model in use. What fits worst is left out whole; one entry
    that is too long even alone is cut, with a mark. The frame of :meth:`AgentMemory.ask` counts too, about 60 tokens
    and 20 for each entry: within less nothing is told."""
    max_chars: int | None = None
    """Characters of the context at the most."""
    flatten: bool = True
    """Whether lines of a text that follow its first are indented by two spaces, so that none looks like another's."""
    mode: Mode = "hybrid"
    as_of: float | None = None
    """When it is asked, for words such as "yesterday": seconds since the epoch; now if left out."""
    half_life: float | None = None
    """Seconds after which being recent counts half; ``None`` lets it not count."""
    speaker_actor_id: str | None = None
    """Who asks. It never changes which turns may be found."""
    speaker_rewrite: bool = False
    """Whether words of the first person in the question stand for who asks."""
    wait: float | None = 2.0
    """Seconds to wait, at the most, until what was accepted before can be found."""

    def __post_init__(self) -> None:
        if self.scope is not None:  # a mapping may change before an awaited call begins
            object.__setattr__(self, "scope", MemoryScope.of(self.scope))
        check_whole("limit", self.limit, least=0)
        check_minimum(self.min_score)
        for name in ("max_tokens", "max_chars"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), least=0)
        for name in ("include_roles", "exclude_roles"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, tuple(sorted(check_ids(name, getattr(self, name)))))
        for name in ("flatten", "speaker_rewrite"):
            check_flag(name, getattr(self, name))
        check_actor_id("speaker_actor_id", self.speaker_actor_id)
        if self.wait is not None:
            check_number("wait", self.wait, least=0.0)
        Question.of("", mode=self.mode, as_of=self.as_of, half_life=self.half_life)

    @property
    def limits(self) -> Limits:
        """What of it concerns the context."""
        return Limits(
            limit=self.limit,
            min_score=self.min_score,
            include_roles=self.include_roles,
            exclude_roles=self.exclude_roles,
            max_tokens=self.max_tokens,
            max_chars=self.max_chars,
            flatten=self.flatten,
        )

    @property
    def _looked_up(self) -> int:
        if not self.limit:
            return 0
        return 20 * self.limit + 100 if self.include_roles or self.exclude_roles else 3 * self.limit + 10

    @property
    def search(self) -> dict[str, Any]:
        """What of it concerns the search, as :meth:`Memory.retrieve` takes it. More is looked up than is shown: what
        is not close enough is left out afterwards.
        """
        return {
            "top_k": self._looked_up,
            "speaker_actor_id": self.speaker_actor_id,
            "speaker_rewrite": self.speaker_rewrite,
            "mode": self.mode,
            "as_of": self.as_of,
            "half_life": self.half_life,
            "wait": self.wait,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions(ContextOptions):
    """How a question is answered.

    Examples:
        >>> AskOptions(context_role="tool")
        Traceback (most recent call last):
        ffai.errors.InvalidArgumentError: context_role must be one of ('user', 'system'), not 'tool'.
    """

    thread: Thread | None = None
    """Its messages stand in front of the question; question and answer are added to it. Where no ``scope`` is given,
    its scope is the one that is looked up."""
    chat: ChatOptions | Mapping[str, Any] | None = None
    """Which model is asked, and how."""
    system: str | None = None
    """The system prompt in the place of the default; short for ``chat={"system": ...}``."""
    framed: bool = True
    """Whether what was recalled stands as quoted data between two random lines, with dates and origins."""
    context_role: ContextRole = "user"
    """Where it stands: in front of the question, or in the system prompt."""
    remember: bool = False
    """Whether question and answer are recorded and remembered as a turn."""
    on_context_error: OnContextError = "raise"
    """What an outage of memory, or of the thread, does: is raised, or leaves the answer without it."""
    on_event: OnEvent | None = None
    """Is called with a :class:`~ffai.rag.events.StreamEvent` after looking up and after answering."""

    def __post_init__(self) -> None:
        ContextOptions.__post_init__(self)
        for name, choices in (("context_role", ContextRole), ("on_context_error", OnContextError)):
            if getattr(self, name) not in get_args(choices):
                raise InvalidArgumentError(f"{name} must be one of {get_args(choices)!r}, not {getattr(self, name)!r}.")
        for name in ("framed", "remember"):
            check_flag(name, getattr(self, name))
        if not isinstance(self.thread, Thread | None):
            raise ArgumentTypeError(f"thread must be a Thread, as rag.thread(...) gives one, not {self.thread!r:.100}.")
        check_on_event(self.on_event)
        chat = ChatOptions.of(self.chat)
        object.__setattr__(self, "chat", chat if self.system is None else replace(chat, system=self.system))

    @property
    def whose(self) -> Scope | None:
        """The scope that is looked up."""
        return self.thread.scope if self.scope is None and self.thread is not None else self.scope
