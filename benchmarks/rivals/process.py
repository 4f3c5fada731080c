"""An engine in a process of its own, asked over a pipe."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.rivals.environment import python_of, variables_of
from benchmarks.rivals.rival import Rival
from benchmarks.vectors import VectorFiles

SERVE = Path(__file__).parent / "engines/serve.py"


class OverTimeError(Exception):
    """A process worked for longer than it may, and was ended."""


class EndedError(Exception):
    """A process ended by itself."""


class EngineProcess:
    """A rival's engine, started in its environment.

    Args:
        rival: which one.
        files: what it adds and is asked.
        limit: seconds of processor time after which it is ended; ``None`` for never.
    """

    def __init__(self, rival: Rival, files: VectorFiles, limit: int | None = None) -> None:
        self._name = rival.name
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed when the process is)
        self._process = subprocess.Popen(
            [str(python_of(rival)), str(SERVE), rival.engine, str(files.rows), str(files.queries), str(limit or 0)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=variables_of(rival),
        )

    def add(self) -> float:
        """Add all rows; return the seconds it took."""
        seconds: float = self._ask("add")["seconds"]
        return seconds

    def search(self, first: int, count: int) -> tuple[list[float], list[list[int]]]:
        """Ask some queries; return for each the microseconds and the rows found."""
        answer = self._ask(f"search {first} {count}")
        return answer["microseconds"], answer["rows"]

    def _ask(self, request: str) -> Mapping[str, Any]:
        """Send a line, await the answer.

        Raises:
            OverTimeError: its limit was reached.
            EndedError: the process ended by itself.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(request + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            answer: Mapping[str, Any] = json.loads(line)
            return answer
        code = self._process.wait()
        if code == -signal.SIGXCPU:
            raise OverTimeError
        self._errors.seek(0)
        print(f"{self._name} ended:\n{self._errors.read()[-2000:]}", flush=True)
        raise EndedError(f"its process ended with code {code}")

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._errors.close()
