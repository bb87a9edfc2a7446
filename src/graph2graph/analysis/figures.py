"""Figures that are readable without colour: scores by bin, as in Figure 3, and our scores beside the paper's."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from graph2graph.errors import DataError

# Okabe & Ito's palette, safe for all kinds of colour blindness
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINEAR = 10
LINES = ("-", "--", "-.", ":")


def lines(
    title: str, unit: str, bins: Sequence[str], systems: Mapping[str, Sequence[float | None]], sizes: Sequence[int]
) -> dict[str, bytes]:
    """One panel of Figure 3 as "svg" and "png": a line for each system, above bars for the sizes of the bins."""
    with _pyplot() as pyplot:
        figure, (upper, lower) = pyplot.subplots(
            2, 1, figsize=(6.4, 4.8), sharex=True, height_ratios=(4, 1), layout="constrained"
        )
        columns = range(len(bins))
        for number, (name, values) in enumerate(systems.items()):
            known = [(column, value) for column, value in zip(columns, values, strict=True) if value is not None]
            style = {"linestyle": LINES[number % len(LINES)], "linewidth": 1.4, "markersize": 5}
            style |= {"marker": MARKERS[number % len(MARKERS)], "color": COLOURS[number % len(COLOURS)]}
            upper.plot(*zip(*known, strict=True), label=name, **style)
        upper.set_ylabel(unit)
        upper.grid(axis="y", color="#dddddd", linewidth=0.7)
        figure.legend(loc="outside lower center", ncols=3, fontsize=9, frameon=False)  # hides no line there
        upper.set_title(title, fontsize=11)
        lower.bar(columns, sizes, color="#bbbbbb")
        lower.set_ylabel("gold")
        lower.set_xticks(list(columns), list(bins))
        for axis in (upper, lower):
            axis.spines[["top", "right"]].set_visible(False)
        return _saved(figure)


def pairs(unit: str, rows: Sequence[str], series: Mapping[str, Sequence[float]]) -> dict[str, bytes]:
    """A row for each name with a point for each series; beyond ±LINEAR the scale is logarithmic."""
    with _pyplot() as pyplot:
        figure, axis = pyplot.subplots(figsize=(6.8, 1.1 + 0.42 * len(rows)), layout="constrained")
        ys = range(len(rows))
        values = list(series.values())
        axis.hlines(ys, [min(some) for some in zip(*values)], [max(some) for some in zip(*values)], color="#bbbbbb")
        axis.axvline(0, color="#666666", linewidth=0.8)
        for number, (name, some) in enumerate(series.items()):
            hollow = {"markerfacecolor": "white"} if number else {}
            axis.plot(some, ys, MARKERS[number], label=name, color=COLOURS[number], markersize=7, **hollow)
        axis.set_xscale("symlog", linthresh=LINEAR)
        ticks = [sign * share * LINEAR for sign in (-1, 1) for share in (0.5, 1, 3, 10)]
        axis.set_xticks([0, *ticks], ["0", *(f"{tick:+g}".replace("-", "−") for tick in ticks)])
        least, most = min(map(min, values)), max(map(max, values))
        axis.set_xlim(min(1.3 * least, -LINEAR / 2), max(1.3 * most, LINEAR / 2))
        axis.set_yticks(list(ys), list(rows), fontsize=9)
        axis.set_ylim(len(rows) - 0.5, -0.5)  # the first row on top
        axis.set_xlabel(unit)
        axis.grid(axis="x", color="#dddddd", linewidth=0.7)
        axis.set_axisbelow(True)
        axis.spines[["top", "right", "left"]].set_visible(False)
        figure.legend(loc="outside upper right", ncols=len(series), fontsize=9, frameon=False)
        return _saved(figure)


@contextmanager
def _pyplot() -> Iterator[Any]:
    """Matplotlib without a window, set to write the same bytes every time."""
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise DataError("figures need pip install 'graph2graph[plot]'") from error
    with mpl.rc_context({"svg.hashsalt": "g2g", "svg.fonttype": "none", "font.size": 10}):
        yield pyplot
        pyplot.close("all")


def _saved(figure: Any) -> dict[str, bytes]:
    svg, png = io.BytesIO(), io.BytesIO()
    figure.savefig(svg, format="svg", dpi=150, metadata={"Date": None})
    figure.savefig(png, format="png", dpi=150)
    return {"svg": svg.getvalue(), "png": png.getvalue()}
