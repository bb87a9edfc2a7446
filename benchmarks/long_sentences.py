"""How long sentences of thousands of words take, on one thread, with the default decoder.

    python benchmarks/long_sentences.py [--model en] [--words 2000 20000] [--text FILE] [--json]

A sentence is one word repeated, words that are all different, or the words of a text without sentence ends (--text). Each is
parsed as words (`horizontal`), as raw text and as CoNLL-U; of raw text, the time to find words and tags is in it. Times are
seconds of CPU, in one process after a warm-up; `growth` is the time of the longest sentence by that of the shortest.
"""

import argparse
import io
import json
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from graph2graph import markdown
from graph2graph.parser.pipeline import Pipeline
from graph2graph.text.udpipe import horizontal
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence


def kinds(text: Path | None) -> dict[str, Callable[[int], list[str]]]:
    """Sentences of any length, by kind."""
    found: dict[str, Callable[[int], list[str]]] = {
        "one word": lambda n: ["word"] * n,
        "all different": lambda n: [f"word{i}" for i in range(n)],
    }
    if text is not None:
        words = [word.rstrip(".?!:;") or "," for word in text.read_text().split()]
        found["running text"] = lambda n: words[:n]
    return found


def inputs(pipeline: Pipeline) -> dict[str, Callable[[list[str]], Iterable[Sentence]]]:
    """Ways to parse the words of a sentence."""

    def as_conllu(words: list[str]) -> Iterable[Sentence]:
        return pipeline.parse(conllu.read(io.StringIO(Sentence.from_words(words).to_conllu())))

    def as_text(words: list[str]) -> Iterable[Sentence]:
        return pipeline(" ".join(words), ranges=False).sentences

    return {
        "horizontal": lambda words: pipeline.parse(horizontal([" ".join(words)])),
        "conllu": as_conllu,
        "text": as_text,
    }


def seconds(parse: Callable[[list[str]], Iterable[Sentence]], words: list[str]) -> float:
    """The CPU time of a parse, and of writing the trees."""
    begin = time.process_time()
    for sentence in parse(words):
        sentence.to_conllu()
    return time.process_time() - begin


def main() -> None:
    """Time every kind and length."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="en")
    parser.add_argument("--words", type=int, nargs="+", default=[2000, 20_000])
    parser.add_argument("--text", type=Path)
    parser.add_argument("--inputs", nargs="+", default=["horizontal", "conllu", "text"])
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", UserWarning)
    pipeline = Pipeline.load(given.model)
    list(pipeline.parse([Sentence.from_words(["word"] * 600)]))
    rows: list[dict[str, Any]] = []
    for kind, words_of in kinds(given.text).items():
        for name, parse in inputs(pipeline).items():
            if name in given.inputs:
                times = [round(seconds(parse, words_of(n)), 2) for n in given.words]
                rows.append(
                    {"sentence": kind, "input": name, "seconds": times, "growth": round(times[-1] / times[0], 2)}
                )
    if given.json:
        print(json.dumps({"words": given.words, "threads": 1, "rows": rows}, indent=1))
        return
    cells = [[row["sentence"], row["input"], *map(str, row["seconds"]), str(row["growth"])] for row in rows]
    print(markdown.table(["sentence", "input", *(f"{n:,} words, s" for n in given.words), "growth"], cells), end="")


if __name__ == "__main__":
    main()
