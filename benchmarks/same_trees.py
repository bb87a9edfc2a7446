"""Checks that every sentence gets the same tree however it is parsed.

    python benchmarks/same_trees.py FILE [--model en] [--reencode exact|adaptive|NUMBER] [--every 1]

It is parsed alone, in batches of 7 and of 64, shuffled, on 1 and 2 threads, by 2 workers, and with other token budgets. Exits
with 1 and prints the sentences if any tree differs. Exact decoding takes long: --every 10 takes every tenth sentence.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from graph2graph.decoding.options import ParseOptions
from graph2graph.parser.pipeline import Pipeline
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

Parse = Callable[[list[Sentence]], list[Sentence]]


def ways(pipeline: Pipeline, options: ParseOptions) -> Iterator[tuple[str, int, Parse]]:
    """Ways to parse, each with its name and number of threads."""

    def in_batches(size: int) -> Parse:
        def parse(sentences: list[Sentence]) -> list[Sentence]:
            starts = range(0, len(sentences), size)
            return [tree for start in starts for tree in pipeline.parse(sentences[start : start + size], options)]

        return parse

    def shuffled(sentences: list[Sentence]) -> list[Sentence]:
        order = random.Random(1).sample(range(len(sentences)), len(sentences))
        trees = dict(zip(order, pipeline.parse([sentences[i] for i in order], options), strict=True))
        return [trees[i] for i in range(len(sentences))]

    def with_changes(**changes: int) -> Parse:
        return lambda sentences: list(pipeline.parse(sentences, options, **changes))

    for n_threads in (2, 1):
        yield f"as one stream, {n_threads} threads", n_threads, with_changes()
    for size in (1, 7, 64):
        yield f"{size} at a time", 2, in_batches(size)
    yield "shuffled", 2, shuffled
    for budget in (300, 20_000):
        yield f"budget {budget}", 2, with_changes(batch_tokens=budget)
    yield "2 workers", 2, with_changes(workers=2)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="en")
    parser.add_argument("--reencode")
    parser.add_argument("--every", type=int, default=1)
    arguments = parser.parse_args()
    sentences = list(conllu.read(arguments.file))[:: arguments.every]
    pipeline, options = Pipeline.load(arguments.model), ParseOptions(reencode=arguments.reencode)
    expected: list[Sentence] | None = None
    n_different = 0
    for name, n_threads, parse in ways(pipeline, options):
        torch.set_num_threads(n_threads)
        begin = time.perf_counter()
        trees = parse(sentences)
        expected = expected or trees
        different = [a.sent_id for a, b in zip(expected, trees, strict=True) if a.lines != b.lines]
        n_different += len(different)
        seconds = time.perf_counter() - begin
        print(f"{name}: {len(trees)} sentences, {len(different)} differ, {seconds:.0f} s", *different)
    sys.exit(bool(n_different))


if __name__ == "__main__":
    main()
