"""Asking an embedder for vectors and believing none of them unchecked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ffai.core.embeddings.protocol import Embedder, embedder_name
from ffai.core.embeddings.turns import taking_turns
from ffai.core.memory.backoff import concerns_every_text, is_transient
from ffai.core.memory.parts import parts_of
from ffai.core.similarity import Vector, as_vector, unit
from ffai.errors import BadVectorError, EmbeddingError

TEXTS_A_CALL = 32
"""Texts that are embedded in one call at the most."""
SHORT = 80
"""A text of at most so many characters is never refused for its length."""


def embed_texts(embedder: Embedder, texts: Sequence[str], dimensions: int | None = None) -> list[Vector]:
    """Embed texts in one call.

    Returns:
        One vector per text, each of the same size, finite and not zero.

    Raises:
        BadVectorError: a vector can't be used.
        EmbeddingError: the number of vectors is not the number of texts.
        Exception: whatever the embedder raises.
    """
    with taking_turns(embedder):
        rows = embedder.embed(list(texts))
    return check_vectors(embedder, rows, len(texts), dimensions)


def check_vectors(embedder: Embedder, rows: Any, expected: int, dimensions: int | None = None) -> list[Vector]:
    """Check what an embedder gave; see :func:`embed_texts`."""
    found = list(rows)
    if len(found) != expected:
        raise EmbeddingError(f"{embedder_name(embedder)!r} gave {len(found)} vectors for {expected} texts.")
    vectors: list[Vector] = []
    for row in found:
        vector = as_vector(row, dimensions)
        if not np.any(vector):
            raise BadVectorError(f"{embedder_name(embedder)!r} gave a vector of zeros.")
        dimensions = vector.size
        vectors.append(vector)
    return vectors


def embed_turns(embedder: Embedder, texts: Sequence[str], dimensions: int | None = None) -> list[list[Vector]]:
    """Embed the texts of turns, long ones in parts too.

    Returns:
        For each text its own vector, then those of its parts.

    Raises:
        As :func:`embed_texts`.
    """
    wanted = [texts_and_parts(text) for text in texts]
    vectors: list[Vector] = []
    for some in calls_for([text for group in wanted for text in group]):
        vectors += embed_texts(embedder, some, vectors[0].size if vectors else dimensions)
    each = iter(vectors)
    return [[next(each) for _ in group] for group in wanted]


def calls_for(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the texts of one call each, so that no call is larger than an embedder takes, or holds up a query long."""
    for start in range(0, len(texts), TEXTS_A_CALL):
        yield texts[start : start + TEXTS_A_CALL]


def texts_and_parts(text: str) -> list[str]:
    """Return what is embedded for a turn: its text, and the parts of a long one."""
    return [text, *parts_of(text)]


def embed_piecewise(embedder: Embedder, text: str, dimensions: int | None = None) -> list[Vector]:
    """Embed a text that the embedder refuses whole: in parts, and those it refuses in halves.

    Returns:
        The text's own vector, the mean direction of the pieces; then those of the pieces.

    Raises:
        EmbeddingError: a short piece is refused too, or a vector can't be used.
        Exception: whatever the embedder raises for a short piece.
    """
    pieces = parts_of(text) or [text]
    vectors = [vector for piece in pieces for vector in _embed_or_halve(embedder, piece, dimensions)]
    mean: Vector = np.mean([unit(vector) for vector in vectors], axis=0)
    return [mean if np.any(mean) else vectors[0], *vectors]


def _embed_or_halve(embedder: Embedder, text: str, dimensions: int | None) -> list[Vector]:
    try:
        return embed_texts(embedder, [text], dimensions)
    except BaseException as error:  # an embedder raises what it likes
        if len(text) <= SHORT or is_transient(error) or concerns_every_text(error):
            raise
    return [vector for half in _halves(text) for vector in _embed_or_halve(embedder, half, dimensions)]


def _halves(text: str) -> list[str]:
    """Cut a text at the white space nearest behind its middle."""
    middle = text.find(" ", len(text) // 2)
    cut = middle if 0 < middle < len(text) - 1 else len(text) // 2
    return [text[:cut], text[cut:]]
