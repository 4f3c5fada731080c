"""Measure recall on LoCoMo and print the tables.

Run: ``python -m benchmarks.recall DATA``, or ``... --contestants vector hybrid`` for some contestants.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.recall.contest import contest
from benchmarks.recall.contestants import CONTESTANTS
from benchmarks.recall.locomo import NotLocomoError, find, read
from benchmarks.recall.nameless import without_names_and_dates
from benchmarks.recall.table import tables
from benchmarks.rivals.environment import BUILD
from ffai import Embeddings
from ffai.cli.models import build_minilm

KEPT = 50_000
"""Vectors that are kept during a run, so that no text is embedded twice."""


def main(words: list[str] | None = None) -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall", description=__doc__)
    parser.add_argument("data", type=Path, help="LoCoMo's locomo10.json, or a folder that has it")
    parser.add_argument("--contestants", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS), metavar="NAME")
    parser.add_argument("--conversations", nargs="+", metavar="NAME", help="only these, such as conv-26; else all")
    chosen = parser.parse_args(words)
    try:
        conversations = read(find(chosen.data))
    except (OSError, NotLocomoError) as error:
        sys.exit(str(error))
    if chosen.conversations:
        if unknown := set(chosen.conversations) - {conversation.name for conversation in conversations}:
            sys.exit(f"The file has no conversation {min(unknown)!r}.")
        conversations = [conversation for conversation in conversations if conversation.name in chosen.conversations]
    embedder = Embeddings(f"local/{build_minilm(BUILD / 'all-MiniLM-L6-v2')}", cache_size=KEPT)
    contestants = [CONTESTANTS[name] for name in chosen.contestants]
    outcome = contest(conversations, contestants, embedder)
    ours = [contestant for contestant in contestants if contestant.is_ours]
    nameless = contest([without_names_and_dates(conversation) for conversation in conversations], ours, embedder)
    print("", tables(outcome, nameless), sep="\n")


if __name__ == "__main__":
    main()
