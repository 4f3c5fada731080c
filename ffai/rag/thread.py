"""A conversation that is kept as it is: the last turns go along with each question."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from ffai.core.arguments import check_str, check_whole
from ffai.core.memory.journal_knowledge import ThreadRow
from ffai.core.memory.threads import Threads
from ffai.core.scope import MemoryScope
from ffai.errors import InvalidArgumentError
from ffai.rag.roles import Role

if TYPE_CHECKING:
    from ffai.rag.agent_memory import AgentMemory
    from ffai.rag.answer import AnswerStream, AskResult, AsyncAnswerStream
    from ffai.rag.ask_options import AskKeywords

MAX_TURNS = 20
"""Questions with their answers that a thread keeps."""
_ROLES = frozenset(Role)


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a thread.

    Examples:
        >>> ChatMessage(Role.USER, "Where to?").role == "user"
        True
    """

    role: Role
    content: str


class Thread:
    """The thread of one person in one conversation. It is durable, and nobody else's questions see it.

    Args:
        memory: asks, and keeps it.
        threads: where it is kept.
        scope: whose it is.
        max_turns: how many questions with their answers are kept; the oldest messages go first.

    Examples:
        >>> from ffai import FFAI, Memory
        >>> from ffai.testing import FakeClient, FakeEmbedder
        >>> ffai = FFAI(FakeClient(["To Lisbon.", "In May."]), memory=Memory(FakeEmbedder()))
        >>> thread = ffai.rag.thread("trip", "alice")
        >>> _ = thread.ask("Where do we go?"), thread.ask("And when?")
        >>> [message.content for message in thread.history(limit=2)]
        ['And when?', 'In May.']
    """

    def __init__(self, memory: AgentMemory, threads: Threads, scope: MemoryScope, max_turns: int = MAX_TURNS) -> None:
        self._memory, self._threads = memory, threads
        self.scope = scope
        """Whose it is."""
        self.max_turns = check_whole("max_turns", max_turns, least=1)

    # Reading and changing

    def add(self, role: Role | str, text: str) -> None:
        """Add a message, and drop the oldest beyond those that are kept.

        Raises:
            InvalidArgumentError, ArgumentTypeError: the role is none of :class:`Role`, or the text is no text.
            StoreError: it can't be written just now; nothing is added.
            ClosedError: the memory was closed.
        """
        self.add_all([(role, text)])

    async def aadd(self, role: Role | str, text: str) -> None:
        """Await :meth:`add`."""
        await self.aadd_all([(role, text)])

    def add_all(self, messages: Iterable[tuple[Role | str, str]]) -> None:
        """Add several messages, each a role and a text, all or none; see :meth:`add`."""
        kept = [(_role(role).value, text) for role, text in messages]
        self._threads.add(kept, scope=self.scope, keep=2 * self.max_turns)

    async def aadd_all(self, messages: Iterable[tuple[Role | str, str]]) -> None:
        """Await :meth:`add_all`."""
        kept = [(_role(role).value, text) for role, text in messages]
        await self._threads.aadd(kept, scope=self.scope, keep=2 * self.max_turns)

    def history(self, limit: int | None = None) -> list[ChatMessage]:
        """Return the last messages, oldest first.

        Args:
            limit: how many messages at the most; ``None`` for all.

        Raises:
            InvalidArgumentError, ArgumentTypeError: the limit is negative, or no whole number.
            StoreError: they can't be read just now.
        """
        return [_message(row) for row in self._threads.history(limit, scope=self.scope)]

    async def ahistory(self, limit: int | None = None) -> list[ChatMessage]:
        """Await :meth:`history`."""
        return [_message(row) for row in await self._threads.ahistory(limit, scope=self.scope)]

    def clear(self) -> int:
        """Forget all messages for good; returns how many there were.

        Raises:
            StoreError: the files can't be written just now.
        """
        return self._threads.clear(scope=self.scope)

    async def aclear(self) -> int:
        """Await :meth:`clear`."""
        return await self._threads.aclear(scope=self.scope)

    # Asking

    def ask(self, question: str, **options: Unpack[AskKeywords]) -> AskResult:
        """Ask with the thread in front of the question; see :meth:`AgentMemory.ask`, whose options these are."""
        return self._memory.ask(question, thread=self, **options)

    def aask(self, question: str, **options: Unpack[AskKeywords]) -> Coroutine[Any, Any, AskResult]:
        """Await :meth:`ask`. Arguments are checked, and the scope is taken, when it is called."""
        return self._memory.aask(question, thread=self, **options)

    def stream_ask(self, question: str, **options: Unpack[AskKeywords]) -> AnswerStream:
        """Ask for the answer in pieces; see :meth:`AgentMemory.stream_ask`."""
        return self._memory.stream_ask(question, thread=self, **options)

    def astream_ask(self, question: str, **options: Unpack[AskKeywords]) -> AsyncAnswerStream:
        """Iterate asynchronously; see :meth:`stream_ask`."""
        return self._memory.astream_ask(question, thread=self, **options)


def _role(role: str) -> Role:
    check_str("role", role)
    if role not in _ROLES:
        raise InvalidArgumentError(f"role must be one of {', '.join(map(repr, map(str, Role)))}, not {role!r:.100}.")
    return Role(role)


def _message(row: ThreadRow) -> ChatMessage:
    return ChatMessage(Role(row.role) if row.role in _ROLES else Role.USER, row.content)
