"""Loading litellm: the one place that knows what its import does to a process."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

_QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else the import fetches a price list and starts a thread to try again
    "LITELLM_MODE": "PRODUCTION",  # else the import loads the nearest .env into the process
    "DEFAULT_MAX_RETRIES": "0",  # else an embedding call sleeps through a 429 twice, unseen; max_retries=0 does nothing
}

_ENCODINGS = "TIKTOKEN_CACHE_DIR"
_SETS_ENCODINGS = "litellm.litellm_core_utils.default_encoding"

_lock = threading.RLock()
# A fork in the middle of the import would leave the child a module that no thread completes.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def load_litellm() -> ModuleType:
    """Import litellm, once, without its side effects.

    The import opens no socket, reads no ``.env`` and prints nothing; what the user has set in the environment wins, and
    what is set here is taken back. A litellm that the user imported first is left as it is.

    The first call takes seconds, so it belongs where a model is called, never at import.

    Examples:
        >>> load_litellm() is load_litellm()  # doctest: +SKIP
        True
    """
    with _lock:
        if "litellm" in sys.modules:
            return import_module("litellm")
        with _environment(_QUIET), _without_collection():
            litellm = import_module("litellm")
        litellm.suppress_debug_info = True  # type: ignore[attr-defined]  # else each error prints to stdout
        return litellm


def encodings_folder() -> Path | None:
    """Return the folder of the token encodings that litellm brings; ``None`` where it is not installed.

    Litellm is not imported.

    Examples:
        >>> encodings_folder().name
        'tokenizers'
    """
    spec = find_spec("litellm")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"


@contextlib.contextmanager
def encodings_read_from(folder: Path) -> Iterator[None]:
    """Let tiktoken read its encodings from a folder, for as long as the block runs; it can only be told by a variable.

    Litellm sets the same variable for good when it first counts tokens: where that happens meanwhile, it stays.

    Examples:
        >>> with encodings_read_from(Path("there")):
        ...     os.environ["TIKTOKEN_CACHE_DIR"]
        'there'
    """
    with _lock:
        before, had_set = os.environ.get(_ENCODINGS), _SETS_ENCODINGS in sys.modules
        os.environ[_ENCODINGS] = str(folder)
        try:
            yield
        finally:
            if had_set or _SETS_ENCODINGS not in sys.modules:
                os.environ.pop(_ENCODINGS)
                os.environ.update({} if before is None else {_ENCODINGS: before})


@contextlib.contextmanager
def _environment(defaults: Mapping[str, str]) -> Iterator[None]:
    """Set variables that are not set, and take them back."""
    ours = {name: value for name, value in defaults.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Keep the garbage collector off what is imported: a third of the import, and a second at exit, is its work."""
    enabled = gc.isenabled()
    gc.collect()  # what is garbage now would be kept by the freeze
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if enabled:
            gc.enable()
