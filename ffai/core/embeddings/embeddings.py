"""Text embeddings from a local model or a provider's, with a cache."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from ffai._text import clean_text
from ffai.core.embeddings.api import ApiModel, find_key
from ffai.core.embeddings.cache import VectorCache
from ffai.core.embeddings.lazy_model import LazyModel, local_model
from ffai.errors import ArgumentTypeError, DimensionError, EmbeddingError, InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LOCAL = "local/"


class CacheStats(TypedDict):
    """What `Embeddings.cache_stats` tells."""

    enabled: bool
    max_size: int
    entries: int


class Embeddings:
    """Turns texts into vectors: with a model on this machine, or with a provider's.

    Making one loads, sends and imports nothing heavy. A local model is loaded, and downloaded where it is missing, by
    the first call that needs it; any number of threads may use it, one at a time enters the model.

    Args:
        model: ``local/<name>`` (``local/all-MiniLM-L6-v2``), ``local/<path of a model folder>``, or
            ``<provider>/<model>`` as litellm knows it.
        api_key: the provider's key; else the one in the environment (``MISTRAL_API_KEY``, ``OPENAI_API_KEY``, ...).
        api_base: address of the provider's server, where it is not the usual one.
        cache_enabled: whether the vectors of texts seen before are kept.
        cache_size: of how many texts.
        device: where a local model runs: ``"cpu"``, ``"cuda"``.
        **kwargs: passed on to litellm's call (``timeout=30``, ``dimensions=256``), or to the local library's
            constructor (``threads=2``).

    Raises:
        ModelUnavailableError: an ``ImportError``: no library that runs local models is installed, or the path has none.
        InvalidArgumentError: a blank model, or a negative cache size.

    Examples:
        >>> embeddings = Embeddings(model="local/all-MiniLM-L6-v2")
        >>> embeddings.provider, embeddings.is_local, embeddings.dimensions
        ('local', True, None)
    """

    concurrent = True
    """Any number of threads may call it at once."""

    def __init__(
        self,
        model: str = "mistral/mistral-embed",
        api_key: str | None = None,
        api_base: str | None = None,
        cache_enabled: bool = True,
        cache_size: int = 256,
        device: str = "cpu",
        **kwargs: Any,
    ) -> None:
        _check_model(model)
        _check_cache_size(cache_size)
        self.model = model
        self.api_key: str | None = None
        self.api_base: str | None = None
        self._model: ApiModel | LazyModel
        if self.is_local:
            self._model = local_model(model.removeprefix(_LOCAL), device=device, options=kwargs)
        else:
            self.api_key, self.api_base = (api_key or "").strip() or find_key(model), api_base
            self._model = ApiModel(model, api_key=self.api_key, api_base=api_base, options=kwargs)
        self._cache = VectorCache(cache_size if cache_enabled else 0)
        self._cache_enabled, self._cache_size = cache_enabled, cache_size
        self._dimensions: int | None = None

    def __repr__(self) -> str:
        return f"Embeddings(model={self.model!r}, dimensions={self._dimensions})"

    @property
    def provider(self) -> str:
        """``"local"``, or what stands before the slash in ``model``; ``"unknown"`` where there is no slash."""
        return self.model.partition("/")[0] if "/" in self.model else "unknown"

    @property
    def is_local(self) -> bool:
        """Whether the model runs on this machine, so that no text leaves it."""
        return self.model.startswith(_LOCAL)

    @property
    def dimensions(self) -> int | None:
        """The length of a vector, in numbers; None until the first one is known."""
        return self._dimensions

    @property
    def is_downloading(self) -> bool:
        """Whether a local model is on its way from the hub; calls from other threads wait until it is there."""
        return self._model.is_downloading

    def embed(self, texts: str | Sequence[str]) -> list[list[float]]:
        """Return one vector per text, in order; a single text counts as a list of one.

        Only texts that are not in the cache go to the model, each once. The vectors are the caller's own.

        Raises:
            ArgumentTypeError: ``texts`` is neither a text nor a list of texts.
            ModelUnavailableError: the local model can't be loaded; says what to do.
            MissingKeyError: the provider needs a key and there is none.
            EmbeddingError: the model failed; ``transient`` and ``retry_after`` tell whether and when to try again.

        Examples:
            >>> Embeddings(model="local/all-MiniLM-L6-v2").embed([])
            []
        """
        wanted = _texts(texts)
        drops, found = self._cache.drops, self._cache.find(wanted)
        missing = _missing(wanted, found)
        if missing:
            found |= self._keep(missing, self._model.embed(missing), drops)
        return [found[text].tolist() for text in wanted]

    async def aembed(self, texts: str | Sequence[str]) -> list[list[float]]:
        """The async twin of `embed`; a local model works in a thread."""
        wanted = _texts(texts)
        drops, found = self._cache.drops, self._cache.find(wanted)
        missing = _missing(wanted, found)
        if missing:
            found |= self._keep(missing, await self._model.aembed(missing), drops)
        return [found[text].tolist() for text in wanted]

    def embed_single(self, text: str) -> list[float]:
        """Return the vector of one text; raises what `embed` raises."""
        return self.embed([text])[0]

    async def aembed_single(self, text: str) -> list[float]:
        """The async twin of `embed_single`."""
        return (await self.aembed([text]))[0]

    def ensure_available(self) -> None:
        """Raise now what the first `embed` would raise for want of a library, a model, a network or a key.

        Loads and sends nothing. Where a local model is not in the cache, the hub is asked for a sign of life, for
        5 seconds at most.

        Raises:
            ModelUnavailableError: the local model is neither in the cache nor to be had.
            MissingKeyError: the provider needs a key and there is none.

        Examples:
            >>> Embeddings(model="mistral/mistral-embed", api_key="k").ensure_available()
        """
        self._model.ensure_available()

    async def aensure_available(self) -> None:
        """The async twin of `ensure_available`, in a thread."""
        await asyncio.to_thread(self._model.ensure_available)

    def clear_cache(self) -> int:
        """Forget every cached vector; return how many there were.

        Examples:
            >>> Embeddings(model="local/all-MiniLM-L6-v2").clear_cache()
            0
        """
        return self._cache.clear()

    def forget(self, texts: str | Sequence[str]) -> int:
        """Drop texts and their vectors from the cache, also where they are just being embedded.

        Returns:
            How many of them the cache held.

        Raises:
            ArgumentTypeError: ``texts`` is neither a text nor a list of texts.

        Examples:
            >>> Embeddings(model="local/all-MiniLM-L6-v2").forget(["Where is the key?"])
            0
        """
        return self._cache.drop(_texts(texts))

    def cache_stats(self) -> CacheStats:
        """Tell whether the cache is on, how many texts it may hold, and how many it holds.

        Examples:
            >>> Embeddings(model="local/all-MiniLM-L6-v2").cache_stats()
            {'enabled': True, 'max_size': 256, 'entries': 0}
        """
        return {"enabled": self._cache_enabled, "max_size": self._cache_size, "entries": len(self._cache)}

    @staticmethod
    def cosine_similarity(a: Sequence[float], b: Sequence[float]) -> float:
        """Return the cosine of two vectors, in ``[-1, 1]``; 0.0 where one is all zeros.

        Raises:
            DimensionError: they differ in size.

        Examples:
            >>> Embeddings.cosine_similarity([1.0, 0.0], [0.0, 2.0])
            0.0
        """
        if len(a) != len(b):
            raise DimensionError(len(a), len(b))
        lengths = math.hypot(*a) * math.hypot(*b)
        if lengths == 0:
            return 0.0
        product = math.fsum(x * y for x, y in zip(a, b, strict=True))
        return max(-1.0, min(1.0, product / lengths))

    def _keep(self, texts: list[str], rows: Any, drops: int) -> dict[str, NDArray[Any]]:
        """Pair texts with their vectors, and put those that are sound into the cache."""
        import numpy as np

        if len(rows) != len(texts):
            raise EmbeddingError(f"{self.model!r} gave {len(rows)} vectors for {len(texts)} texts.")
        vectors = {text: np.asarray(row) for text, row in zip(texts, rows, strict=True)}
        self._dimensions = len(rows[0])
        sound = {text: row.copy() for text, row in vectors.items() if row.any() and np.isfinite(row).all()}
        self._cache.put(sound, unless_dropped_since=drops)
        return vectors


def _texts(texts: str | Sequence[str]) -> list[str]:
    if isinstance(texts, str):
        return [clean_text(texts)]
    if not isinstance(texts, list | tuple):
        raise ArgumentTypeError(f"texts must be a text or a list of texts, not {type(texts).__name__}.")
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise ArgumentTypeError(f"texts[{place}] must be a text, not {type(text).__name__}.")
    return [clean_text(text) for text in texts]


def _missing(wanted: list[str], found: dict[str, Any]) -> list[str]:
    """Return the texts that are not found, each once, in order."""
    return [text for text in dict.fromkeys(wanted) if text not in found]


def _check_model(model: str) -> None:
    if not isinstance(model, str):
        raise ArgumentTypeError(f"model must be a text such as 'local/all-MiniLM-L6-v2', not {type(model).__name__}.")
    if not model.strip() or model == _LOCAL:
        raise InvalidArgumentError(f"model must name a model, such as 'local/all-MiniLM-L6-v2'; got {model!r}.")


def _check_cache_size(size: int) -> None:
    if isinstance(size, bool) or not isinstance(size, int):
        raise ArgumentTypeError(f"cache_size must be a whole number, not {type(size).__name__}.")
    if size < 0:
        raise InvalidArgumentError(f"cache_size must be 0 or more; got {size}.")
