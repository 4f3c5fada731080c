"""A local model that loads on first use, once a process, and that one thread at a time enters."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from ffai._fork import renew_after_fork
from ffai.core.embeddings.fair_lock import FairLock
from ffai.core.embeddings.hub import PROBE_SECONDS, HubModel, cache_folder, hub_address, is_offline, why_silent
from ffai.core.embeddings.local import LocalSource, check_backend, download, find_source, model_folder
from ffai.errors import DamagedModelError, ModelUnavailableError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ffai.core.embeddings.local import Encode

logger = logging.getLogger(__name__)

_PAUSE_SECONDS = 30.0  # between two tries to reach a hub that did not answer
_BATCH_TEXTS = 32
_BATCH_CHARACTERS = 16_000  # attention over 32 texts of 512 tokens would take 400 MB, and is no faster

# A model that a forked child got from its parent. Its threads are not there, so it is neither used nor taken apart.
_inherited: list[Encode] = []

_shared: WeakValueDictionary[tuple[str, ...], LazyModel] = WeakValueDictionary()
_sharing = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_sharing.acquire, after_in_parent=_sharing.release, after_in_child=_sharing.release)


def local_model(name: str, *, device: str = "cpu", options: Mapping[str, Any] | None = None) -> LazyModel:
    """Return the model of that name; the same one each time, so that a process loads it once.

    Args:
        name: what comes after ``local/``: a name, or the path of a folder.
        device: ``"cpu"``, ``"cuda"``, or another that the library knows.
        options: passed to the library's constructor; a model with options is not shared.

    Raises:
        ModelUnavailableError: no library is installed that runs local models, or the path has no model.

    Examples:
        >>> local_model("all-MiniLM-L6-v2") is local_model("all-MiniLM-L6-v2")
        True
    """
    check_backend(name)
    folder = model_folder(name)
    place = str(folder or cache_folder("FASTEMBED_CACHE_PATH"))
    if options:
        return LazyModel(name, str(folder or name), device=device, options=options)
    with _sharing:
        key = (name, place, device)
        model = _shared.get(key)
        if model is None:
            model = _shared[key] = LazyModel(name, str(folder or name), device=device, options={})
        return model


class LazyModel:
    """A local embedding model. Making one loads nothing.

    Args:
        name: what comes after ``local/``, as the user wrote it.
        where: the same, with a path made absolute.
        device: see `local_model`.
        options: see `local_model`.

    Attributes:
        is_downloading: the model's files are on their way from the hub; calls wait until they are there.

    Examples:
        >>> LazyModel("all-MiniLM-L6-v2", "all-MiniLM-L6-v2", device="cpu", options={}).is_downloading
        False
    """

    def __init__(self, name: str, where: str, *, device: str, options: Mapping[str, Any]) -> None:
        self.is_downloading = False
        self._name, self._where = f"local/{name}", where
        self._device, self._options = device, dict(options)
        self._lock = FairLock()
        self._encode: Encode | None = None
        self._failure: tuple[float, ModelUnavailableError] | None = None
        renew_after_fork(self)

    def ensure_available(self) -> None:
        """Check, in 5 seconds at most, that the model can be loaded or downloaded; loads nothing.

        Raises:
            ModelUnavailableError: says which model, which cache folder, and what to do.
        """
        if self._encode is not None:
            return
        files = self._source().files
        if isinstance(files, HubModel) and files.cached() is None:
            self._check_hub(files, files.damage())

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Return one row per text, in order: shape ``(len(texts), dimensions)``; ``texts`` is not empty.

        Raises:
            ModelUnavailableError: the model can't be loaded.
            EmbeddingError: the model failed.
        """
        import numpy as np

        rows: NDArray[np.float32] | None = None
        for places in _batches(texts):
            with self._lock:  # for one batch, so that a search does not wait for a thousand texts
                if self._encode is None:
                    self._encode = self._load()
                part = self._encode([texts[place] for place in places])
            if rows is None:
                rows = np.empty((len(texts), part.shape[1]), np.float32)
            rows[places] = part
        return np.empty((0, 0), np.float32) if rows is None else rows

    async def aembed(self, texts: list[str]) -> NDArray[np.float32]:
        """The async twin of `embed`, in a thread."""
        return await asyncio.to_thread(self.embed, texts)

    def renew_after_fork(self) -> None:
        """Forget the parent's model and lock: its threads do not exist in the child, which loads its own."""
        if self._encode is not None:
            _inherited.append(self._encode)
        self._lock, self._encode, self.is_downloading = FairLock(), None, False

    def _source(self) -> LocalSource:
        return find_source(self._where, device=self._device, options=self._options)

    def _load(self) -> Encode:
        source = self._source()
        if isinstance(source.files, Path):
            return source.load(source.files)
        damage = source.files.damage()
        if (folder := source.files.cached()) is not None:
            try:
                return source.load(folder)
            except DamagedModelError as error:
                damage = str(error)
        return self._load_from_hub(source, source.files, damage)

    def _load_from_hub(self, source: LocalSource, files: HubModel, damage: str | None) -> Encode:
        """Download the model and load it; for a while after a failure, fail in the same way without trying."""
        if self._failure is not None and (wait := self._failure[0] - time.monotonic()) > 0:
            earlier = self._failure[1]
            raise ModelUnavailableError(
                str(earlier), transient=earlier.transient, retry_after=wait if earlier.transient else None
            ) from earlier
        try:
            self._fetch(files, damage)
            if (folder := files.cached()) is None:
                problem = files.damage() or f"not all of {files.needs} are there"
                raise self._unavailable(files, f"what {hub_address()} sent is no use: {problem}")
            return source.load(folder)
        except ModelUnavailableError as error:
            self._failure = (time.monotonic() + _PAUSE_SECONDS, error)
            raise

    def _fetch(self, files: HubModel, damage: str | None) -> None:
        """Download the model's files, in the place of damaged ones if there are any."""
        self._check_hub(files, damage)
        self.is_downloading = True
        try:
            if damage is not None:
                logger.warning("The files of %r are damaged and are downloaded again: %s", self._name, damage)
                files.remove()
            logger.info("Downloading %r from %s to %s", files.repo, hub_address(), files.cache)
            download(files, force=damage is not None)
        except OSError as error:
            raise self._unavailable(files, f"the cache can't be written: {error}") from error
        finally:
            self.is_downloading = False

    def _check_hub(self, files: HubModel, damage: str | None) -> None:
        """Raise unless the hub answers."""
        problem = f"damaged ({damage})" if damage else "not in the cache"
        if is_offline():
            raise self._unavailable(files, f"it is {problem} and HF_HUB_OFFLINE forbids a download")
        silence = why_silent(hub_address(), PROBE_SECONDS)
        if silence is not None:
            why = f"it is {problem} and {hub_address()} does not answer: {silence}"
            raise self._unavailable(files, why, transient=True)

    def _unavailable(self, files: HubModel, why: str, *, transient: bool = False) -> ModelUnavailableError:
        command = f"python -c \"from ffai import Embeddings; Embeddings('{self._name}').embed('hello')\""
        return ModelUnavailableError(
            f"{self._name!r} can't be loaded: {why}. Cache folder: {str(files.cache)!r}. "
            f"Where the hub can be reached, this downloads it: {command}",
            transient=transient,
            retry_after=_PAUSE_SECONDS if transient else None,
        )


def _batches(texts: list[str]) -> Iterator[list[int]]:
    """Yield the positions of texts that are embedded together: of like length, so that little is padding."""
    batch: list[int] = []
    for place in sorted(range(len(texts)), key=lambda place: len(texts[place])):
        if batch and (len(batch) == _BATCH_TEXTS or (len(batch) + 1) * len(texts[place]) > _BATCH_CHARACTERS):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
