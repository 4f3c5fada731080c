"""Entries within a hard budget: the worst are left out, and the best is cut where even it is too long."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ffai.core.arguments import check_str, check_whole
from ffai.errors import InvalidArgumentError
from ffai.rag.tokens import count_tokens

MARK = "[…]"
"""Stands at the end of a text that is cut."""

Render = Callable[[Mapping[int, str]], str]
"""Makes one text of entries: their numbers to their texts, in the order in which they are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What of some entries is within a budget. Entries go by their number in the order of their rank.

    Examples:
        >>> Fitted(text="[ana]: tea", kept=(0,), dropped=(1,)).cut is None
        True
    """

    text: str
    """The whole text, exactly as it was counted; ``""`` where nothing is kept."""
    kept: tuple[int, ...] = ()
    """The entries that are whole, in the order in which they are shown."""
    cut: int | None = None
    """The one entry that is cut, where there is one."""
    cut_text: str | None = None
    """Its text as it is kept, with :data:`MARK` at its end."""
    dropped: tuple[int, ...] = ()
    """The entries that are left out, best first."""


def fit(
    texts: Sequence[str],
    *,
    count: Callable[[str], int] = count_tokens,
    max_tokens: int | None = None,
    max_chars: int | None = None,
    shown: Sequence[int] | None = None,
    separator: str = "\n",
    render: Render | None = None,
) -> Fitted:
    r"""Keep the best entries whose text, taken together, is within a budget.

    Whole entries are left out, the worst first. Where not even the best one fits, it is cut between two characters as a
    reader sees them, and marked; where not even its first character fits with the mark, nothing is kept.

    Args:
        texts: the entries, best first.
        count: counts the tokens of a text. It is called on whole texts, because tokens reach over the joins: once where
            everything fits, else a few times the logarithm of what is kept.
        max_tokens: what ``count`` may give at most; ``None`` for any.
        max_chars: how many characters the text may have; ``None`` for any.
        shown: the numbers of all entries in the order in which they are shown; ``None`` for best first.
        separator: stands between two entries.
        render: makes the whole text, in place of ``separator``.

    Returns:
        What is kept; its text is never over the budget.

    Raises:
        ArgumentTypeError: a budget is not a whole number, or an entry is not text.
        InvalidArgumentError: a budget is negative, or ``shown`` doesn't name each entry once.

    Examples:
        >>> fit(["[ana]: tea", "[ben]: milk", "[KB] sugar"], count=len, max_chars=22, shown=[1, 0, 2])
        Fitted(text='[ben]: milk\n[ana]: tea', kept=(1, 0), cut=None, cut_text=None, dropped=(2,))
        >>> fit(["[ana]: tea with milk"], count=len, max_tokens=13).text
        '[ana]: tea[…]'
    """
    _check(texts, max_tokens, max_chars)
    order = _order(shown, len(texts))

    def whole(known: Mapping[int, str]) -> str:
        if not known:
            return ""
        return separator.join(known.values()) if render is None else render(known)

    def within(text: str) -> bool:
        fits = max_chars is None or len(text) <= max_chars
        return fits and (max_tokens is None or count(text) <= max_tokens)

    def best(number: int) -> str:
        return whole({entry: texts[entry] for entry in order if entry < number})

    def cut(number: int) -> str:
        return f"{texts[0][: ends[number - 1]]}{MARK}"

    if within(everything := best(len(texts))):
        return Fitted(text=everything, kept=tuple(order))
    number, text = _most_below(len(texts), best, within)
    if number:
        kept = tuple(entry for entry in order if entry < number)
        return Fitted(text=text, kept=kept, dropped=tuple(range(number, len(texts))))
    ends = _ends(texts[0])
    length, text = _most_below(len(ends), lambda length: whole({0: cut(length)}), within)
    if not length:
        return Fitted(text="", dropped=tuple(range(len(texts))))
    return Fitted(text=text, cut=0, cut_text=cut(length), dropped=tuple(range(1, len(texts))))


def _check(texts: Sequence[str], max_tokens: int | None, max_chars: int | None) -> None:
    for name, budget in (("max_tokens", max_tokens), ("max_chars", max_chars)):
        if budget is not None:
            check_whole(name, budget, least=0)
    for text in texts:
        check_str("each of texts", text)


def _order(shown: Sequence[int] | None, number: int) -> Sequence[int]:
    order = range(number) if shown is None else shown
    if sorted(order) != [*range(number)]:
        raise InvalidArgumentError(f"shown must name each of the {number} entries once, not {shown!r:.100}.")
    return order


def _most_below(top: int, made: Callable[[int], str], within: Callable[[str], bool]) -> tuple[int, str]:
    """Return the largest number below ``top`` for which what is made is within the budget, and what was made.

    Numbers are doubled, so that little is counted where little fits, and then halved. A count that goes down where a
    text goes up can hide a larger number, and never gives one that is over.

    Returns:
        The number and its text; ``0`` and ``""`` where not even ``1`` is within.
    """
    low, high, best, step = 0, top, "", 1
    while high - low > 1:
        middle = min(low + step, (low + high) // 2) if step else (low + high) // 2
        text = made(middle)
        if within(text):
            low, best, step = middle, text, step * 2
        else:
            high, step = middle, 0
    return low, best


def _ends(text: str) -> list[int]:
    """Return where the characters of a text end, as a reader sees them: with their accents, skin and joined parts."""
    import regex

    # Halves of a pair are two characters to a pattern.
    sizes = (len(found) for found in regex.findall(r"[\ud800-\udbff][\udc00-\udfff]|\X", text))
    return list(accumulate(sizes))
