"""A real chat model on this machine: llama.cpp's server in a process of its own, speaking OpenAI's protocol."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ffai._lazy import require
from ffai.errors import ClientError


@contextmanager
def local_chat_server(weights: Path, *, start_timeout: float = 60.0) -> Iterator[str]:
    """Serve a chat model for as long as the block runs.

    The server ends with the block. It also ends when this process is killed: it watches a pipe that only this process
    holds open.

    Args:
        weights: a GGUF file.
        start_timeout: seconds that the server may take to answer.

    Yields:
        The address for ``api_base``, such as ``http://127.0.0.1:40001/v1``.

    Raises:
        ClientError: the server did not start; tells the end of what it wrote.

    Examples:
        >>> with local_chat_server(Path("SmolLM2-135M-Instruct.Q4_1.gguf")) as api_base:  # doctest: +SKIP
        ...     client = LiteLLMClient("openai/smollm2", api_base=api_base, api_key="local")
    """
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "ffai.cli.chat_server", str(weights)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,  # Ctrl-C is for us: we end the server when the block ends
        )
        try:
            yield _address(server, log, start_timeout)
        finally:
            _end(server)


def _address(server: subprocess.Popen[str], log: IO[bytes], timeout: float) -> str:
    too_late = threading.Timer(timeout, server.kill)
    too_late.start()
    try:
        for line in server.stdout or ():
            word, _, address = line.strip().partition(" ")
            if word == "ready":
                return f"{address}/v1"
    finally:
        too_late.cancel()
    server.wait()
    log.seek(0)
    told = log.read().decode("utf-8", "replace").strip()[-1000:]
    raise ClientError(
        f"The local chat server did not start within {timeout:g} s (exit code {server.returncode}). {told}"
    )


def _end(server: subprocess.Popen[str]) -> None:
    for pipe in (server.stdin, server.stdout):
        if pipe is not None:
            pipe.close()
    try:
        server.wait(3)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _serve(weights: str) -> None:
    """Serve until stdin ends, which it does when the process that started us closes it or dies."""
    xllamacpp = require("xllamacpp", extra="demo")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = weights
    parameters.model_alias = {Path(weights).stem}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0  # any free one
    parameters.n_ctx, parameters.n_parallel = 2048, 1
    parameters.cpuparams.n_threads = 1  # two threads on two busy cores were measured up to 30 times slower
    parameters.use_jinja, parameters.ui, parameters.warmup = True, False, True
    server = xllamacpp.Server(parameters)
    print(f"ready {server.listening_address}", flush=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on
    sys.stdin.read()
    os._exit(0)  # the server's own threads would be waited for


if __name__ == "__main__":
    _serve(sys.argv[1])
