"""A write that fails, at any call: the chat goes on, nothing is lost, and it is right again when the fault is gone."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.crash.faults import FAULTS, ROOT, needs_a_compiler, with_faults
from tests.crash.scenario import LIVES
from tests.crash.suffer import ONCE, UNTIL_TOLD

WAYS = [f"{fault}/{how}" for fault in FAULTS for how in (ONCE, UNTIL_TOLD)]
LONGEST_LIFE = 1000
"""Calls; no life has so many."""

pytestmark = needs_a_compiler


def problems(life: str, folder: Path, calls: range, *ways: str) -> str:
    """Let a program meet faults at some calls; give what was wrong besides them."""
    program = [sys.executable, "-m", "tests.crash.suffer", life, str(folder)]
    done = subprocess.run(
        [*program, *map(str, (calls.start, calls.step, len(calls))), *ways],
        cwd=ROOT,
        env=with_faults(),
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    *told, last = done.stdout.splitlines() or [""]
    assert last == "lived", (done.stdout, done.stderr[-3000:])
    return "\n".join(told)


def test_a_few_faults_cost_nothing(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as both:
        found = both.map(lambda life: problems(life, tmp_path / life, range(7, 200, 97), *WAYS), LIVES)
        assert list(found) == [""] * len(LIVES)


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("life", LIVES)
def test_a_fault_at_any_call_costs_nothing(life: str, way: str, tmp_path: Path) -> None:
    halves = [range(first, LONGEST_LIFE, 2) for first in (1, 2)]
    with ThreadPoolExecutor(2) as both:
        found = list(both.map(lambda calls: problems(life, tmp_path / str(calls.start), calls, way), halves))
    assert found == ["", ""], "\n".join(found)
