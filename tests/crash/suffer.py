"""A program that meets faults: ``python -m tests.crash.suffer <life> <folder> <first> <step> <times> <fault/how>...``.

It lives a life again and again, each time with the fault at a later call, until no call is left that could fail, or so
many times. It prints what went wrong besides the fault.
"""

from __future__ import annotations

import faulthandler
import shutil
import sys
import traceback
from pathlib import Path

from ffai.core.memory import Memory
from tests.crash.evidence import look_at
from tests.crash.faults import FAULTS, FOR_EVER, Fault, arm, disarm, failed
from tests.crash.ledger import Ledger, assert_recovers, ids_in, say
from tests.crash.scenario import LIVES

ONCE, UNTIL_TOLD = "once", "until told"


def suffer(life: str, fault: Fault, folder: Path, how: str, call: int) -> bool:
    """Live once, with the fault at a call, or from that call on.

    Returns:
        Whether the life had so many calls.

    Raises:
        Exception: the collection was not right afterwards, or something was raised that must not be.
    """
    ledger = Ledger()

    def end_the_fault(memory: Memory) -> None:
        if how == UNTIL_TOLD and failed():
            _assert_told(folder, memory, ledger)
            disarm()

    arm(folder, fault, call, call if how == ONCE else FOR_EVER)
    try:
        LIVES[life](folder, ledger.note, end_the_fault)
    finally:
        met = failed() > 0
        disarm()
    assert_recovers(folder, ledger)
    return met


def _assert_told(folder: Path, memory: Memory, ledger: Ledger) -> None:
    """While nothing can be written: what can be lost is said, and what was written before is whole."""
    memory.flush(10)
    status, kept = memory.status(), look_at(folder)
    wanted = {i for word, i in ledger.accepted.items() if word not in ledger.doubtful | ledger.forgotten}
    assert status.not_durable >= len(wanted - kept.ids), (status, wanted - kept.ids)
    if wanted - set(kept.file):
        assert status.problem, status
    assert wanted <= {*ids_in(memory), *kept.waiting, *kept.indexed}, (status, wanted, kept)


def main(life: str, fault: str, folder: Path, how: str, calls: range) -> None:
    """Try some calls."""
    for call in calls:
        here = folder / str(call)
        here.mkdir(parents=True)
        faulthandler.dump_traceback_later(100, exit=True)
        try:
            met = suffer(life, FAULTS[fault], here, how, call)
        except BaseException as error:
            told = "".join(traceback.format_exception(error)[-3:])
            say(f"--- {life}, {fault}, {how}, call {call}: {told}")
            met = True
        shutil.rmtree(here, ignore_errors=True)
        if not met:
            break


if __name__ == "__main__":
    first, step, times = map(int, sys.argv[3:6])
    for way in sys.argv[6:]:
        main(
            sys.argv[1],
            way.split("/")[0],
            Path(sys.argv[2]),
            way.split("/")[1],
            range(first, first + step * times, step),
        )
    say("lived")
