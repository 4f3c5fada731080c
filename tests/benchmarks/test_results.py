"""What is kept of the runs before."""

from benchmarks.figures import Figure
from benchmarks.results import machine, recorded

FIGURE = Figure("import ffai", 0.1, "s", 0.25)


def test_a_part_takes_the_place_of_its_old_figures_and_leaves_the_others():
    before = recorded(recorded({}, "importing", [FIGURE, FIGURE]), "growth", [FIGURE])
    after = recorded(before, "importing", [FIGURE])
    assert [len(part["figures"]) for part in after["parts"].values()] == [1, 1]
    assert after["machine"] == machine()


def test_figures_of_another_machine_go():
    elsewhere = {**recorded({}, "growth", [FIGURE]), "machine": {"processor": "another"}}
    assert list(recorded(elsewhere, "importing", [FIGURE])["parts"]) == ["importing"]


def test_a_figure_above_its_target_is_missed():
    assert not FIGURE.missed
    assert Figure("import ffai", 0.3, "s", 0.25).missed
