"""The time of a search over the number of turns, as a picture."""

from __future__ import annotations

from typing import Any

from benchmarks.rivals.rival import OURS


def draw(rows: list[dict[str, Any]]) -> str:
    """Return an SVG with a line a rival: turns across, milliseconds up, both logarithmic.

    Args:
        rows: the figures of the part ``rivals``, as the results hold them. Sizes grow by a factor of ten.
    """
    import pygal
    from pygal.style import Style

    names = list(dict.fromkeys(row["rival"] for row in rows))
    sizes = list(dict.fromkeys(row["size"] for row in rows))
    times = {(row["rival"], row["size"]): row["search_ms"] for row in rows if not row["left_out"]}
    chart = pygal.Line(
        title="Time of a search, in milliseconds (logarithmic)",
        x_title="turns",
        logarithmic=True,
        js=[],  # by default the picture loads a script from elsewhere
        style=Style(
            background="white",
            plot_background="white",
            font_family="sans-serif",
            legend_font_size=13,
            colors=_COLOURS,
        ),
        width=900,
        height=540,
        legend_at_bottom=True,
        legend_at_bottom_columns=4,
        truncate_legend=-1,
        disable_xml_declaration=True,
    )
    chart.y_labels = [0.1, 1, 10, 100, 1000, 10_000]
    chart.uuid = "benchmarks"  # else a random one, in every rule of its style
    chart.x_labels = [f"{size:,}" for size in sizes]
    for name in names:
        width = 5 if name == OURS.name else 2
        chart.add(name, [times.get((name, size)) for size in sizes], stroke_style={"width": width})
    picture: str = chart.render(is_unicode=True)
    return picture


_COLOURS = ("#d6232a", "#444444", "#1f77b4", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b")
