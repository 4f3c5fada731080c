"""The page and the plot that show the last results. ``python -m benchmarks.report`` writes them again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.plot import draw
from benchmarks.results import Results, load
from benchmarks.rivals.contest import LIMIT
from benchmarks.rivals.rival import NUMPY, OURS
from benchmarks.targets import TARGETS, Target

DOCS = Path(__file__).parents[1] / "docs"
PAGE, PLOT = DOCS / "benchmarks.md", DOCS / "assets/benchmarks.svg"

_INTRODUCTION = """\
# Benchmarks

`make bench` measures each figure beside what it is compared with, in one run, and writes this page. Ratios can be
compared between machines; times can't. `make bench PARTS="search rivals"` measures only the parts that it names, and
`BENCH_SIZES=1000,10000 make bench PARTS=rivals` measures fewer sizes.
"""
_RIVALS = """\
## Beside other stores

Each store has an environment and a process of its own, on the same core, with one thread. Ours and one other are asked
in turn, five queries a round, so that both meet the machine at the same speed; a ratio is the median over the rounds.
Times are processor time of the process: how long a search takes on one core of an idle machine.

Vectors have 384 dimensions, and the ten best are asked for. Up to 10,000 turns the vectors are real ones, of made
conversations by all-MiniLM-L6-v2; beyond, they are unit vectors that lie in groups, because embedding a million texts
takes hours. Recall is the share of the ten best rows that was found; which they are was told by comparing every row in
double precision.

How many times as long as ours a search takes:
"""
_NOTES = f"""\
NumPy and FAISS keep vectors alone; the others keep a text and metadata too, and return them. Chroma has an approximate
index, which is what its adding takes, and whose recall can be below 1. Qdrant is the local mode of its Python client,
made for trying things out; its server is another program. LanceDB reads its file at each search. ffai 0.1.8 compares
lists of Python numbers one by one. Ours is filled as a memory file is opened, many turns at once. What would take
longer than {LIMIT} seconds at a size is left out there.
"""


def write_report(results: Results) -> None:
    """Write the page and the plot."""
    PLOT.parent.mkdir(parents=True, exist_ok=True)
    if rows := _rows(results):
        PLOT.write_text(draw(rows), "utf-8")
    PAGE.write_text(page(results), "utf-8")


def page(results: Results) -> str:
    """Return the page, as Markdown."""
    parts = [_INTRODUCTION, _machine(results), _figures(results)]
    if rows := _rows(results):
        names = list(dict.fromkeys(row["rival"] for row in rows))
        sizes = list(dict.fromkeys(row["size"] for row in rows))
        plot = f"![Time of a search over the number of turns]({PLOT.relative_to(DOCS).as_posix()})\n"
        parts += [_RIVALS, _ratios(rows, names, sizes), _beside_numpy(rows), plot]
        parts += [_details(size, [row for row in rows if row["size"] == size]) for size in sizes]
        parts += [_left_out(rows), _NOTES]
    return "\n".join(part for part in parts if part)


def _rows(results: Results) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = results.get("parts", {}).get("rivals", {}).get("figures", [])
    return rows


def _machine(results: Results) -> str:
    machine, versions = results["machine"], results["versions"]
    dates = sorted({part["date"] for part in results["parts"].values()}) or ["never"]
    loads = sorted(part["load"] for part in results["parts"].values()) or [0.0]
    packages = ", ".join(f"{name} {number}" for name, number in versions.items())
    return (
        f"Measured {' to '.join(dict.fromkeys((dates[0], dates[-1])))} on "
        f"{machine['cores']} cores of {machine['processor']}, "
        f"{machine['memory']} of memory, {machine['system']}, Python {machine['python']}; {packages}. "
        f"While it ran, {loads[0]:g} to {loads[-1]:g} programs wanted a core, this one among them.\n"
    )


def _figures(results: Results) -> str:
    lines = ["## Figures to reach", "", "| What | Measured | Target |", "|---|---|---|"]
    for target in TARGETS:
        lines += [f"| **{target.what}** | | {target.bound} |", *_measured(target, results)]
    return "\n".join(lines) + "\n"


def _measured(target: Target, results: Results) -> Iterator[str]:
    figures = results["parts"].get(target.part, {}).get("figures", [])
    if not figures:
        place = f"shown by {target.elsewhere}" if target.elsewhere else f"part `{target.part}`, not measured yet"
        yield f"| {place} | | |"
    for figure in figures:
        mark = " (missed)" if figure["value"] > figure["target"] else ""
        unit = "×" if figure["unit"] == "x" else figure["unit"]
        yield f"| {figure['what']} | {number(figure['value'])} {unit}{mark} | ≤ {figure['target']:g} {unit} |"


def _ratios(rows: list[dict[str, Any]], names: list[str], sizes: list[int]) -> str:
    found = {(row["rival"], row["size"]): row for row in rows}
    lines = ["| |" + "".join(f" {size:,} |" for size in sizes), "|---|" + "---:|" * len(sizes)]
    for name in names:
        if name != OURS.name:
            cells = [_ratio(found.get((name, size))) for size in sizes]
            lines.append(f"| {name} |" + "".join(f" {cell} |" for cell in cells))
    return "\n".join(lines) + "\n"


def _ratio(row: dict[str, Any] | None) -> str:
    return "left out" if row is None or row["left_out"] else f"{number(row['over_ours'])} ×"


def _beside_numpy(rows: list[dict[str, Any]]) -> str:
    shares = [
        f"{number(1 / row['over_ours'])} × at {row['size']:,}"
        for row in rows
        if row["rival"] == NUMPY.name and not row["left_out"]
    ]
    return f"Ours over a NumPy product, from the same rounds: {', '.join(shares)}.\n" if shares else ""


def _details(size: int, rows: list[dict[str, Any]]) -> str:
    lines = [f"### {size:,} turns, {rows[0]['vectors']} vectors", ""]
    lines += ["| | Search | Adding all | Recall | Queries |", "|---|---:|---:|---:|---:|"]
    for row in rows:
        if not row["left_out"]:
            name = row["rival"] if row["version"] in row["rival"] else f"{row['rival']} {row['version']}"
            search, add = f"{number(row['search_ms'])} ms", f"{number(row['add_s'])} s"
            lines.append(f"| {name} | {search} | {add} | {row['recall']:.3f} | {row['queries']} |")
    return "\n".join(lines) + "\n"


def _left_out(rows: list[dict[str, Any]]) -> str:
    lines = [f"- {row['rival']}, {row['size']:,} turns: {row['left_out']}." for row in rows if row["left_out"]]
    return "\n".join(["Left out:", "", *lines]) + "\n" if lines else ""


def number(value: float) -> str:
    """Write a number with three digits that count, without an exponent.

    Examples:
        >>> [number(value) for value in (0.01234, 1.5, 31.25, 6812.4)]
        ['0.0123', '1.50', '31.2', '6,812']
    """
    if value >= 100:
        return f"{value:,.0f}"
    digits = 1 if value >= 10 else 2 if value >= 1 else 3 if value >= 0.1 else 4
    return f"{value:.{digits}f}"


if __name__ == "__main__":
    write_report(load())
