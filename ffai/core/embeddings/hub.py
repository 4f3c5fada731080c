"""What of a model hub is on this machine, and whether the hub answers."""

from __future__ import annotations

import os
import queue
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ffai.core.embeddings.whole import why_not_whole

PROBE_SECONDS = 5.0
"""How long a hub is given to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubModel:
    """The files of one model in a hub's cache folder.

    Examples:
        >>> model = HubModel(repo="Qdrant/all-MiniLM-L6-v2-onnx", cache=Path("no-such-folder"), needs=("model.onnx",))
        >>> model.cached() is None
        True
    """

    repo: str
    """Owner and name of the repository in the hub."""
    cache: Path
    """The cache folder, in the layout that Hugging Face's own library uses."""
    needs: tuple[str, ...]
    """The files without which the model can't be loaded."""
    takes: tuple[str, ...] = ()
    """Patterns of further files that are downloaded too."""

    def cached(self) -> Path | None:
        """Return the folder of a snapshot that has all files that are needed, whole; None where there is none."""
        for entry in self._entries():
            for snapshot in _snapshots(entry):
                if all(why_not_whole(snapshot / name) is None for name in self.needs):
                    return snapshot
        return None

    def damage(self) -> str | None:
        """Say what is wrong with a needed file that is there: the hub's library takes it for a finished download."""
        for entry in self._entries():
            for file in (snapshot / name for snapshot in _snapshots(entry) for name in self.needs):
                if file.exists() and (problem := why_not_whole(file)) is not None:
                    return f"{str(file)!r} {problem}"
        return None

    def remove(self) -> None:
        """Delete what the cache has of this model.

        Raises:
            OSError: the cache can't be written.
        """
        for entry in self._entries():
            shutil.rmtree(entry)

    def _entries(self) -> list[Path]:
        """Find the model's folders; the case of a repository's name has changed over time."""
        wanted = f"models--{self.repo.replace('/', '--')}"
        exact = self.cache / wanted
        try:
            others = [path for path in self.cache.iterdir() if path.name.lower() == wanted.lower() and path != exact]
        except OSError:
            return []
        return [path for path in (exact, *others) if path.is_dir()]


def cache_folder(*variables: str) -> Path:
    """Return the folder that models are kept in: durable, and shared with other programs that use the hub.

    Args:
        variables: environment variables that name a folder and come before those of the hub's own library.

    Examples:
        >>> cache_folder().is_absolute()
        True
    """
    for variable in (*variables, "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if folder := os.environ.get(variable, "").strip():
            return _absolute(folder)
    if home := os.environ.get("HF_HOME", "").strip():
        return _absolute(home) / "hub"
    return _absolute(os.environ.get("XDG_CACHE_HOME", "").strip() or "~/.cache") / "huggingface" / "hub"


def hub_address() -> str:
    """Return the hub's address: ``HF_ENDPOINT``, else Hugging Face's own.

    Examples:
        >>> hub_address().startswith("http")
        True
    """
    return os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or "https://huggingface.co"


def is_offline() -> bool:
    """Tell whether the user has switched the hub off, with ``HF_HUB_OFFLINE`` or ``TRANSFORMERS_OFFLINE``.

    Examples:
        >>> isinstance(is_offline(), bool)
        True
    """
    switches = (os.environ.get(name, "") for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"))
    return any(switch.strip().lower() in {"1", "true", "yes", "on"} for switch in switches)


def why_silent(address: str, seconds: float = PROBE_SECONDS) -> str | None:
    """Ask a server for a sign of life, through the proxy that the environment names.

    Returns:
        None when it answers, whatever it says; else why it can't be reached. Never later than ``seconds``.

    Examples:
        >>> "refused" in why_silent("http://127.0.0.1:9")
        True
    """
    answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    from http.client import HTTPException  # loaded where it is needed: it brings ssl and email with it

    def ask() -> None:
        try:
            answers.put(_knock(address, seconds))
        except (OSError, ValueError, HTTPException) as error:  # no address, or no HTTP
            answers.put(f"{type(error).__name__}: {error}")

    try:
        # In a thread of its own, because a look-up of the name has no time limit.
        threading.Thread(target=ask, name="ffai-hub-probe", daemon=True).start()
        return answers.get(timeout=seconds)
    except queue.Empty:
        return f"no answer in {seconds:g} s"
    except RuntimeError:  # Python starts no thread any more
        return "the interpreter is shutting down"


def _knock(address: str, seconds: float) -> str | None:
    import ssl
    import urllib.error
    import urllib.request

    request = urllib.request.Request(address, method="HEAD")  # noqa: S310 - the user's own HF_ENDPOINT
    try:
        # An opener of its own: the shared one keeps the proxies that were set when it was first used.
        urllib.request.build_opener().open(request, timeout=seconds).close()
    except urllib.error.HTTPError as error:
        error.close()
        return f"HTTP status {error.code}" if error.code >= 500 else None
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLError):
            return None  # something is there; whom to trust is the downloading library's own setting
        return str(error.reason)
    except OSError as error:
        return str(error)
    return None


def _snapshots(entry: Path) -> Iterator[Path]:
    """Yield the snapshot that ``main`` points to, then the others."""
    try:
        main = (entry / "refs" / "main").read_text().strip()
        yield entry / "snapshots" / main
    except OSError:
        main = ""
    try:
        yield from (path for path in sorted((entry / "snapshots").iterdir()) if path.name != main)
    except OSError:
        return


def _absolute(folder: str) -> Path:
    return Path(os.path.expandvars(folder)).expanduser().absolute()
