"""The page that shows the results."""

import json

import pytest

from benchmarks.__main__ import PARTS
from benchmarks.plot import draw
from benchmarks.report import PAGE, number, page
from benchmarks.results import load
from benchmarks.rivals.contest import Row
from benchmarks.targets import TARGETS

MACHINE = {"processor": "Quick 1", "cores": 2, "memory": "24 GiB", "system": "Linux", "python": "3.11.7"}


def results(**parts):
    dated = {name: {"date": "2026-11-30", "load": 1.5, "figures": figures} for name, figures in parts.items()}
    return {"machine": MACHINE, "versions": {"numpy": "2.0"}, "parts": dated}


def rival(name, size, **values):
    return vars(Row(name, "1.0", size, "made", **values))


def test_the_page_shows_the_kept_results():
    assert PAGE.read_text("utf-8") == page(load())


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.what)
def test_each_figure_to_reach_is_shown_or_says_where_it_is(target):
    _, _, after = PAGE.read_text("utf-8").partition(f"| **{target.what}** | | {target.bound} |\n")
    first = after.splitlines()[0]
    measured = load()["parts"].get(target.part, {}).get("figures")
    if measured:
        assert measured[0]["what"] in first
    else:
        assert (f"shown by {target.elsewhere}" if target.elsewhere else f"part `{target.part}`") in first


def test_each_part_with_targets_belongs_to_a_figure_to_reach():
    names = {part.__name__.rpartition(".")[2] for part in PARTS} - {"rivals"}
    assert names <= {target.part for target in TARGETS}


def test_the_results_are_json_with_a_date_a_part():
    assert json.loads(json.dumps(load())) == load()
    assert all(part["date"] for part in load()["parts"].values())


def test_a_missed_target_is_marked():
    figures = [{"what": "import ffai", "value": 0.5, "unit": "s", "target": 0.25}]
    assert "| import ffai | 0.500 s (missed) | ≤ 0.25 s |" in page(results(importing=figures))


def test_a_rival_has_its_ratio_and_what_is_left_out_its_reason():
    text = page(
        results(
            rivals=[
                rival("ffai", 1000, search_ms=0.5, over_ours=1.0, recall=1.0, queries=60),
                rival("NumPy product", 1000, search_ms=0.25, over_ours=0.5, recall=1.0, queries=60),
                rival("Slow", 1000, left_out="took longer than 150 s"),
            ]
        )
    )
    assert "| NumPy product | 0.500 × |" in text
    assert "| Slow | left out |" in text
    assert "- Slow, 1,000 turns: took longer than 150 s." in text
    assert "2.00 × at 1,000" in text


def test_the_page_names_the_machine():
    assert "2 cores of Quick 1, 24 GiB of memory" in page(results())


def test_the_plot_has_every_rival_and_loads_nothing():
    picture = draw([rival("ffai", 1000, search_ms=0.5), rival("Other", 1000, left_out="slow")])
    assert ">ffai<" in picture
    assert ">Other<" in picture
    assert "href" not in picture


def test_numbers_have_three_digits_that_count():
    assert [number(value) for value in (0.01234, 0.25, 1.5, 31.25, 6812.4)] == [
        "0.0123",
        "0.250",
        "1.50",
        "31.2",
        "6,812",
    ]
