"""Labelled F and LAS over bins, as the paper's Figure 4: lines that can be told apart without colour, and in print."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

from graph2graph.errors import DataError

# Okabe & Ito: told apart by people with any kind of colour blindness
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":")


def lines(
    title: str, unit: str, bins: Sequence[str], systems: Mapping[str, Sequence[float | None]], sizes: Sequence[int]
) -> dict[str, bytes]:
    """A line for each system over the bins, above bars that show how large each bin is; as "svg" and "png"."""
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise DataError("figures need pip install 'graph2graph[plot]'") from error
    with mpl.rc_context({"svg.hashsalt": "g2g", "svg.fonttype": "none", "font.size": 10}):
        figure, (upper, lower) = pyplot.subplots(
            2, 1, figsize=(6.4, 4.8), sharex=True, height_ratios=(4, 1), layout="constrained"
        )
        places = range(len(bins))
        for number, (name, values) in enumerate(systems.items()):
            known = [(place, value) for place, value in zip(places, values, strict=True) if value is not None]
            upper.plot(
                *zip(*known, strict=True),
                label=name,
                color=COLOURS[number % len(COLOURS)],
                marker=MARKERS[number % len(MARKERS)],
                linestyle=LINES[number % len(LINES)],
                markersize=5,
                linewidth=1.4,
            )
        upper.set_ylabel(unit)
        upper.grid(axis="y", color="#dddddd", linewidth=0.7)
        figure.legend(loc="outside lower center", ncols=3, fontsize=9, frameon=False)  # where it hides no line
        upper.set_title(title, fontsize=11)
        lower.bar(places, sizes, color="#bbbbbb")
        lower.set_ylabel("gold")
        lower.set_xticks(list(places), list(bins))
        for axis in (upper, lower):
            axis.spines[["top", "right"]].set_visible(False)
        found = {kind: _saved(figure, kind) for kind in ("svg", "png")}
        pyplot.close(figure)
    return found


def _saved(figure: Any, kind: str) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
    return stream.getvalue()
