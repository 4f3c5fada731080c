"""How many tokens a text is for a model, found without network."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ffai._litellm import encodings_folder, encodings_read_from
from ffai.core.arguments import check_str

if TYPE_CHECKING:
    from tiktoken import Encoding

logger = logging.getLogger(__name__)

_DEFAULT = "cl100k_base"
_FILES = {  # the name that tiktoken looks for, and its SHA-256: another file it would delete, and fetch a new one
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "p50k_base": (
        "ec7223a39ce59f226a68acc30dc1af2788490e15",
        "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    ),
}
_SAME_TEXT = {"o200k_harmony": "o200k_base", "p50k_edit": "p50k_base"}  # they differ in special tokens only

_PIECE = 1000
_RUN = re.compile(rf"\S{{1,{_PIECE}}}|\s{{1,{_PIECE}}}")


def count_tokens(text: str, model: str | None = None) -> int:
    """Count the tokens of a text; nothing is fetched.

    Args:
        text: any text. What looks like a special token, such as ``<|endoftext|>``, is counted as text.
        model: the model's name, a provider before it or not: ``"gpt-4o"``, ``"azure/gpt-4o"``.

    Returns:
        The number of tokens of the text alone; what a provider adds around a message is not in it.

        It is exact for models of OpenAI that use the encodings cl100k, o200k or p50k. Any other model is counted with
        cl100k: for English and code that was seen to be 3 to 11 percent less than tokenizers of Anthropic and DeepSeek
        count; other scripts may be off by half or by double, mostly upwards for newer models. A run of more than 1000
        characters without white space, or of nothing else, is counted in pieces, one token more for each.

        Where the encodings can't be read it is the number of bytes, which no byte-pair encoding exceeds; a WARNING says
        so once.

    Raises:
        ArgumentTypeError: the text or the model's name is not text.

    Examples:
        >>> count_tokens("Where is the key?", "gpt-4o"), count_tokens("", "my-own-model")
        (5, 0)
    """
    check_str("text", text)
    encoding = _encoding(_encoding_name(model))
    if encoding is None:
        return len(text.encode("utf-8", "surrogatepass"))
    pieces = [len(encoding.encode_ordinary(piece)) for piece in _pieces(text)]
    return sum(pieces) + max(len(pieces) - 1, 0)


def _encoding_name(model: str | None) -> str:
    if model is None:
        return _DEFAULT
    check_str("model", model)
    from tiktoken.model import encoding_name_for_model

    try:
        name = encoding_name_for_model(model.rpartition("/")[2])
    except KeyError:
        return _DEFAULT
    name = _SAME_TEXT.get(name, name)
    return name if name in _FILES else _DEFAULT


@lru_cache
def _encoding(name: str) -> Encoding | None:
    """Load an encoding, or the default one, or none: only from files that are known to be whole."""
    from tiktoken import get_encoding

    folder = encodings_folder()
    for known in dict.fromkeys((name, _DEFAULT)):
        if folder is not None and _is_whole(folder, known):
            with encodings_read_from(folder):
                return get_encoding(known)
    logger.warning("The token encodings of litellm can't be read in %r: bytes are counted.", str(folder))
    return None


def _is_whole(folder: Path, name: str) -> bool:
    file, digest = _FILES[name]
    try:
        content = (folder / file).read_bytes()
    except OSError:
        return False
    return hashlib.sha256(content).hexdigest() == digest


def _pieces(text: str) -> Iterator[str]:
    """Cut a text within its long runs: tiktoken overflows its stack on a million blanks, and is slow on a long word."""
    start = 0
    if len(text) > _PIECE:
        for run in _RUN.finditer(text):
            if run.end() - run.start() == _PIECE:
                yield text[start : run.end()]
                start = run.end()
    if start < len(text):
        yield text[start:]
