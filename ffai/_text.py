"""Text that every file, database and wire can hold."""

from __future__ import annotations


def clean_text(text: str) -> str:
    r"""Replace what UTF-8 can't hold: a pair of surrogates becomes its character, a single one ``U+FFFD``.

    Examples:
        >>> clean_text("caf\u00e9 \ud83d")
        'café \ufffd'
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
