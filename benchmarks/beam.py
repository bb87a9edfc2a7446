"""The gain of a beam: LAS, log probability of the best trees and words/s for several widths.

    python benchmarks/beam.py DEV.conllu [--model en] [--beams 1 4 8] [--every 1] [--threads 2] [--json FILE]

Trees that are less probable than those of beam 1, which is greedy, are counted as `worse`; if there are any, the exit code
is 1. For development files only.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import torch

from graph2graph import markdown, scoring
from graph2graph.files import write_json
from graph2graph.parser import catalogue
from graph2graph.parser.parser import Parser
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

ROUNDING = 1e-4  # of a log probability, between batches of different sizes


HEADER = ["beam", "LAS", "log probability", "more probable than greedy", "worse", "words/s"]


def measure(
    parser: Parser, gold: list[Sentence], beam: int, greedy: list[float] | None
) -> tuple[dict[str, Any], list[float]]:
    """The figures of a width beside the greedy scores, and its own scores."""
    begin = time.perf_counter()
    best = [found[0] for found in parser.nbest(gold, beam)]
    seconds = time.perf_counter() - begin
    scores = [one.score for one in best]
    gains = [score - first for score, first in zip(scores, greedy or scores, strict=True)]
    row = {
        "beam": beam,
        "las": round(scoring.score(gold, [one.sentence for one in best]).las, 2),
        "log_probability": round(sum(scores) / len(scores), 4),
        "better": sum(gain > ROUNDING for gain in gains),
        "worse": sum(gain < -ROUNDING for gain in gains),
        "words_per_second": round(sum(map(len, gold)) / seconds),
    }
    return row, scores


def main() -> None:
    """Measure the widths one after the other."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--model", default="en")
    arguments.add_argument("--beams", type=int, nargs="+", default=[1, 4, 8])
    arguments.add_argument("--every", type=int, default=1, help="take every nth sentence")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    torch.set_num_threads(given.threads)
    parser = Parser.load(catalogue.find(given.model))
    gold = list(conllu.read(given.file))[:: given.every]
    rows: list[dict[str, Any]] = []
    greedy: list[float] | None = None
    print(markdown.table(HEADER, []), end="")
    for beam in given.beams:
        row, scores = measure(parser, gold, beam, greedy)
        greedy = greedy or scores
        rows.append(row)
        print(markdown.row(row.values()), end="", flush=True)
    if given.json:
        write_json(given.json, rows, indent=1)
    sys.exit(any(row["worse"] for row in rows))


if __name__ == "__main__":
    main()
