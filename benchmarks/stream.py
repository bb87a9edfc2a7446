"""Whether memory stays flat over a long stream of sentences.

    python benchmarks/stream.py FILE [--model en] [--sentences 200000] [--reencode 0] [--json]

The file is repeated until there are so many sentences, and parsed as one stream. After the first tenth of the stream, the peak
within each hundredth must stay within ±10 %, and so must the memory in use at its end. Then 200 short sentences are parsed,
the same with one of 2,000 words among them, and that one alone, which is its own batch: with one encoding a sentence, since
exact decoding would encode so long a sentence very often. Last, the long sentence is parsed as requested and timed. Linux only.
"""

import argparse
import json
import resource
import sys
import time
from collections.abc import Iterable
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import torch
from rich.console import Console
from rich.progress import track

from graph2graph.decoding.options import ParseOptions, read_reencode
from graph2graph.parser.pipeline import Pipeline
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence
from machine import seconds

LONG = 2000  # words
PARTS = 100


def resident_mb() -> float:
    """The memory of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def take_peak_mb() -> float:
    """The most memory this process has had since the last call."""
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024
    Path("/proc/self/clear_refs").write_text("5")
    return peak


def spread(sizes: list[float]) -> dict[str, float]:
    """The median of the sizes after the first tenth, and the least and the most as shares of it."""
    steady = sizes[len(sizes) // 10 :]
    middle = median(steady)
    return {"median_mb": middle, "least": min(steady) / middle, "most": max(steady) / middle}


def parse_stream(
    pipeline: Pipeline, sentences: list[Sentence], n_sentences: int, options: ParseOptions
) -> dict[str, Any]:
    """The memory while a stream of so many sentences is parsed."""
    resident, peaks = [], []
    part = max(n_sentences // PARTS, 1)
    parsed = pipeline.parse(islice(cycle(sentences), n_sentences), options)
    for number, _ in enumerate(track(parsed, "parsing", n_sentences, console=Console(stderr=True)), start=1):
        if number % part == 0:
            resident.append(resident_mb())
            peaks.append(take_peak_mb())
    return {
        "resident": spread(resident),
        "resident_mb": [round(size) for size in resident],
        "peak": spread(peaks),
        "peak_of_each_tenth_mb": [max(peaks[at : at + PARTS // 10]) for at in range(0, len(peaks), PARTS // 10)],
    }


def parse_long(pipeline: Pipeline, sentences: list[Sentence], options: ParseOptions) -> dict[str, Any]:
    """The memory that a very long sentence takes beside short ones and alone, and its time."""

    def peak_of(some: Iterable[Sentence]) -> float:
        take_peak_mb()
        list(pipeline.parse(some, reencode=0.0))
        return take_peak_mb()

    short = [sentence for sentence in sentences if len(sentence) < 30][:200]
    long = Sentence.from_words([form for sentence in sentences for form in sentence.forms][:LONG])
    return {
        "short_mb": peak_of(short),
        "short_and_long_mb": peak_of([*short[:100], long, *short[100:]]),
        "long_alone_mb": peak_of([long]),
        "long_alone_seconds": round(seconds(lambda: list(pipeline.parse([long], options))), 1),
    }


def main() -> None:
    """Measure, print, and exit with 1 if memory grows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="en")
    parser.add_argument("--sentences", type=int, default=200_000)
    parser.add_argument("--reencode", type=read_reencode)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", default="fp32", choices=["fp32", "int8"])
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    sentences, options = list(conllu.read(given.file)), ParseOptions(reencode=given.reencode)
    pipeline = Pipeline.load(given.model, precision=given.precision)
    begin = time.monotonic()
    result = {"sentences": given.sentences, "threads": given.threads}
    result |= parse_stream(pipeline, sentences, given.sentences, options)
    result |= {"seconds": round(time.monotonic() - begin)} | parse_long(pipeline, sentences, options)
    is_flat = all(sizes["least"] >= 0.9 and sizes["most"] <= 1.1 for sizes in (result["resident"], result["peak"]))
    is_own_batch = result["short_and_long_mb"] <= 1.05 * max(result["short_mb"], result["long_alone_mb"])
    print(json.dumps(result, indent=1) if given.json else "\n".join(f"{k}: {v}" for k, v in result.items()))
    print(f"flat: {is_flat}; the long sentence adds no more than its own batch: {is_own_batch}", file=sys.stderr)
    sys.exit(not (is_flat and is_own_batch))


if __name__ == "__main__":
    main()
