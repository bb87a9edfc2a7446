"""Whether memory stays flat over a long stream of sentences.

    python benchmarks/stream.py FILE [--model en] [--sentences 200000] [--reencode 0] [--json]

Repeats the file until there are so many sentences, parses them as one stream and watches the memory: after the first tenth,
the most that is resident within each hundredth must stay within ±10 %, and so must what is resident at its end, when freed
memory has been given back. Then 200 short sentences are parsed, the same with one of 2,000 words among them, and that one
alone, which is its own batch; these with one encoding a sentence, since so long a one is encoded anew very often. Last, that
one is parsed as asked, and timed. Linux only.
"""

import argparse
import json
import resource
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import cycle, islice
from pathlib import Path
from statistics import median

import torch
from rich.console import Console
from rich.progress import track

from graph2graph.parser.pipeline import Pipeline
from graph2graph.treebank import conllu
from graph2graph.treebank.conllu import Sentence

LONG = 2000  # words
PARTS = 100


def resident_mb() -> float:
    """The memory of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def peak_mb() -> float:
    """The most memory this process had since it was last asked."""
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024
    Path("/proc/self/clear_refs").write_text("5")
    return peak


def stream(sentences: list[Sentence], n_sentences: int) -> Iterator[Sentence]:
    """The sentences over and over."""
    return islice(cycle(sentences), n_sentences)


def spread(sizes: list[float]) -> dict[str, float]:
    """Where the sizes lie after the first tenth: the middle one, and the least and the most as shares of it."""
    steady = sizes[len(sizes) // 10 :]
    middle = median(steady)
    return {"median_mb": middle, "least": min(steady) / middle, "most": max(steady) / middle}


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

    def peak_of(some: Iterable[Sentence]) -> float:
        peak_mb()
        list(pipeline.parse(some, reencode=0.0))
        return peak_mb()

    begin = time.monotonic()
    resident, peaks = [], []
    part = max(given.sentences // PARTS, 1)
    parsed = pipeline.parse(stream(sentences, given.sentences), reencode=given.reencode)
    for number, _ in enumerate(track(parsed, "parsing", given.sentences, console=Console(stderr=True)), start=1):
        if number % part == 0:
            resident.append(resident_mb())
            peaks.append(peak_mb())
    short = [sentence for sentence in sentences if len(sentence) < 30][:200]
    long = Sentence.from_words([form for sentence in sentences for form in sentence.forms][:LONG])
    seconds = time.monotonic() - begin
    result = {
        "sentences": given.sentences,
        "seconds": round(seconds),
        "threads": given.threads,
        "resident": spread(resident),
        "resident_mb": [round(size) for size in resident],
        "peak": spread(peaks),
        "peak_of_each_tenth_mb": [max(peaks[at : at + PARTS // 10]) for at in range(0, len(peaks), PARTS // 10)],
        "short_mb": peak_of(short),
        "short_and_long_mb": peak_of([*short[:100], long, *short[100:]]),
        "long_alone_mb": peak_of([long]),
    }
    begin = time.monotonic()
    list(pipeline.parse([long], reencode=given.reencode))
    result["long_alone_seconds"] = round(time.monotonic() - begin, 1)
    flat = all(sizes["least"] >= 0.9 and sizes["most"] <= 1.1 for sizes in (result["resident"], result["peak"]))
    own_batch = result["short_and_long_mb"] <= 1.05 * max(result["short_mb"], result["long_alone_mb"])
    print(json.dumps(result, indent=1) if given.json else "\n".join(f"{k}: {v}" for k, v in result.items()))
    print(f"flat: {flat}; the long sentence adds no more than its own batch: {own_batch}", file=sys.stderr)
    sys.exit(not (flat and own_batch))


if __name__ == "__main__":
    main()
