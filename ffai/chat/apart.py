"""Asking a client beside the conversation that it keeps: neither hears of the other."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any
from weakref import WeakValueDictionary

from ffai._fork import held_over_forks
from ffai.chat.away import away_of
from ffai.chat.calling import check_client, method
from ffai.errors import ArgumentTypeError, ClientError
from ffai.typing import Prompt


@contextlib.contextmanager
def apart(client: Any) -> Iterator[Any]:
    """Give a client to ask: nothing of the conversation that the given one keeps is sent along or added to.

    That is a clone, where the client has a ``clone()``, and the client itself, where it keeps no conversation. Else its
    conversation is put away, and put back as it was: one such block at a time for a client, the others wait. What the
    client is asked elsewhere meanwhile is then missing from its conversation too, so a ``clone()`` is better.

    Args:
        client: any chat client.

    Raises:
        ArgumentTypeError: it is no client, or keeps a conversation that can't be put away.
        ClientError: this thread is inside such a block of the client already, and would wait for itself.

    Examples:
        >>> from ffai.testing import FakeClient
        >>> client = FakeClient()
        >>> _ = client.generate_response("Where is the key?")
        >>> with apart(client) as asked:
        ...     asked.generate_response("And the cat?")
        'Reply to: And the cat?'
        >>> [message["content"] for message in client.get_conversation_history()]
        ['Where is the key?', 'Reply to: Where is the key?']
    """
    check_client(client)
    other = _beside(client)
    if other is not None:
        yield other
        return
    turns = _turns_of(client)
    turns.wait()
    try:
        added = turns.away.begin_unheard()
        try:
            yield client
        finally:
            turns.away.end_unheard(added)
    finally:
        turns.end()


@contextlib.asynccontextmanager
async def aapart(client: Any) -> AsyncIterator[Any]:
    """The async twin of `apart`: waits without blocking the loop.

    Examples:
        >>> from ffai.testing import FakeClient
        >>> async def ask(client):
        ...     async with aapart(client) as asked:
        ...         return await asked.agenerate_response("And the cat?")
        >>> asyncio.run(ask(FakeClient(["On the mat."])))
        'On the mat.'
    """
    check_client(client)
    other = _beside(client)
    if other is not None:
        yield other
        return
    turns = _turns_of(client)
    await turns.await_()
    with contextlib.ExitStack() as coming_in:
        coming_in.callback(turns.end)
        added = turns.away.begin_unheard()
        coming_in.pop_all()

    def give_back() -> None:
        try:
            turns.away.end_unheard(added)
        finally:
            turns.end()

    lent = _Lent(client, give_back)
    try:
        yield lent.client
    finally:
        lent.leave()


def _beside(client: Any) -> Any | None:
    """Return a client that can be asked with no regard to the conversation of the given one, or ``None``."""
    if clone := method(client, "clone"):
        # A chain can't be cloned where one of its members can't.
        with contextlib.suppress(ArgumentTypeError):
            return clone()
    get, put = method(client, "get_conversation_history"), method(client, "set_conversation_history")
    if get is None and put is None:
        return client
    if get is None or put is None:
        raise ArgumentTypeError(
            f"{type(client).__name__} keeps a conversation that can't be put away. Give it a clone() that returns a "
            "client with the same settings and no conversation, or both get_ and set_conversation_history."
        )
    return None


class _Lent:
    """A client that is given out, and given back when it is left and no thread asks it any more.

    A task can be cancelled, the thread that it waits for can't: until that has come to its end, it adds to the
    conversation.
    """

    def __init__(self, client: Any, give_back: Callable[[], None]) -> None:
        answers_async = method(client, "agenerate_response") or inspect.iscoroutinefunction(client.generate_response)
        self.client = client if answers_async else _AskedInThreads(client, self)
        self._give_back = give_back
        self._lock = threading.Lock()
        self._inside = 1

    def enter(self) -> None:
        with self._lock:
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside:
                return
        self._give_back()


class _AskedInThreads:
    """A client that only answers synchronously, for the async calls."""

    def __init__(self, client: Any, lent: _Lent) -> None:
        self._client, self._lent = client, lent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def agenerate_response(self, prompt: Prompt, **kwargs: Any) -> Any:
        def ask() -> Any:
            try:
                return self._client.generate_response(prompt, **kwargs)
            finally:
                self._lent.leave()

        self._lent.enter()
        try:
            work = asyncio.get_running_loop().run_in_executor(None, copy_context().run, ask)
        except RuntimeError:  # the loop takes no work any more
            self._lent.leave()
            raise
        return await asyncio.shield(work)


class _Turns:
    """A queue at a client: threads and tasks of any loop are let in one at a time, in the order they came."""

    def __init__(self, client: Any) -> None:
        self.away = away_of(client)
        self._client = client  # so that its id stays its own
        # A stream that nobody reads any more may end, and go out, at any line that runs under the lock.
        self._lock = held_over_forks(threading.RLock())
        self._waiting: deque[tuple[Future[None], Any]] = deque()
        self._inside: tuple[int, Any] | None = None
        """The thread and the task that are in."""

    def wait(self) -> None:
        """Come in, after those who came before."""
        turn = self._queued(None)
        with contextlib.ExitStack() as waiting:
            waiting.callback(self._leave, turn)
            turn.result()
            waiting.pop_all()

    async def await_(self) -> None:
        """The async twin of `wait`."""
        turn = self._queued(asyncio.current_task())
        with contextlib.ExitStack() as waiting:
            waiting.callback(self._leave, turn)
            await asyncio.wrap_future(turn)
            waiting.pop_all()

    def end(self) -> None:
        """Go out, and let the next one in."""
        with self._lock:
            self._inside = None
            self._let_in()

    def _queued(self, task: Any) -> Future[None]:
        turn: Future[None] = Future()
        who = (threading.get_ident(), task)
        with self._lock:
            inside = self._inside
            if inside == who or (inside is not None and task is None and inside[0] == who[0]):
                raise ClientError(
                    f"{type(self._client).__name__} is being asked beside its conversation on this thread already. "
                    "Read that stream to its end or close it first, or give the client a clone()."
                )
            self._waiting.append((turn, who))
            self._let_in()
        return turn

    def _let_in(self) -> None:
        while self._inside is None and self._waiting:
            turn, who = self._waiting.popleft()
            if turn.set_running_or_notify_cancel():
                self._inside = who
                turn.set_result(None)

    def _leave(self, turn: Future[None]) -> None:
        """Wait no more; where the turn came at the same moment, it goes to the next one."""
        if not turn.cancel():
            self.end()


_noting = held_over_forks(threading.Lock())
_turns: WeakValueDictionary[int, _Turns] = WeakValueDictionary()
"""By the id of the client; there as long as somebody is in the queue."""


def _turns_of(client: Any) -> _Turns:
    with _noting:
        turns = _turns.get(id(client))
        if turns is None:
            turns = _turns[id(client)] = _Turns(client)
        return turns
