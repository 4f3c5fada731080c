"""What is kept of the runs before."""

from benchmarks.figures import Figure
from benchmarks.results import machine, recorded
from benchmarks.rivals.contest import Row

FIGURE = Figure("import ffai", 0.1, "s", 0.25)


def test_a_part_takes_the_place_of_its_old_figures_and_leaves_the_others():
    before = recorded(recorded({}, "importing", [FIGURE, FIGURE]), "growth", [FIGURE])
    after = recorded(before, "importing", [FIGURE])
    assert [len(part["figures"]) for part in after["parts"].values()] == [1, 1]
    assert after["machine"] == machine()


def test_figures_of_another_machine_go():
    elsewhere = {**recorded({}, "growth", [FIGURE]), "machine": {"processor": "another"}}
    assert list(recorded(elsewhere, "importing", [FIGURE])["parts"]) == ["importing"]


def test_a_size_takes_the_place_of_the_same_size_and_leaves_the_others():
    def row(size, search_ms):
        return Row("FAISS flat", "1.0", size, "made", search_ms=search_ms)

    before = recorded({}, "rivals", [row(1000, 1.0), row(10_000, 2.0)])
    after = recorded(before, "rivals", [row(1000, 3.0)])["parts"]["rivals"]["figures"]
    assert [(figure["size"], figure["search_ms"]) for figure in after] == [(1000, 3.0), (10_000, 2.0)]


def test_a_figure_above_its_target_is_missed():
    assert not FIGURE.missed
    assert Figure("import ffai", 0.3, "s", 0.25).missed
