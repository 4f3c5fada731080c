"""A write that fails, at any call: the chat goes on, nothing is lost, and it is right again when the fault is gone."""

from __future__ import annotations

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.crash.faults import FAULTS, ROOT, needs_a_compiler, with_faults
from tests.crash.scenario import LIVES
from tests.crash.suffer import ONCE, UNTIL_TOLD

SHORT_FORM = 60
"""Every so many calls, one fails in the short form."""
WAYS = [(fault, how) for fault in FAULTS for how in (ONCE, UNTIL_TOLD)]

pytestmark = needs_a_compiler


def problems(life: str, way: tuple[str, str], folder: Path, first: int, step: int) -> str:
    """Let a program meet faults at every ``step``-th call; give what was wrong besides them."""
    program = [sys.executable, "-m", "tests.crash.suffer", life, way[0], str(folder / " ".join(way)), way[1]]
    done = subprocess.run(
        [*program, str(first), str(step)],
        cwd=ROOT,
        env=with_faults(),
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    *told, last = done.stdout.splitlines() or [""]
    assert last.startswith("lived"), (done.stdout, done.stderr[-3000:])
    return "\n".join(told)


@pytest.mark.parametrize("life", LIVES)
def test_a_few_faults_cost_nothing(life: str, tmp_path: Path) -> None:
    firsts = [1 + random.Random(3).randrange(SHORT_FORM) for _ in WAYS]
    with ThreadPoolExecutor(2) as both:
        found = list(both.map(lambda way, first: problems(life, way, tmp_path, first, SHORT_FORM), WAYS, firsts))
    assert found == [""] * len(WAYS)


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS, ids=", ".join)
@pytest.mark.parametrize("life", LIVES)
def test_a_fault_at_any_call_costs_nothing(life: str, way: tuple[str, str], tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as both:
        found = both.map(lambda first: problems(life, way, tmp_path / str(first), first, 2), (1, 2))
        assert list(found) == ["", ""]
