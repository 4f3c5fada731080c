"""A recall test with the user's own questions: is the turn that each should bring up among the first ones found?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from ffai.core.arguments import check_text, check_whole
from ffai.core.memory.hit import TurnHit
from ffai.core.memory.turn_page import StoredTurn, TurnPage
from ffai.core.recall_report import Miss, Missed, RecallReport
from ffai.errors import ArgumentTypeError, InvalidArgumentError

Search = Callable[..., Sequence[TurnHit]]
Pair = tuple[str, str | Sequence[str]] | tuple[str, str | Sequence[str], Mapping[str, Any]]
"""A question; what it should bring up, a turn's id or words of it, or several; and what its search is asked besides."""

DEPTH = 1000
"""Turns among which is looked for one that was missed."""
_LEVELS = (1, 5, 10)
_FILTERS = ("where", "scope")


class Searchable(Protocol):
    """What can be searched: ``ffai.history``, a ``Memory``."""

    @property
    def search(self) -> Search:
        """Takes a question, ``top_k``, and what else it is asked; gives turns, best first."""


class HasHistory(Protocol):
    """What has a history: an ``FFAI``."""

    @property
    def history(self) -> Searchable:
        """Its history."""


@dataclass(frozen=True, slots=True, eq=False)
class _Wanted:
    """One turn that a question should bring up."""

    question: str
    expected: str
    asked: Mapping[str, Any]

    def is_in(self, turn: TurnHit | StoredTurn) -> bool:
        return turn.turn_id == self.expected or _plain(self.expected) in _plain(turn.text)


@dataclass(frozen=True, slots=True)
class _Stored:
    """A wanted turn that is kept."""

    turn: StoredTurn
    is_allowed: bool
    """Whether the filters of the search let it through."""


def recall_check(
    memory: HasHistory | Searchable | Search, pairs: Iterable[Pair], *, k: int = 10, **asked: Any
) -> RecallReport:
    """Ask questions whose answers are known to be in a memory, and tell how many were found, and why others were not.

    Args:
        memory: an ``FFAI``, its ``history``, a ``Memory``, or a function that searches.
        pairs: each a question and what it should bring up: a turn's id, or words that stand in the turn (spaces and
            capitals do not matter), or several of these; as a third, where wanted, a dict of search arguments for
            this question alone.
        k: a turn that is not among the first ``k`` hits is missed.
        **asked: what each search is asked besides, such as ``mode``, ``scope``, ``where``, ``threshold``.

    Returns:
        Recall at 1, 5, 10 and ``k``, and each miss explained. ``print`` shows it.

    Raises:
        InvalidArgumentError, ArgumentTypeError: an argument can't be used; the memory is off.
        Exception: whatever the search raises.

    Examples:
        >>> from ffai import Memory
        >>> from ffai.testing import FakeEmbedder
        >>> memory = Memory(FakeEmbedder())
        >>> turn_id = memory.remember("Where is the key?", "Under the mat.")
        >>> report = recall_check(memory, [("the key", turn_id), ("Who has the car?", "Anna has the car")])
        >>> report.recall[1], [(miss.question, miss.reason) for miss in report.misses]
        (0.5, [('Who has the car?', 'not stored')])
    """
    check_whole("k", k, least=1)
    questions = _questions(pairs, asked)
    target = getattr(memory, "history", memory)
    search = _search_of(target)
    hits: dict[_Wanted, Sequence[TurnHit]] = {}
    for wanted in questions:
        hits |= dict.fromkeys(wanted, search(wanted[0].question, top_k=k, **wanted[0].asked))
    ranks = {one: _rank(found, one.is_in) for one, found in hits.items()}
    kept = _kept(_list_of(target), [one for one, rank in ranks.items() if rank is None])
    for one, turns in kept.items():
        ranks[one] = _rank(hits[one], partial(_stands_for, turns))
    misses = [_explained(one, hits[one], kept.get(one), search, k) for one, rank in ranks.items() if rank is None]
    recall = {level: _recall(questions, ranks, level) for level in sorted({*_LEVELS, k}) if level <= k}
    return RecallReport(questions=len(questions), recall=recall, misses=tuple(misses))


async def arecall_check(
    memory: HasHistory | Searchable | Search, pairs: Iterable[Pair], *, k: int = 10, **asked: Any
) -> RecallReport:
    """Await :func:`recall_check`."""
    return await asyncio.to_thread(recall_check, memory, pairs, k=k, **asked)


def _questions(pairs: Iterable[Pair], asked: Mapping[str, Any]) -> list[list[_Wanted]]:
    if isinstance(pairs, (str, bytes, Mapping)) or not isinstance(pairs, Iterable):
        raise ArgumentTypeError(f"pairs must be (question, expected) pairs, not {pairs!r:.100}.")
    questions = [_question(number, pair, asked) for number, pair in enumerate(pairs, start=1)]
    if not questions:
        raise InvalidArgumentError("pairs has no question.")
    return questions


