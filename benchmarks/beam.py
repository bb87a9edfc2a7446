"""What a beam brings: LAS, log probability of the best trees and words/s for several widths.

    python benchmarks/beam.py DEV.conllu [--model en] [--beams 1 4 8] [--every 1] [--threads 2] [--json FILE]

A tree that is less probable than the one of beam 1, which is greedy, is counted as `worse`: there must be none (exit 1). For
development files only.
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

ROUNDING = 1e-4  # of a log probability, by which batches of other sizes may differ


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="en")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--every", type=int, default=1, help="take every nth sentence")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    model = Parser.load(catalogue.find(given.model))
    gold = list(conllu.read(given.file))[:: given.every]
    rows: list[dict[str, Any]] = []
    greedy: list[float] = []
    header = ["beam", "LAS", "log probability", "more probable than greedy", "worse", "words/s"]
    print(markdown.table(header, []), end="")
    for beam in given.beams:
        begin = time.perf_counter()
        best = [found[0] for found in model.nbest(gold, beam)]
        seconds = time.perf_counter() - begin
        scores = [one.score for one in best]
        greedy = greedy or scores
        row = {
            "beam": beam,
            "las": round(scoring.score(gold, [one.sentence for one in best]).las, 2),
            "log_probability": round(sum(scores) / len(scores), 4),
            "better": sum(score > first + ROUNDING for score, first in zip(scores, greedy, strict=True)),
            "worse": sum(score < first - ROUNDING for score, first in zip(scores, greedy, strict=True)),
            "words_per_second": round(sum(map(len, gold)) / seconds),
        }
        rows.append(row)
        print(markdown.row(row.values()), end="", flush=True)
    if given.json:
        write_json(given.json, rows, indent=1)
    sys.exit(any(row["worse"] for row in rows))


if __name__ == "__main__":
    main()
