"""Trying again: when, how often, and how long to wait before."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

from ffai.chat.calling import acall, astream, call, check_client, cloned, stream
from ffai.chat.flow import Failed, Flow, arun, run
from ffai.chat.message import check_prompt
from ffai.chat.reply import ChatReply
from ffai.chat.streaming import AsyncReplyStream, ReplyStream
from ffai.clients.failure import read_failure
from ffai.core.redact import redact
from ffai.errors import AllClientsFailedError, InvalidArgumentError
from ffai.typing import Prompt

logger = logging.getLogger(__name__)

S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When a failed call is tried again, and how long to wait before.

    A status in the list, a lost connection and a timeout are tried again. Wrong arguments, a refused or missing key and
    an unknown model are not. What the server says about waiting is done; a wait longer than ``max_wait_seconds`` is not
    begun: the error is raised at once.

    Examples:
        >>> RetryPolicy(exponential_jitter=False).wait(TimeoutError(), attempt=2)
        2.0
    """

    max_attempts: int = 3
    """How often a call is made in all."""
    min_wait_seconds: float = 1.0
    """The wait before the second attempt; each further one is longer."""
    max_wait_seconds: float = 60.0
    exponential_base: float = 2.0
    """What each wait is multiplied by to get the next."""
    exponential_jitter: bool = True
    """Whether a wait is varied by chance between half and all of it, so that many clients don't come back together."""
    retry_on_status_codes: tuple[int, ...] = (408, 429, 500, 502, 503, 504, 529)
    sleep: Callable[[float], object] = field(default=time.sleep, repr=False, compare=False)
    """Waits, in a sync call; a test puts its own here."""
    asleep: Callable[[float], Awaitable[object]] = field(default=asyncio.sleep, repr=False, compare=False)
    """Waits, in an async call."""

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise InvalidArgumentError(f"`max_attempts` must be 1 or more, not {self.max_attempts!r}.")
        if not 0 <= self.min_wait_seconds <= self.max_wait_seconds:
            raise InvalidArgumentError(
                "`min_wait_seconds` must be between 0 and `max_wait_seconds`, "
                f"not {self.min_wait_seconds!r} with {self.max_wait_seconds!r}."
            )

    def wait(self, error: BaseException, attempt: int) -> float | None:
        """Return the seconds to wait after a failed attempt; ``None`` where it should not be tried again.

        Args:
            error: what the attempt raised.
            attempt: its number, from 1.
        """
        if attempt >= self.max_attempts:
            return None
        causes = [cause for _, cause in error.errors] if isinstance(error, AllClientsFailedError) else [error]
        waits = [wait for cause in causes if (wait := self._wait(cause, attempt)) is not None]
        return min(waits, default=None)

    def _wait(self, error: BaseException, attempt: int) -> float | None:
        failure = read_failure(error)
        if not failure.lost and failure.status not in self.retry_on_status_codes:
            return None
        if failure.told_wait is not None:
            return failure.told_wait if failure.told_wait <= self.max_wait_seconds else None
        wait = min(self.max_wait_seconds, self.min_wait_seconds * self.exponential_base ** (attempt - 1))
        return random.uniform(wait / 2, wait) if self.exponential_jitter else wait  # noqa: S311 - not a secret


def as_policy(value: RetryPolicy | Mapping[str, Any] | None) -> RetryPolicy:
    """Return a policy from its fields; the default one for ``None``.

    Raises:
        InvalidArgumentError: there is no such field.

    Examples:
        >>> as_policy({"max_attempts": 5}).max_attempts
        5
    """
    if isinstance(value, RetryPolicy):
        return value
    fields = dict(value or {})
    unknown = sorted(set(fields) - set(RetryPolicy.__dataclass_fields__))
    if unknown:
        raise InvalidArgumentError(f"`retry` has no {unknown!r}. Known: {sorted(RetryPolicy.__dataclass_fields__)!r}.")
    return RetryPolicy(**fields)


@dataclass(frozen=True, slots=True)
class Wait:
    """A step of a flow: let time pass."""

    seconds: float


