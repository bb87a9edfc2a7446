"""Whether every sentence gets the same tree however it is parsed.

    python benchmarks/same_trees.py FILE [--model en] [--reencode exact|adaptive|NUMBER] [--every 1]

Alone, in sevens, in batches of 64, shuffled, with 1 and 2 threads, 1 and 2 worker processes, and with other token budgets.
Exit 1, with the sentences, if any tree differs. Takes long for exact decoding: --every 10 takes every tenth sentence.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from graph2graph.cli.parse import threshold
from graph2graph.parser.pipeline import Pipeline
from graph2graph.treebank import conllu
from graph2graph.treebank.conllu import Sentence

Parse = Callable[[list[Sentence]], list[Sentence]]


def ways(pipeline: Pipeline, reencode: float | None) -> Iterator[tuple[str, int, Parse]]:
    """Names of ways to parse, with the number of threads."""

    def in_batches(size: int) -> Parse:
        def parse(some: list[Sentence]) -> list[Sentence]:
            parts = (some[first : first + size] for first in range(0, len(some), size))
            return [tree for part in parts for tree in pipeline.parse(part, reencode=reencode)]

        return parse

    def shuffled(some: list[Sentence]) -> list[Sentence]:
        order = random.Random(1).sample(range(len(some)), len(some))
        trees = dict(zip(order, pipeline.parse([some[i] for i in order], reencode=reencode), strict=True))
        return [trees[i] for i in range(len(some))]

    for n_threads in (2, 1):
        yield f"as one stream, {n_threads} threads", n_threads, in_batches(sys.maxsize)
    for size in (1, 7, 64):
        yield f"{size} at a time", 2, in_batches(size)
    yield "shuffled", 2, shuffled
    for budget in (300, 20_000):
        yield (
            f"budget {budget}",
            2,
            lambda some, b=budget: list(pipeline.parse(some, reencode=reencode, batch_tokens=b)),
        )
    yield "2 workers", 2, lambda some: list(pipeline.parse(some, reencode=reencode, workers=2))


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="en")
    parser.add_argument("--reencode")
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args()
    sentences = list(conllu.read(given.file))[:: given.every]
    pipeline = Pipeline.load(given.model)
    expected: list[Sentence] | None = None
    n_different = 0
    for name, n_threads, parse in ways(pipeline, threshold(given.reencode, pipeline)):
        torch.set_num_threads(n_threads)
        begin = time.perf_counter()
        trees = parse(sentences)
        expected = expected or trees
        different = [a.sent_id for a, b in zip(expected, trees, strict=True) if a.lines != b.lines]
        n_different += len(different)
        print(
            f"{name}: {len(trees)} sentences, {len(different)} differ, {time.perf_counter() - begin:.0f} s", *different
        )
    sys.exit(bool(n_different))


if __name__ == "__main__":
    main()
