"""What was found, as tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.recall.contest import Outcome
from benchmarks.recall.locomo import ADVERSARIAL
from benchmarks.recall.metrics import MEASURES

ANSWERED = ("single-hop", "multi-hop", "temporal", "open-domain")
"""The kinds of questions that the headline counts: those with an answer."""
_ONE = "U@10"


def tables(outcome: Outcome, nameless: Outcome | None = None) -> str:
    """Return the tables: all measures, one measure by kinds of questions, and the same without names and dates."""
    names = list(dict.fromkeys(asked.contestant for asked in outcome.asked))
    kinds = {f"{kind} ({outcome.questions([kind])})": [kind] for kind in (*ANSWERED, ADVERSARIAL)}
    parts = [
        f"Questions with an answer: {outcome.questions(ANSWERED):,}. Shares in %.\n",
        _table(MEASURES, [(name, [outcome.mean(name, each, ANSWERED) for each in MEASURES]) for name in names]),
        f"{_ONE} by the kind of question, and how many there are:\n",
        _table(kinds, [(name, [outcome.mean(name, _ONE, kind) for kind in kinds.values()]) for name in names]),
    ]
    if nameless is not None and nameless.asked:
        ours = list(dict.fromkeys(asked.contestant for asked in nameless.asked))
        parts += [
            "The same without names and dates:\n",
            _table(MEASURES, [(name, [nameless.mean(name, each, ANSWERED) for each in MEASURES]) for name in ours]),
        ]
    left_out = [f"- {name}: {reason}." for name, reason in outcome.left_out.items()]
    if left_out:
        parts.append("\n".join(["Left out:", "", *left_out]) + "\n")
    return "\n".join(parts)


def _table(columns: Iterable[str], rows: Sequence[tuple[str, Sequence[float | None]]]) -> str:
    heads = list(columns)
    lines = ["| |" + "".join(f" {head} |" for head in heads), "|---|" + "---:|" * len(heads)]
    lines += [f"| {name} |" + "".join(f" {_percent(value)} |" for value in values) for name, values in rows]
    return "\n".join(lines) + "\n"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"
