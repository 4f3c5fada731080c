"""A call that failed for a passing reason is made again, after the wait that was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffai.chat import acall, astream, call, stream
from ffai.clients import RetryClient, RetryPolicy
from ffai.errors import AllClientsFailedError, ArgumentTypeError, ClientError, InvalidArgumentError
from ffai.testing import AsyncFakeClient, FakeClient


class StatusError(Exception):
    """An error as a provider's library raises it."""

    def __init__(self, status_code: int, **headers: str) -> None:
        super().__init__(f"status {status_code}")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.response = SimpleNamespace(status_code=status_code, headers={"Date": "now", **named})


class Waits:
    """A clock that does not wait, and notes the seconds."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def policy(self, **settings: Any) -> RetryPolicy:
        return RetryPolicy(sleep=self.sleep, asleep=self.asleep, **{"exponential_jitter": False, **settings})

    def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)

    async def asleep(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.mark.parametrize(
    "passing",
    [
        *(StatusError(code) for code in (408, 429, 500, 502, 503, 504, 529)),
        TimeoutError("slow"),
        ConnectionResetError("reset"),
        type("ReadTimeout", (type("TransportError", (Exception,), {}),), {})("an httpx error, by its name"),
    ],
)
def test_a_passing_error_is_tried_again(passing: Exception, waits: Waits) -> None:
    inner = FakeClient([passing, passing, "Fine."])
    assert RetryClient(inner, waits.policy()).generate_response("Hi").text == "Fine."
    assert waits.seconds == [1.0, 2.0]


@pytest.mark.parametrize(
    "lasting",
    [
        *(StatusError(code) for code in (400, 401, 403, 404, 422)),
        ValueError("wrong"),
        KeyError("x"),
        ClientError("odd"),
    ],
)
def test_a_lasting_error_is_raised_at_once(lasting: Exception, waits: Waits) -> None:
    inner = FakeClient([lasting])
    with pytest.raises(type(lasting)) as caught:
        RetryClient(inner, waits.policy()).generate_response("Hi")
    assert caught.value is lasting
    assert (len(inner.calls), waits.seconds) == (1, [])


def test_the_last_error_is_raised_when_attempts_run_out(waits: Waits) -> None:
    inner = FakeClient([StatusError(503), StatusError(503), StatusError(429), "too late"])
    with pytest.raises(StatusError, match="429"):
        RetryClient(inner, waits.policy(max_attempts=3)).generate_response("Hi")
    assert len(inner.calls) == 3


def test_a_cause_counts_too(waits: Waits) -> None:
    def wrapped(_: object) -> None:
        try:
            raise ConnectionRefusedError("nobody listens")
        except ConnectionRefusedError as error:
            raise RuntimeError("the call failed") from error

    assert RetryClient(FakeClient([wrapped, "Fine."]), waits.policy()).generate_response("Hi").text == "Fine."


@pytest.mark.parametrize(
    ("error", "wait"),
    [
        (StatusError(429, retry_after="7"), 7.0),
        (StatusError(429, Retry_After="0.5"), 0.5),
        (StatusError(503, retry_after="7", retry_after_ms="250"), 0.25),
        (StatusError(429, retry_after="soon"), 1.0),
        (StatusError(429, retry_after="nan"), 1.0),
        (StatusError(429, retry_after="-3"), 0.0),
        (StatusError(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"), 0.0),
    ],
)
def test_the_wait_is_the_one_the_server_tells(error: Exception, wait: float, waits: Waits) -> None:
    RetryClient(FakeClient([error, "Fine."]), waits.policy()).generate_response("Hi")
    assert waits.seconds == [wait]


def test_a_date_is_waited_for(waits: Waits) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    RetryClient(FakeClient([StatusError(429, retry_after=date), "Fine."]), waits.policy()).generate_response("Hi")
    assert 27 < waits.seconds[0] <= 30


def test_an_error_may_tell_the_wait_itself(waits: Waits) -> None:
    error = StatusError(429)
    error.retry_after = 4  # type: ignore[attr-defined]
    RetryClient(FakeClient([error, "Fine."]), waits.policy()).generate_response("Hi")
    assert waits.seconds == [4.0]


def test_a_told_wait_that_is_too_long_is_not_begun(waits: Waits) -> None:
    inner = FakeClient([StatusError(429, retry_after="3600"), "too early"])
    with pytest.raises(StatusError):
        RetryClient(inner, waits.policy()).generate_response("Hi")
    assert (len(inner.calls), waits.seconds) == (1, [])


def test_waits_grow_up_to_the_longest(waits: Waits) -> None:
    policy = waits.policy(max_attempts=6, min_wait_seconds=2, max_wait_seconds=20, exponential_base=3)
    RetryClient(FakeClient([TimeoutError()] * 5 + ["Fine."]), policy).generate_response("Hi")
    assert waits.seconds == [2, 6, 18, 20, 20]


@given(st.integers(1, 50), st.floats(0, 10), st.floats(1, 4))
def test_chance_varies_a_wait_between_half_and_all_of_it(attempt: int, shortest: float, base: float) -> None:
    settings = {"max_attempts": 99, "min_wait_seconds": shortest, "exponential_base": base}
    whole = RetryPolicy(exponential_jitter=False, **settings).wait(TimeoutError(), attempt)  # type: ignore[arg-type]
    varied = RetryPolicy(**settings).wait(TimeoutError(), attempt)  # type: ignore[arg-type]
    assert whole is not None
    assert varied is not None
    assert whole / 2 <= varied <= whole <= 60


def test_of_several_failed_models_the_soonest_to_come_back_counts() -> None:
    policy = RetryPolicy(exponential_jitter=False)
    errors = [
        ("a", StatusError(401)),
        ("b", StatusError(429, retry_after="20")),
        ("c", StatusError(429, retry_after="5")),
    ]
    assert policy.wait(AllClientsFailedError(errors), 1) == 5.0
    assert policy.wait(AllClientsFailedError([("a", StatusError(401)), ("b", StatusError(404))]), 1) is None


async def test_async_calls_and_streams_are_tried_again_the_same_way(waits: Waits) -> None:
    client = RetryClient(
        FakeClient([TimeoutError(), "one", TimeoutError(), "two", TimeoutError(), "three"]), waits.policy()
    )
    assert (await acall(client, "Hi")).text == "one"
    assert list(stream(client, "Hi")) == ["two"]
    pieces = astream(client, "Hi")
    assert [piece async for piece in pieces] == ["three"]
    assert pieces.reply.text == "three"
    assert waits.seconds == [1.0] * 3


async def test_an_async_client_is_tried_again(waits: Waits) -> None:
    client = RetryClient(AsyncFakeClient([StatusError(429), "one", StatusError(429), "two"]), waits.policy())
    assert (await client.agenerate_response("Hi")).text == "one"
    assert [piece async for piece in client.astream_response("Hi")] == ["two"]
    with pytest.raises(TypeError, match="agenerate_response"):
        client.generate_response("Hi")
    with pytest.raises(TypeError, match="astream_response"):
        list(client.stream_response("Hi"))


def test_a_stream_that_breaks_after_its_first_piece_is_not_tried_again(waits: Waits) -> None:
    def broken() -> Iterator[str]:
        yield "half "
        raise ConnectionResetError

    pieces = RetryClient(FakeClient([broken(), "again"]), waits.policy()).stream_response("Hi")
    assert next(pieces) == "half "
    with pytest.raises(ConnectionResetError):
        next(pieces)
    assert waits.seconds == []


def test_a_stream_checks_its_prompt_at_once_and_asks_late(waits: Waits) -> None:
    inner = FakeClient()
    client = RetryClient(inner, waits.policy())
    with pytest.raises(InvalidArgumentError, match="`prompt`"):
        client.stream_response(" ")
    with pytest.raises(ArgumentTypeError, match="`prompt`"):
        client.astream_response(None)  # type: ignore[arg-type]
    client.stream_response("Hi")
    assert inner.calls == []


def test_the_rest_of_the_client_is_the_inner_ones(waits: Waits) -> None:
    inner = FakeClient(["one"], model="inner", system_instructions="Be brief.")
    client = RetryClient(inner, waits.policy())
    client.generate_response("Hi")
    assert (client.model, client.system_instructions) == ("inner", "Be brief.")
    assert client.get_conversation_history() == inner.get_conversation_history()
    client.add_tool_result("call_1", "3")
    client.set_conversation_history(client.get_conversation_history()[:1])
    assert len(inner.get_conversation_history()) == 1
    clone = client.clone()
    assert clone.get_conversation_history() == []
    assert (type(clone), clone.policy) == (RetryClient, client.policy)
    client.clear_conversation()
    assert inner.get_conversation_history() == []


def test_options_reach_the_inner_client(waits: Waits) -> None:
    inner = FakeClient()
    call(RetryClient(inner, waits.policy()), "Hi", temperature=0.3)
    assert inner.calls[0].options == {"temperature": 0.3}


@pytest.mark.parametrize(
    "wrong", [{"max_attempts": 0}, {"min_wait_seconds": -1}, {"min_wait_seconds": 5, "max_wait_seconds": 4}]
)
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match=next(iter(wrong))):
        RetryPolicy(**wrong)


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="`client`"):
        RetryClient("gpt-4o")
