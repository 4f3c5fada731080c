"""Who searches: ours in its modes, its predecessor, and two stores that many use, on the same vectors."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.recall.metrics import TOP_K
from benchmarks.recall.stage import Stage
from benchmarks.rivals.environment import python_of, variables_of
from benchmarks.rivals.process import EngineProcess
from benchmarks.rivals.rival import RIVALS, Rival
from ffai.core.memory.question import Mode

Answers = list[list[tuple[str, ...]]]
"""For each question the messages in each hit, best first."""
_WORDS = Path(__file__).parent / "engines/lancedb_words.py"
_LIMIT = 120
"""Seconds that a conversation may take a script of a rival; it took 8."""
_RIVALS = {rival.engine: rival for rival in RIVALS}
_LANCEDB = _RIVALS["lancedb_flat"]


class CannotError(Exception):
    """A contestant can't take part; tells why."""


@dataclass(frozen=True)
class Contestant:
    """One way to search."""

    name: str
    answers: Callable[[Stage], Answers]
    """Raises :class:`CannotError`, or what an engine's process raises."""
    is_ours: bool = False


def ours(mode: Mode, stage: Stage) -> Answers:
    """Ask ``history.search`` in a mode."""
    search = stage.ffai.history.search
    return [
        [tuple(hit.metadata["ids"]) for hit in search(question, TOP_K, mode=mode, as_of=stage.ended_at, wait=None)]
        for question in stage.questions
    ]


def engine(rival: Rival, stage: Stage) -> Answers:
    """Ask a store for the closest vectors."""
    with EngineProcess(rival, stage.files) as process:
        process.add()
        _, rows = process.search(0, len(stage.questions))
    return _messages(stage, rows)


def lancedb(how: str, stage: Stage) -> Answers:
    """Ask LanceDB by words, or by both."""
    command = [str(python_of(_LANCEDB)), str(_WORDS), str(stage.folder), how, str(TOP_K)]
    variables = variables_of(_LANCEDB)
    variables.pop("LANCE_IO_THREADS")  # with one thread for files, LanceDB 0.40 waits for itself for ever
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables, timeout=_LIMIT)
    if done.returncode:
        print(done.stderr[-2000:], flush=True)
        raise CannotError(f"its process ended with code {done.returncode}")
    return _messages(stage, json.loads(done.stdout))


def _messages(stage: Stage, rows: list[list[int]]) -> Answers:
    return [[stage.exchanges[row].ids for row in found] for found in rows]


def _of_rival(name: str) -> Contestant:
    rival = _RIVALS[name]
    label = rival.name.partition(",")[0]
    return Contestant(label if rival.version in label else f"{label} {rival.version}", partial(engine, rival))


CONTESTANTS = {
    "vector": Contestant("ffai, vector", partial(ours, "vector"), is_ours=True),
    "keyword": Contestant("ffai, keyword", partial(ours, "keyword"), is_ours=True),
    "hybrid": Contestant("ffai, hybrid", partial(ours, "hybrid"), is_ours=True),
    "ffai-0.1.8": _of_rival("ffai_0_1_8"),
    "chroma": _of_rival("chroma"),
    "lancedb": _of_rival("lancedb_flat"),
    "lancedb-words": Contestant(f"LanceDB {_LANCEDB.version}, words", partial(lancedb, "words")),
    "lancedb-both": Contestant(f"LanceDB {_LANCEDB.version}, words and vectors", partial(lancedb, "both")),
}
"""By the names that ``--contestants`` takes."""
