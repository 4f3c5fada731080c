"""A process that dies between any two steps of saving, forgetting and clearing, or in one: the next one recovers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.crash.faults import FOR_EVER, ROOT, needs_a_compiler, with_faults
from tests.crash.ledger import Ledger, assert_recovers
from tests.crash.scenario import LIVES

SHORT_FORM = 3
"""Deaths that the short form tries in each life."""

pytestmark = needs_a_compiler


def live(life: str, folder: Path, dies_at: int) -> list[str]:
    """Run a program that dies at a call; give what it said."""
    program = [sys.executable, "-m", "tests.crash.die", life, str(folder), str(dies_at)]
    done = subprocess.run(
        program, cwd=ROOT, env=with_faults(), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode in (0, -9), done.stderr
    whole = done.stdout[: done.stdout.rfind("\n") + 1]
    return whole.splitlines()


def problem_after(life: str, folder: Path, dies_at: int) -> str | None:
    """Let a program die at a call; tell what is wrong at the next start, if anything is."""
    folder.mkdir()
    said = live(life, folder, dies_at)
    try:
        assert_recovers(folder, Ledger.of(said))
    except Exception as error:
        return f"killed at call {dies_at}, after {said[-1:]}: {type(error).__name__}: {error!s:.300}"
    shutil.rmtree(folder)
    return None


def problems(life: str, folder: Path, calls: range) -> list[str]:
    """Try many calls, two at a time."""
    with ThreadPoolExecutor(2) as both:
        found = both.map(lambda call: problem_after(life, folder / str(call), call), calls)
        return [problem for problem in found if problem]


@pytest.mark.parametrize("life", LIVES)
def test_a_death_at_a_few_calls_costs_nothing(life: str, tmp_path: Path) -> None:
    total = int(live(life, tmp_path / "whole", FOR_EVER)[-1].split()[1])
    step = total // SHORT_FORM
    assert problems(life, tmp_path, range(step // 2, total, step)) == []


@pytest.mark.long
@pytest.mark.parametrize("life", LIVES)
def test_a_death_at_any_call_costs_nothing(life: str, tmp_path: Path) -> None:
    total = int(live(life, tmp_path / "whole", FOR_EVER)[-1].split()[1])
    found = problems(life, tmp_path, range(1, total + 1))
    assert found == [], "\n".join(found)