def retried(policy: RetryPolicy, attempt: Callable[[], Generator[S, Any, Any]]) -> Flow[S | Wait, Any]:
    """Make a flow that repeats another one until it succeeds or the policy says no.

    Args:
        policy: when and how long to wait.
        attempt: makes the flow of one attempt; it returns what came, or `Failed`.

    Raises:
        Exception: the error of the last attempt.

    Examples:
        >>> def attempt(): return (yield "ask")
        >>> flow = retried(RetryPolicy(exponential_jitter=False), attempt)
        >>> next(flow), flow.send(Failed(TimeoutError())), flow.send(None)
        ('ask', Wait(seconds=1.0), 'ask')
    """
    for number in count(1):
        outcome = yield from attempt()
        if not isinstance(outcome, Failed):
            break
        wait = policy.wait(outcome.error, number)
        if wait is None:
            raise outcome.error
        # an error may quote what was sent, and no client knows whether that may be logged
        logger.info("Attempt %d failed, next in %.1f s: %s", number, wait, redact(str(outcome.error)))
        yield Wait(wait)
    return outcome


def taking(policy: RetryPolicy, ask: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what takes the steps of `retried`: it waits, or asks.

    Examples:
        >>> take = taking(RetryPolicy(sleep=print), str.upper)
        >>> take("ask"), take(Wait(0.5))
        0.5
        ('ASK', None)
    """
    return lambda step: policy.sleep(step.seconds) if isinstance(step, Wait) else ask(step)


def ataking(policy: RetryPolicy, ask: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
    """The async twin of `taking`."""
    return lambda step: policy.asleep(step.seconds) if isinstance(step, Wait) else ask(step)


class RetryClient:
    """A client that asks another one again when it fails for a passing reason.

    It has everything that the inner client has. A stream is tried again only before its first piece.

    Args:
        inner: any chat client.
        policy: when to try again; 3 attempts by default.

    Raises:
        ArgumentTypeError: ``inner`` is not a chat client.

    Examples:
        >>> from ffai.testing import FakeClient
        >>> client = RetryClient(FakeClient([TimeoutError(), "Fine."]), RetryPolicy(min_wait_seconds=0))
        >>> client.generate_response("How are you?").text
        'Fine.'
    """

    def __init__(self, inner: Any, policy: RetryPolicy | None = None) -> None:
        check_client(inner)
        self.inner, self.policy = inner, policy or RetryPolicy()

    def generate_response(self, prompt: Prompt, **kwargs: Any) -> ChatReply:
        """Answer a prompt; raises the last error when every attempt failed."""
        prompt = check_prompt(prompt)
        reply: ChatReply = run(self._flow(), taking(self.policy, lambda _: call(self.inner, prompt, **kwargs)))
        return reply

    async def agenerate_response(self, prompt: Prompt, **kwargs: Any) -> ChatReply:
        """The async twin of `generate_response`."""
        prompt = check_prompt(prompt)
        reply: ChatReply = await arun(self._flow(), ataking(self.policy, lambda _: acall(self.inner, prompt, **kwargs)))
        return reply

    def stream_response(self, prompt: Prompt, **kwargs: Any) -> ReplyStream:
        """Answer a prompt in pieces of text."""
        prompt = check_prompt(prompt)
        opening = taking(self.policy, lambda _: stream(self.inner, prompt, **kwargs).start())
        return ReplyStream.opened_by(lambda: run(self._flow(), opening))

    def astream_response(self, prompt: Prompt, **kwargs: Any) -> AsyncReplyStream:
        """The async twin of `stream_response`."""
        prompt = check_prompt(prompt)
        opening = ataking(self.policy, lambda _: astream(self.inner, prompt, **kwargs).start())
        return AsyncReplyStream.opened_by(lambda: arun(self._flow(), opening))

    def clone(self) -> RetryClient:
        """Return a client with the same settings and no conversation.

        Raises:
            ArgumentTypeError: the client inside keeps a conversation, and can't be cloned.
        """
        return RetryClient(cloned(self.inner), self.policy)

    def __getattr__(self, name: str) -> Any:
        if name == "inner":  # not set yet, as while it is copied
            raise AttributeError(name)
        return getattr(self.inner, name)

    def _flow(self) -> Flow[Any, Any]:
        return retried(self.policy, _one_attempt)


def _one_attempt() -> Flow[None, Any]:
    return (yield None)
