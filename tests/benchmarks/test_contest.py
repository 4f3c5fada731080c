"""Two engines asked in turn."""

import numpy as np
import pytest

from benchmarks.rivals.contest import Contest, Rounds, Row, foreseen, ratio
from benchmarks.rivals.process import EndedError, EngineProcess, OverTimeError
from benchmarks.rivals.rival import NUMPY, OURS, RIVALS, Rival
from benchmarks.vectors import QUERIES, Truth, VectorFiles


@pytest.fixture
def files(tmp_path):
    random = np.random.default_rng(0)
    for name, count in (("rows", 200), ("queries", QUERIES)):
        vectors = random.normal(size=(count, 8))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        np.save(tmp_path / f"{name}.npy", vectors.astype(np.float32))
    return VectorFiles("made", tmp_path / "rows.npy", tmp_path / "queries.npy")


def test_the_ratio_is_the_median_over_the_rounds_so_one_bad_round_does_not_count():
    ours = [1.0, 1.0, 1.0, 1.0, 50.0, 50.0]
    theirs = [4.0, 4.0, 4.0, 4.0, 4.0, 4.0]
    assert ratio(ours, theirs, length=2) == 4.0


def test_a_slow_machine_in_both_halves_of_a_round_leaves_the_ratio():
    assert ratio([1.0, 9.0], [2.0, 18.0], length=1) == 2.0


def test_engines_are_asked_in_turn_and_all_queries():
    asked = []

    def engine(name):
        def search(first, count):
            asked.append((name, first, count))
            return [1.0] * count, [[0]] * count

        return search

    rounds = Rounds(length=QUERIES // 2)
    rounds.run(engine("ours"), engine("theirs"))
    half = QUERIES // 2
    assert asked == [("ours", 0, half), ("theirs", 0, half), ("ours", half, half), ("theirs", half, half)]
    assert len(rounds.found) == len(rounds.ours) == len(rounds.theirs) == QUERIES


def test_no_further_round_begins_once_the_other_has_taken_long_enough():
    def slow(first, count):
        return [15e6] * count, [[0]] * count

    rounds = Rounds(length=1)
    rounds.run(slow, slow)
    assert len(rounds.found) == 3


def test_a_rival_that_works_for_too_long_is_ended(files, tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((20_000, 384), dtype=np.float32))
    np.save(tmp_path / "queries.npy", np.ones((20_000, 384), dtype=np.float32))
    with EngineProcess(NUMPY, files, limit=1) as process:
        process.add()
        with pytest.raises(OverTimeError):
            process.search(0, 20_000)


def test_a_rival_is_left_out_where_it_would_take_too_long():
    slow = Row("slow", "1.0", 10_000, "made", add_s=1.0, search_ms=7000.0)
    assert foreseen(slow, 100_000) == "would take about 220 s"
    assert foreseen(Row("quick", "1.0", 10_000, "made", add_s=1.0, search_ms=7.0), 100_000) is None


def test_what_is_left_out_at_a_size_is_left_out_beyond():
    row = Row("slow", "1.0", 10_000, "made", left_out="took longer than 150 s")
    assert foreseen(row, 100_000) == "was left out at 10,000 turns"


def test_a_contest_measures_both_and_finds_what_is_right(files):
    with EngineProcess(OURS, files) as ours:
        contest = Contest(ours, files, 200, Truth(files, 10))
        add_s = ours.add()
        own, numpy = contest.own_row(OURS, add_s), contest.against(NUMPY, smaller=None)
    assert (own.recall, numpy.recall) == (1.0, 1.0)
    assert own.search_ms > 0
    assert numpy.over_ours > 0
    assert numpy.left_out is None


def test_a_rival_that_cannot_be_installed_is_reported_as_such(files):
    with EngineProcess(OURS, files) as ours:
        ours.add()
        row = Contest(ours, files, 200, Truth(files, 10)).against(Rival("none", "none", ("not a package!",)), None)
    assert row.left_out is not None
    assert row.left_out.startswith("could not be installed")


def test_an_engine_that_ends_by_itself_is_an_error(files):
    with EngineProcess(Rival("unknown", "no_such_engine"), files) as process, pytest.raises(EndedError, match="code 1"):
        process.add()


def test_every_rival_is_pinned():
    assert all(rival.version for rival in RIVALS if rival is not NUMPY)
