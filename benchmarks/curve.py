"""Accuracy against work: LAS, encodings a sentence and words/s of a graph model at several thresholds of re-encoding.

    python benchmarks/curve.py DEV.conllu [--model en] [--thresholds 0 0.5 0.9 … inf] [--every 1] [--threads 2]
                               [--json FILE] [--picture FILE]

The threshold to ship (`decode.adaptive`) is the lowest whose LAS is within 0.05 of exact decoding. For development files only.
"""

import argparse
import math
import time
from pathlib import Path
from typing import Any

import torch

from graph2graph import markdown, scoring
from graph2graph.decoding.greedy import Work
from graph2graph.files import write_json
from graph2graph.parser import catalogue
from graph2graph.parser.parser import Parser
from graph2graph.treebank import conllu

THRESHOLDS = (0.0, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, math.inf)
LOSS = 0.05  # LAS that may be lost


def point(parser: Parser, gold: list[conllu.Sentence], threshold: float) -> dict[str, Any]:
    """The figures of one threshold."""
    work, begin = Work(), time.perf_counter()
    parsed = list(parser.parse(gold, reencode=threshold, work=work))
    seconds = time.perf_counter() - begin
    return {
        "threshold": threshold if threshold < math.inf else "exact",
        "las": round(scoring.score(gold, parsed).las, 4),
        "encodings": round(work.n_encoded / len(gold), 2),
        "words_per_second": round(sum(map(len, gold)) / seconds),
    }


def draw(points: list[dict[str, Any]], path: Path) -> None:
    """Draw LAS over the encodings of a sentence and over the speed, each point with its threshold."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.0), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    exact = points[-1]["las"]
    sides = (
        ("encodings", "encodings a sentence", [1, 2, 3, 5, 10]),
        ("words_per_second", "words/s", [100, 200, 500, 1000]),
    )
    las = [one["las"] for one in points]
    for axes, (key, title, ticks) in zip(panels, sides, strict=True):
        axes.plot([one[key] for one in points], las, "o-", color="#0072b2")
        for one in points:
            axes.annotate(f"{one['threshold']}", (one[key], one["las"]), textcoords="offset points", xytext=(4, -12))
        axes.axhline(exact - LOSS, color="#767676", linestyle="--", linewidth=1, label=f"exact less {LOSS}")
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.set_xlabel(title)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("LAS")
    panels[0].legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=150)


def main() -> None:
    """Measure the thresholds one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="en")
    parser.add_argument("--thresholds", type=float, nargs="+", default=THRESHOLDS)
    parser.add_argument("--every", type=int, default=1, help="take every nth sentence")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    model = Parser.load(catalogue.find(given.model))
    gold = list(conllu.read(given.file))[:: given.every]
    points = []
    print(markdown.table(["threshold", "LAS", "encodings", "words/s"], []), end="")
    for threshold in sorted(given.thresholds):
        points.append(point(model, gold, threshold))
        row = points[-1]
        cells = [row["threshold"], f"{row['las']:.2f}", f"{row['encodings']:.2f}", f"{row['words_per_second']:,}"]
        print(markdown.row(cells), end="", flush=True)
    good = [row["threshold"] for row in points if row["las"] > points[-1]["las"] - LOSS]
    print(f"\nThe lowest within {LOSS} LAS of the last: {good[0]}")
    if given.json:
        write_json(given.json, {"model": given.model, "file": given.file.name, "points": points}, indent=1)
    if given.picture:
        draw(points, given.picture)


if __name__ == "__main__":
    main()
