"""A program that dies at a chosen call: ``python -m tests.crash.die <life> <folder> <call>``."""

from __future__ import annotations

import sys
from pathlib import Path

import polars  # noqa: F401 - before the calls are counted

from tests.crash.faults import DEATH, FOR_EVER, arm, calls
from tests.crash.ledger import say
from tests.crash.scenario import LIVES


def main(life: str, folder: Path, call: int) -> None:
    """Live, and tell it; the number of calls comes last."""
    arm(folder, DEATH, call, FOR_EVER)
    LIVES[life](folder, say, id)
    say("lived", calls())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
