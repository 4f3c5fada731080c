"""Virtual environments of the rivals, one each, made where they are missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.rivals.rival import Rival

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build/benchmarks"

ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "RAYON_NUM_THREADS",
        "TOKIO_WORKER_THREADS",
        "LANCE_CPU_THREADS",
        "LANCE_IO_THREADS",
        "POLARS_MAX_THREADS",
    ),
    "1",
)
QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "RUST_LOG": "error", "PYTHONUNBUFFERED": "1"}

_QUIETLY = ("--quiet", "--no-compile", "--disable-pip-version-check")


class NotInstalledError(Exception):
    """A rival's environment could not be made."""


def python_of(rival: Rival) -> Path:
    """Return the interpreter of a rival's environment, made now if it is missing or holds something else.

    Raises:
        NotInstalledError: it could not be made; pip's words are printed.
    """
    if not rival.requirements:
        return Path(sys.executable)
    folder = BUILD / rival.engine
    python, note = folder / "bin/python", folder / "installed.txt"
    wanted = "\n".join(rival.requirements)
    if not note.is_file() or note.read_text() != wanted:
        print(f"Installing {' '.join(rival.requirements)} ...", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        try:
            _run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
            _run([sys.executable, "-m", "pip", "--python", str(python), "install", *_QUIETLY, *rival.requirements])
        except NotInstalledError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        note.write_text(wanted)
    return python


def variables_of(rival: Rival) -> dict[str, str]:
    """Return the environment variables of a rival's process: one thread; this repository only for what runs from it."""
    variables = {**os.environ, **ONE_THREAD, **QUIET}
    variables.pop("PYTHONPATH", None)
    return variables if rival.requirements else {**variables, "PYTHONPATH": str(ROOT)}


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        raise NotInstalledError(f"{' '.join(command[1:3])} ended with code {done.returncode}")
