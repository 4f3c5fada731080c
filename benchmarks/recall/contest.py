"""Asking every contestant every question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmarks.recall.contestants import Answers, CannotError, Contestant
from benchmarks.recall.locomo import Conversation
from benchmarks.recall.metrics import measure
from benchmarks.recall.stage import Stage
from benchmarks.rivals.environment import NotInstalledError
from benchmarks.rivals.process import EndedError, OverTimeError
from ffai.core.embeddings import Embedder


@dataclass(frozen=True)
class Asked:
    """What one contestant found for one question."""

    contestant: str
    kind: str
    """Of the question."""
    measured: dict[str, float]


@dataclass(frozen=True)
class Outcome:
    """What all of them found."""

    asked: tuple[Asked, ...]
    left_out: dict[str, str]
    """Contestants that could not take part, and why."""

    def questions(self, kinds: Iterable[str]) -> int:
        """Count the questions of some kinds."""
        wanted = set(kinds)
        each = [asked.contestant for asked in self.asked if asked.kind in wanted]
        return each.count(each[0]) if each else 0

    def mean(self, contestant: str, measure: str, kinds: Iterable[str]) -> float | None:
        """Return the mean over the questions of some kinds; ``None`` where none was asked."""
        wanted = set(kinds)
        values = [
            asked.measured[measure] for asked in self.asked if asked.contestant == contestant and asked.kind in wanted
        ]
        return fmean(values) if values else None


def contest(conversations: Sequence[Conversation], contestants: Sequence[Contestant], embedder: Embedder) -> Outcome:
    """Let contestants answer all questions. One that can't is left out of all conversations."""
    asked: list[Asked] = []
    left_out: dict[str, str] = {}
    for conversation in conversations:
        with Stage(conversation, embedder) as stage:
            for contestant in contestants:
                if contestant.name in left_out:
                    continue
                print(f"{conversation.name}: {contestant.name} ...", flush=True)
                try:
                    answers = contestant.answers(stage)
                except (CannotError, NotInstalledError, EndedError, OverTimeError) as error:
                    left_out[contestant.name] = str(error)
                    continue
                asked += measured(contestant.name, conversation, answers)
    return Outcome(tuple(line for line in asked if line.contestant not in left_out), left_out)


def measured(contestant: str, conversation: Conversation, answers: Answers) -> list[Asked]:
    """Measure what was found for each question of a conversation."""
    return [
        Asked(contestant, question.kind, measure(hits, question.expected))
        for question, hits in zip(conversation.questions, answers, strict=True)
    ]
