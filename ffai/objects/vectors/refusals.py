"""Embedding many texts in one call, and finding out which of them a model refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ffai.chat.flow import Flow
from ffai.core.memory.backoff import concerns_every_text, is_transient
from ffai.objects.steps import Step
from ffai.objects.vectors.embedding import embedded

if TYPE_CHECKING:
    from ffai.core.embeddings.protocol import Embedder

Outcome = NDArray[np.float32] | Exception
"""A vector, or why there is none."""


def embedded_or_refused(
    embedder: Embedder, texts: Sequence[str], *, split_outages: bool = False
) -> Flow[Step, dict[str, Outcome]]:
    """Make a flow that embeds texts in one call; where that fails in halves, until what is refused stands alone.

    An error that would be the same for every text is that of all texts that are left, and nothing more is tried.

    Args:
        embedder: the model.
        texts: each different one is embedded once.
        split_outages: also look for the text that is to blame where the same call may work later.

    Examples:
        >>> from ffai.objects.steps import Place
        >>> from ffai.testing import FakeEmbedder
        >>> embedder = FakeEmbedder(2, fail=lambda text: ValueError("too long") if text == "b" else None)
        >>> found = Place(None).run(embedded_or_refused(embedder, ["a", "b", "c"]))
        >>> found["b"], found["c"].shape
        (ValueError('too long'), (2,))
    """
    outcomes: dict[str, Outcome] = {}
    different = list(dict.fromkeys(texts))
    left = [different] if different else []
    while left:
        some = left.pop()
        try:
            rows = yield from embedded(embedder, some)
        except Exception as error:  # noqa: BLE001 - a model may raise anything
            if concerns_every_text(error):
                outcomes |= {text: error for part in (some, *left) for text in part}
                break
            half = 0 if is_transient(error) and not split_outages else len(some) // 2
            if half:
                left += [some[half:], some[:half]]
            else:
                outcomes |= dict.fromkeys(some, error)
        else:
            outcomes |= zip(some, rows, strict=True)
    return outcomes
