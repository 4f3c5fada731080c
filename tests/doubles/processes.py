"""Memories in processes of their own, that do what they are told."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any

from ffai.core.memory import Memory
from ffai.testing import FakeEmbedder

LONGEST = 100.0
"""Seconds that an answer may take on a busy machine."""
Ask = Callable[..., Any]


def embedder_of(dimensions: int) -> FakeEmbedder:
    """An embedder whose name tells its size, so that every process knows it."""
    return FakeEmbedder(dimensions, model=f"fake/{dimensions}")


def opened_at(folder: Path, dimensions: int = 8) -> Memory:
    """Open a memory in a folder."""
    memory = Memory(embedder_of(dimensions))
    memory.persist_to(folder)
    return memory


class Another:
    """A process with a memory open on a folder. It does one thing at a time, in the order it is told.

    Args:
        folder: where its memory is; none is open at first if it is left out.
        dimensions: the size of its embedder's vectors.
        how: ``"spawn"`` or ``"fork"``.
    """

    def __init__(self, folder: Path | None = None, dimensions: int = 8, how: str = "spawn") -> None:
        context: Any = multiprocessing.get_context(how)
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, folder, dimensions), daemon=True)
        self._process.start()
        theirs.close()

    def tell(self, work: Ask | str, *args: Any, **kwargs: Any) -> None:
        """Let it begin something: a method of its memory, or a function of a module, called with its memory first."""
        self._pipe.send((work, args, kwargs))

    def answer(self) -> Any:
        """Wait for what the earliest thing that was not answered yet gave; raises what it raised."""
        if not self._pipe.poll(LONGEST):
            raise TimeoutError("the other process does not answer")
        result, error = self._pipe.recv()
        if error is not None:
            raise error
        return result

    def answers_within(self, seconds: float) -> bool:
        """Tell whether it has an answer within a time."""
        return self._pipe.poll(seconds)

    def do(self, work: Ask | str, *args: Any, **kwargs: Any) -> Any:
        """Let it do something, and wait for what that gives."""
        self.tell(work, *args, **kwargs)
        return self.answer()

    def move(self, folder: Path | None, dimensions: int = 8) -> None:
        """Let it close its memory and open one in another folder, or none."""
        self._pipe.send((None, (folder, dimensions), {}))
        self.answer()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.join()

    def __enter__(self) -> Another:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let it close its memory and end."""
        self._pipe.close()
        self._process.join(LONGEST if error is None else 1.0)
        ended = self._process.exitcode is not None
        self.kill()
        assert ended or error is not None, "the other process does not end"


class _Host:
    """Does what the process is told."""

    def __init__(self) -> None:
        self.memory: Memory | None = None

    def move(self, folder: Path | None, dimensions: int) -> None:
        if self.memory is not None:
            self.memory.close(timeout=60)
        self.memory = None if folder is None else opened_at(folder, dimensions)

    def do(self, work: Ask | str | None, *args: Any, **kwargs: Any) -> Any:
        if work is None:
            return self.move(*args)
        return (
            getattr(self.memory, work)(*args, **kwargs) if isinstance(work, str) else work(self.memory, *args, **kwargs)
        )


def _serve(pipe: Connection, folder: Path | None, dimensions: int) -> None:
    host = _Host()
    host.move(folder, dimensions)
    with contextlib.suppress(EOFError, OSError):  # it is not needed any more
        while True:
            work, args, kwargs = pipe.recv()
            try:
                answer = host.do(work, *args, **kwargs), None
            except Exception as error:
                answer = None, error
            pipe.send(answer)
    host.move(None, dimensions)
