"""The ladder: which embedding model memory uses when none is named."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass

from ffai.core.embeddings.api import find_key, key_variables
from ffai.core.embeddings.embeddings import Embeddings
from ffai.errors import EmbeddingError

logger = logging.getLogger(__name__)

LOCAL_MODEL = "local/all-MiniLM-L6-v2"
API_MODELS = ("mistral/mistral-embed", "openai/text-embedding-3-small")

_NO_BACKEND = (
    "Memory enabled but no embedding backend available. Install ffai[memory] (or ffai[rag]) for local embeddings, "
    "or set memory.embedding_model / MISTRAL_API_KEY / OPENAI_API_KEY."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One model that was considered."""

    model: str
    outcome: str
    """``"chosen"``, or why not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What the ladder came to."""

    embedder: Embeddings | None
    """None when memory has to be off."""
    steps: tuple[Step, ...]
    """The models considered, in order; the last one is the one chosen, if any was."""

    @property
    def reason(self) -> str:
        """Every step in one line, for people to read."""
        return "; ".join(f"{step.model}: {step.outcome}" for step in self.steps)


def resolve_embedder(
    embedding_model: str | None,
    *,
    allow_api: bool = True,
    environ: Mapping[str, str] = os.environ,
    remembered: str | None = None,
) -> Resolution:
    """Choose the embedding model, in 5 seconds at most a model; loads, downloads and sends nothing.

    A model that is named is the only one tried, else the one that made the stored vectors: another one would have all
    stored turns sent to it. Where there is neither: the local MiniLM, the first provider that has a key, none. What the
    user should know is logged, each time as one WARNING.

    Args:
        embedding_model: the model that the settings name; None or blank for the ladder.
        allow_api: whether texts may be sent to a provider.
        environ: where keys are looked up; a blank one does not count.
        remembered: the model that made the stored vectors.

    Examples:
        >>> resolve_embedder("mistral/mistral-embed", allow_api=False).reason
        'mistral/mistral-embed: memory.allow_api is false'
    """
    ladder = _Ladder(allow_api, environ)
    if embedding_model is not None and embedding_model.strip():
        embedder = ladder.try_named(embedding_model)
        if embedder is None:
            logger.warning("Memory is off: the embedding model can't be used. %s", ladder.reason)
        return ladder.resolution(embedder)
    return ladder.resolution(ladder.climb() if remembered is None else ladder.try_remembered(remembered))


class _Ladder:
    """Tries models, and keeps what came of each."""

    def __init__(self, allow_api: bool, environ: Mapping[str, str]) -> None:
        self._allow_api, self._environ = allow_api, environ
        self._steps: dict[str, str] = {}

    @property
    def reason(self) -> str:
        return self.resolution(None).reason

    def resolution(self, embedder: Embeddings | None) -> Resolution:
        steps = tuple(Step(model=model, outcome=outcome) for model, outcome in self._steps.items())
        return Resolution(embedder=embedder, steps=steps)

    def try_named(self, model: str) -> Embeddings | None:
        """Take a model that the user asked for, also when its key is still to come."""
        embedder = self._make(model)
        if embedder is None or not self._may_be_sent(embedder):
            return None
        if embedder.is_local:
            return self._checked(embedder)
        if key_variables(model) and embedder.api_key is None:
            self._steps[model] = "chosen; it has no API key yet"
            logger.warning(
                "Embedding model %r has no API key: turns can't be embedded until %s is set.",
                model,
                key_variables(model)[0],
            )
            return embedder
        return self._chosen(embedder)

    def try_remembered(self, model: str) -> Embeddings | None:
        """Take the model that made the stored vectors, if it is of a kind that can be made from its name."""
        if "/" in model:
            embedder = self._try(model)
        else:  # as a model's name it would be taken for one of OpenAI's
            embedder, self._steps[model] = None, "it is an embedder that was passed in, not the name of a model"
        if embedder is None:
            logger.warning(
                "The stored turns were embedded with %r, which can't be used now: %s. New turns wait for it, and "
                "no other model is tried. To embed all turns with another one, set memory.embedding_model.",
                model,
                self._steps[model],
            )
        elif not embedder.is_local:
            logger.warning(
                "The stored turns were embedded with %r: memory keeps sending texts to that provider. "
                "Set memory.allow_api: false to forbid this.",
                model,
            )
        return embedder

    def climb(self) -> Embeddings | None:
        """Try the local model, then each provider that has a key."""
        local = self._try(LOCAL_MODEL)
        if local is not None:
            return local
        for model in API_MODELS:
            if find_key(model, self._environ) is None:
                self._steps[model] = f"{key_variables(model)[0]} is not set"
                continue
            embedder = self._try(model)
            if embedder is not None:
                logger.warning(
                    "Memory sends every turn to a paid API, %r, because local embeddings are not possible: %s "
                    "Set memory.allow_api: false to forbid this.",
                    model,
                    self._steps[LOCAL_MODEL],
                )
                return embedder
        logger.warning("%s (%s)", _NO_BACKEND, self.reason)
        return None

    def _try(self, model: str) -> Embeddings | None:
        """Take a model if it can be used right away."""
        if model in self._steps:
            return None
        embedder = self._make(model)
        if embedder is None or not self._may_be_sent(embedder):
            return None
        return self._checked(embedder)

    def _make(self, model: str) -> Embeddings | None:
        try:
            return Embeddings(model, api_key=find_key(model, self._environ))
        except (EmbeddingError, ValueError) as error:
            self._steps[model] = str(error)
            return None

    def _may_be_sent(self, embedder: Embeddings) -> bool:
        if self._allow_api or embedder.is_local:
            return True
        self._steps[embedder.model] = "memory.allow_api is false"
        if embedder.api_key is not None:
            self._steps[embedder.model] += ", though it has a key"
        return False

    def _checked(self, embedder: Embeddings) -> Embeddings | None:
        try:
            embedder.ensure_available()
        except EmbeddingError as error:
            self._steps[embedder.model] = str(error)
            return None
        return self._chosen(embedder)

    def _chosen(self, embedder: Embeddings) -> Embeddings:
        self._steps[embedder.model] = "chosen"
        return embedder
