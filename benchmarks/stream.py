"""Whether memory stays flat over a long stream of sentences.

    python benchmarks/stream.py FILE [--model en] [--sentences 200000] [--reencode 0] [--json]

Repeats the file until there are so many sentences, parses them as one stream and watches the resident memory: after the first
tenth it must stay within ±10 %. Then a sentence of 2,000 words is put among short ones, which may add its own batch only.
"""

import argparse
import json
import resource
import sys
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import torch

from graph2graph import conllu
from graph2graph.cli.parse import threshold
from graph2graph.conllu import Sentence
from graph2graph.pipeline import Pipeline

LONG = 2000  # words


def resident_mb() -> float:
    """The memory of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def stream(sentences: list[Sentence], n_sentences: int) -> Iterator[Sentence]:
    """The sentences over and over."""
    return islice(cycle(sentences), n_sentences)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="en")
    parser.add_argument("--sentences", type=int, default=200_000)
    parser.add_argument("--reencode")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", default="fp32", choices=["fp32", "int8"])
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    sentences = list(conllu.read(given.file))
    pipeline = Pipeline.load(given.model, precision=given.precision)
    how = threshold(given.reencode, pipeline)
    sizes = []
    for number, _ in enumerate(pipeline.parse(stream(sentences, given.sentences), reencode=how)):
        if number % max(given.sentences // 200, 1) == 0:
            sizes.append(resident_mb())
            print(f"{number:9,} sentences, {sizes[-1]:,.0f} MB", file=sys.stderr)
    steady = sizes[len(sizes) // 10 :]
    middle = sorted(steady)[len(steady) // 2]
    short = [sentence for sentence in sentences if len(sentence) < 30][:200]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    words = [form for sentence in sentences for form in sentence.forms][:LONG]
    list(pipeline.parse([*short[:100], Sentence.from_words(words), *short[100:]], reencode=0.0))
    long_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result = {
        "sentences": given.sentences,
        "steady_mb": middle,
        "least": min(steady) / middle,
        "most": max(steady) / middle,
        "peak_mb": peak,
        "peak_with_long_sentence_mb": long_peak,
    }
    print(json.dumps(result, indent=1) if given.json else "\n".join(f"{k}: {v:,.2f}" for k, v in result.items()))
    sys.exit(not (result["least"] >= 0.9 and result["most"] <= 1.1))


if __name__ == "__main__":
    main()
