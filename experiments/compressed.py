"""The cost of storing a model in 8 bits per weight: size and LAS, as the model is and rounded in three ways.

    python experiments/compressed.py DEV.conllu [--model en] [--ways half groups rows small] [--threads 1]

`groups` is what `g2g compress` does: a scale for each 32 columns of a row of a large matrix. `rows` has one scale a row, and
`small` rounds small matrices too: embeddings of tags, labels and segments, relation tables, the classifiers. LAS with the
model's own threshold, without tags and with gold tags, and of exact decoding on every 8th sentence with gold tags. What
experiments/results/compressed.json has is kept.
"""

import argparse
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from graph2graph import markdown, scoring
from graph2graph.decoding.options import EXACT, ParseOptions, TagSource
from graph2graph.files import read_json, write_bytes, write_json
from graph2graph.parser import catalogue
from graph2graph.parser.compression import SCALE, compressed, expanded, rounded
from graph2graph.parser.parser import Parser
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

RESULTS = Path(__file__).parent / "results" / "compressed.json"
EXACT_EVERY = 8
WAYS = ["half", "groups", "rows", "small"]
COLUMNS = ["way", "MB", "error of the weights", "LAS, no tags", "LAS, gold tags", "LAS, exact, every 8th"]


def stored(weights: dict[str, Tensor], way: str) -> dict[str, Tensor]:
    """The tensors that a way stores."""
    found = compressed(weights)
    for name, weight in weights.items():
        if way == "half":
            found[name] = weight.half()
            found.pop(name + SCALE, None)
        elif way == "rows" and name + SCALE in found:
            found[name], found[name + SCALE] = rounded(weight, group=weight.shape[1])
        elif way == "small" and weight.ndim == 2:
            found[name], found[name + SCALE] = rounded(weight)
    return found


def measure(model: Path, gold: list[Sentence], way: str, known: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The figures of a way, of the model as it is stored and loaded; all so far, after each that is not known yet."""
    parser = Parser.load(model, precision="fp32")
    weights = parser.model.state_dict()
    tensors = stored(weights, way)
    new, content = expanded(tensors, way), save(tensors)
    error = sum(float(((new[name] - weight) ** 2).sum()) for name, weight in weights.items())
    size = sum(float((weight**2).sum()) for weight in weights.values())
    result = {"megabytes": round(len(content) / 1e6, 1), "relative_error": round(math.sqrt(error / size), 5)} | known
    yield result
    with tempfile.TemporaryDirectory() as directory:
        parser.save_settings(directory)
        write_bytes(Path(directory) / "model.safetensors", content)
        parser = Parser.load(directory, precision="fp32")
    some = gold[::EXACT_EVERY]
    for key, sentences, options in (
        ("none", gold, ParseOptions(tags=TagSource.NONE)),
        ("keep", gold, ParseOptions(tags=TagSource.KEEP)),
        ("exact", some, ParseOptions(tags=TagSource.KEEP, reencode=EXACT)),
    ):
        if key not in result:
            result[key] = round(scoring.score(sentences, list(parser.parse(sentences, options))).las, 3)
            yield result


def main() -> None:
    """Measure the ways and print a table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--model", default="en")
    arguments.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS)
    arguments.add_argument("--threads", type=int, default=1)
    given = arguments.parse_args()
    torch.set_num_threads(given.threads)
    gold = list(conllu.read(given.file))
    results: dict[str, Any] = read_json(RESULTS) if RESULTS.exists() else {}
    for way in given.ways:
        for found in measure(catalogue.find(given.model), gold, way, results.get(way, {})):
            results[way] = found
            write_json(RESULTS, results, indent=1)
    keys = "megabytes", "relative_error", "none", "keep", "exact"
    rows = [[way, *(row.get(key, "") for key in keys)] for way, row in results.items()]
    print(markdown.table(COLUMNS, rows), end="")


if __name__ == "__main__":
    main()
