"""The cost of storing a model in 8 bits per weight: size and LAS, as the model is and rounded in three ways.

    python experiments/compressed.py DEV.conllu [--model en] [--ways half largest "least squares" "small too"]

`largest` is what `g2g compress` does: large matrices have one scale a row, which makes the row's largest number 127. `least
squares` chooses, of 51 scales, the one with the smallest squared error. `small too` rounds small matrices too: embeddings of
tags, labels and segments, relation tables, all of the classifiers. LAS with the model's own threshold, without tags and with
gold tags, and of exact decoding on every 8th sentence with gold tags. What experiments/results/compressed.json has is kept.
"""

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from graph2graph import markdown, scoring
from graph2graph.decoding.options import EXACT, TagSource
from graph2graph.files import read_json, write_json
from graph2graph.parser import catalogue
from graph2graph.parser.compression import LARGE, LEVELS, SCALE, compressed, expanded, rounded
from graph2graph.parser.parser import Parser
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

RESULTS = Path(__file__).parent / "results" / "compressed.json"
EXACT_EVERY = 8
WAYS = ["half", "largest", "least squares", "small too"]
COLUMNS = ["way", "MB", "error of the weights", "LAS, no tags", "LAS, gold tags", "LAS, exact, every 8th"]


def least_squares(weight: Tensor) -> tuple[Tensor, Tensor]:
    """The integers and the scale of each row for which the squared error of the row is smallest."""
    best, scale = rounded(weight)
    least = ((best * scale[:, None] - weight) ** 2).sum(1)
    for share in torch.linspace(0.5, 1, 51):
        narrower = rounded(weight)[1] * share
        integers = (weight / narrower[:, None]).round().clamp(-LEVELS, LEVELS).to(torch.int8)
        error = ((integers * narrower[:, None] - weight) ** 2).sum(1)
        is_better = error < least
        best[is_better], scale[is_better], least[is_better] = integers[is_better], narrower[is_better], error[is_better]
    return best, scale


def stored(weights: dict[str, Tensor], way: str) -> dict[str, Tensor]:
    """The tensors that a way stores."""
    found = compressed(weights)
    for name, weight in weights.items():
        if way == "half":
            found[name] = weight.half()
            found.pop(name + SCALE, None)
        elif weight.ndim == 2 and (way == "small too" or (way == "least squares" and weight.numel() >= LARGE)):
            found[name], found[name + SCALE] = (least_squares if way == "least squares" else rounded)(weight)
    return found


def measure(parser: Parser, gold: list[Sentence], way: str) -> dict[str, Any]:
    """The figures of a way; the parser has its weights afterwards."""
    weights = parser.model.state_dict()
    tensors = stored(weights, way)
    begin = time.perf_counter()
    new = expanded(tensors, way)
    result: dict[str, Any] = {"expanding_ms": round(1000 * (time.perf_counter() - begin))}
    result["megabytes"] = round(len(save(tensors)) / 1e6, 1)
    error = sum(float(((new[name] - weight) ** 2).sum()) for name, weight in weights.items())
    size = sum(float((weight**2).sum()) for weight in weights.values())
    result["relative_error"] = math.sqrt(error / size)
    parser.model.load_state_dict(new)
    for tags in (TagSource.NONE, TagSource.KEEP):
        result[tags.value] = round(scoring.score(gold, list(parser.parse(gold, tags=tags))).las, 3)
    some = gold[::EXACT_EVERY]
    result["exact"] = round(scoring.score(some, list(parser.parse(some, reencode=EXACT))).las, 3)
    return result


def main() -> None:
    """Measure the ways and print a table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--model", default="en")
    arguments.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS)
    given = arguments.parse_args()
    gold = list(conllu.read(given.file))
    results: dict[str, Any] = read_json(RESULTS) if RESULTS.exists() else {}
    for way in given.ways:
        if way not in results:
            results[way] = measure(Parser.load(catalogue.find(given.model)), gold, way)
            write_json(RESULTS, results, indent=1)
            print(way, results[way], file=sys.stderr, flush=True)
    keys = "megabytes", "relative_error", "none", "keep", "exact"
    rows = [
        [way, *(f"{row[key]:.2g}" if key == "relative_error" else row[key] for key in keys)]
        for way, row in results.items()
    ]
    print(markdown.table(COLUMNS, rows), end="")


if __name__ == "__main__":
    main()
