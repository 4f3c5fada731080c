"""The background thread, on its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest

from ffai.core.memory.worker import Worker


class Panic(BaseException):
    """What a library in Rust raises: no Exception."""


class Work:
    """Does what is written down, then nothing; a piece is done when its turn in `done` has come."""

    def __init__(self, *pieces: BaseException | None) -> None:
        self._pieces: Iterator[BaseException | None] = iter(pieces)
        self._done = threading.Semaphore(0)

    def __call__(self) -> float | None:
        error = next(self._pieces, None)
        self._done.release()
        if error is not None:
            raise error
        return None

    def wait(self) -> None:
        assert self._done.acquire(timeout=10)


def test_an_error_that_comes_again_and_again_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    work = Work(ValueError("a"), ValueError("a"), Panic("b"), Panic("b"), None, Panic("b"))
    worker = Worker(work, "test")
    for _ in range(7):
        worker.poke()
        work.wait()

    assert worker.stop(10)
    said = [record.exc_info[1] for record in caplog.records if record.levelno == logging.ERROR and record.exc_info]
    assert [str(error) for error in said] == ["a", "b", "b"]