def _question(number: int, pair: Any, asked: Mapping[str, Any]) -> list[_Wanted]:
    name = f"pair {number}"
    if not isinstance(pair, (tuple, list)) or len(pair) not in (2, 3):
        raise ArgumentTypeError(
            f"{name} must be (question, expected) or (question, expected, search), not {pair!r:.100}."
        )
    question, expected, *own = pair
    check_text(f"the question of {name}", question)
    if own and not isinstance(own[0], Mapping):
        raise ArgumentTypeError(f"the search of {name} must be a dict of arguments, not {own[0]!r:.100}.")
    several = [expected] if isinstance(expected, str) else expected
    if not isinstance(several, Iterable) or isinstance(several, Mapping):
        raise ArgumentTypeError(f"what {name} expects must be text or several texts, not {expected!r:.100}.")
    both = {**asked, **(own[0] if own else {})}
    wanted = [_Wanted(question, check_text(f"what {name} expects", one), both) for one in several]
    if not wanted:
        raise InvalidArgumentError(f"{name} expects nothing: {question!r}.")
    return wanted


def _search_of(target: Any) -> Search:
    if getattr(target, "memory", target) is None:
        raise InvalidArgumentError("The memory is off: there is nothing to recall. Use memory_enabled=True.")
    search = getattr(target, "search", target)
    if not callable(search):
        raise ArgumentTypeError(f"memory must be an FFAI, its history, a Memory or a function, not {target!r:.100}.")
    found: Search = search
    return found


def _list_of(target: Any) -> Callable[..., TurnPage] | None:
    owner = getattr(target, "__self__", target)  # a method was given
    listing = getattr(getattr(owner, "memory", owner), "list", None)
    return listing if callable(listing) else None


def _rank(hits: Sequence[TurnHit], is_it: Callable[[TurnHit], bool]) -> int | None:
    return next((rank for rank, hit in enumerate(hits, start=1) if is_it(hit)), None)


def _recall(questions: Sequence[Sequence[_Wanted]], ranks: Mapping[_Wanted, int | None], level: int) -> float:
    """Give the share of the wanted turns among the first hits, each question counting the same."""
    shares = [
        sum((rank := ranks[one]) is not None and rank <= level for one in wanted) / len(wanted) for wanted in questions
    ]
    return sum(shares) / len(shares)


def _stands_for(kept: Sequence[_Stored], hit: TurnHit) -> bool:
    """Tell whether a hit is one of the turns, or stands for several that are equal to one."""
    ids = {each.turn.turn_id for each in kept}
    equals = hit.repeats > 1 and any(each.turn.text == hit.text and each.turn.scope == hit.scope for each in kept)
    return hit.turn_id in ids or equals


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _kept(listing: Callable[..., TurnPage] | None, lost: Sequence[_Wanted]) -> dict[_Wanted, list[_Stored]]:
    """Look for turns among all that are kept; empty where they can't be listed."""
    if listing is None or not lost:
        return {}
    found: dict[_Wanted, list[StoredTurn]] = {one: [] for one in lost}
    for turn in _all_turns(listing):
        for one in lost:
            if one.is_in(turn):
                found[one].append(turn)
    return {one: _filtered(turns, one, listing) for one, turns in found.items()}


def _filtered(turns: Sequence[StoredTurn], one: _Wanted, listing: Callable[..., TurnPage]) -> list[_Stored]:
    """Tell which turns the filters of a search let through."""
    filters = {name: one.asked[name] for name in _FILTERS if one.asked.get(name) is not None}
    if not (turns and filters):
        return [_Stored(turn, is_allowed=True) for turn in turns]
    allowed = {turn.turn_id for turn in _all_turns(listing, **filters)}
    return [_Stored(turn, turn.turn_id in allowed) for turn in turns]


def _all_turns(listing: Callable[..., TurnPage], **filters: Any) -> Iterator[StoredTurn]:
    cursor: str | None = None
    while True:
        page = listing(limit=DEPTH, cursor=cursor, **filters)
        yield from page.turns
        if (cursor := page.cursor) is None:
            return


def _explained(one: _Wanted, hits: Sequence[TurnHit], kept: Sequence[_Stored] | None, search: Search, k: int) -> Miss:
    """Tell why a turn is not among the hits."""
    reason, rank, score = _state(kept), None, None
    if reason in ("lower", "unknown"):
        threshold = one.asked.get("threshold")
        asked = {name: value for name, value in one.asked.items() if name != "threshold"}
        deep = search(one.question, top_k=max(DEPTH, k), **asked)
        rank = _rank(deep, lambda hit: one.is_in(hit) or _stands_for(kept or (), hit))
        if rank is not None:
            score = deep[rank - 1].score
            reason = "below threshold" if threshold is not None and score < threshold else "lower"
    turn_ids = tuple(each.turn.turn_id for each in kept or ())
    return Miss(
        question=one.question,
        expected=one.expected,
        reason=reason,
        rank=rank,
        score=score,
        turn_ids=turn_ids,
        found=tuple(hits[:3]),
    )


def _state(kept: Sequence[_Stored] | None) -> Missed:
    """Tell what is known of a turn that was missed: of several that fit, of the one nearest to being found."""
    if kept is None:
        return "unknown"
    if not kept:
        return "not stored"
    allowed = [each.turn.state for each in kept if each.is_allowed]
    if not allowed:
        return "filtered out"
    if "indexed" in allowed:
        return "lower"
    return "waiting" if "waiting" in allowed else "failed"
