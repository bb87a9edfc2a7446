"""What parsing costs beside the encoder: µs per word of each part, in a stream and one sentence at a time.

    python benchmarks/beside.py FILE [--model en] [--alone-every 16] [--threads 2] [--precision auto] [--json RESULT]

Sentences are read as CoNLL-U, parsed as the model parses by default, and written, all in memory. The functions of a part are
timed where they are called; time in another part's functions counts for that part alone. `decoding` and `rest` are what no
other part explains. The last column is the share of the 100 µs that a word may take at 10,000 words/s.
"""

import argparse
import io
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, get_args
from unittest import mock

import torch

from graph2graph import markdown
from graph2graph.decoding.encoding_table import EncodingTable
from graph2graph.encoder.encoder import GraphEncoder
from graph2graph.encoder.pieces import Pieces
from graph2graph.encoder.precision import Precision
from graph2graph.files import write_json
from graph2graph.models import inputs, parser_model
from graph2graph.models.features import Featurizer
from graph2graph.models.parser_model import ParserModel
from graph2graph.parser import allocation, catalogue
from graph2graph.parser import parser as parser_module
from graph2graph.parser.parser import Parser
from graph2graph.transition.states import States
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence
from machine import describe

PARTS: dict[str, list[tuple[Any, str]]] = {
    "tokenisation": [(Pieces, "of")],
    "features": [(Featurizer, "__call__")],
    "rows": [(parser_model, "sentence_rows")],
    "relation ids": [(inputs, "sentence_graph")],
    "input embeddings": [(inputs, "sentence_input_embeddings")],
    "encoder": [(GraphEncoder, "encode")],
    "table of encodings": [(EncodingTable, "put"), (EncodingTable, "__init__")],
    "classifiers": [(ParserModel, "action_scores"), (ParserModel, "label_scores")],
    "transitions": [(States, name) for name in ("__init__", "take_legal", "legal_in", "focus_of", "take")],
    "decoding": [(parser_module, "greedy")],
    "annotation": [(parser_module, "with_tree")],
    "memory": [(allocation, "return_freed")],
}
READING, WRITING, REST = "CoNLL-U in", "CoNLL-U out", "rest"
AT_10000_WORDS = 100  # µs that a word takes


class Clock:
    """Time by part; the time of a part that another one calls counts once, for the part that is called."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._inner = [0.0]  # of each part that is running, the time of the parts it has called

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count what is done here."""
        self._inner.append(0.0)
        begin = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - begin
            self.seconds[name] += spent - self._inner.pop()
            self._inner[-1] += spent

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, whose calls are counted."""
        inner, seconds, now = self._inner, self.seconds, time.perf_counter

        def call(*args: Any, **kwargs: Any) -> Any:  # as `part`, which would take longer than some of these functions
            inner.append(0.0)
            begin = now()
            try:
                return function(*args, **kwargs)
            finally:
                spent = now() - begin
                seconds[name] += spent - inner.pop()
                inner[-1] += spent

        return call


def run(parser: Parser, text: str, *, alone: bool) -> dict[str, float]:
    """The µs per word of each part when this file is parsed."""
    clock, n_words = Clock(), 0
    with ExitStack() as patches:
        for part, functions in PARTS.items():
            for owner, name in functions:
                patches.enter_context(mock.patch.object(owner, name, clock.timed(part, getattr(owner, name))))
        with clock.part(REST):
            for sentence in parsed(parser, counted(conllu.read(io.StringIO(text)), clock), alone=alone):
                n_words += len(sentence)
                with clock.part(WRITING):
                    sentence.to_conllu().encode()
    return {part: 1e6 * clock.seconds[part] / n_words for part in (READING, *PARTS, WRITING, REST)}


def counted(sentences: Iterator[Sentence], clock: Clock) -> Iterator[Sentence]:
    """The same sentences; the time of reading them is counted."""
    while True:
        with clock.part(READING):
            sentence = next(sentences, None)
        if sentence is None:
            return
        yield sentence


def parsed(parser: Parser, sentences: Iterator[Sentence], *, alone: bool) -> Iterator[Sentence]:
    """The sentences with their trees, parsed as a stream or each alone."""
    if not alone:
        yield from parser.parse(sentences)
        return
    for sentence in sentences:
        yield from parser.parse([sentence])


def main() -> None:
    """The command."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--model", default="en")
    arguments.add_argument("--alone-every", type=int, default=16, help="take every nth sentence to parse alone")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--precision", choices=get_args(Precision), default="auto")
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    torch.set_num_threads(given.threads)
    parser = Parser.load(catalogue.find(given.model), precision=given.precision)
    whole = [sentence.to_conllu() for sentence in conllu.read(given.file)]
    some = whole[:: given.alone_every]
    run(parser, "".join(some), alone=False)  # warms up
    parser.pieces = parser.featurizer.pieces = Pieces(
        parser.pieces.tokenizer, source="the model", max_pieces=parser.pieces.max_pieces
    )  # knows no word yet
    stream, alone = (run(parser, "".join(part), alone=part is some) for part in (whole, some))
    rows = [
        [part, f"{stream[part]:.1f}", f"{alone[part]:.1f}", f"{stream[part] / AT_10000_WORDS:.1%}"]
        for part in sorted(stream, key=stream.__getitem__, reverse=True)
    ]
    print(markdown.table(["part", "stream, µs a word", "one at a time", "of 10,000 words/s"], rows), end="")
    if given.json:
        write_json(
            given.json,
            {"machine": describe(), "precision": parser.precision, "stream": stream, "alone": alone},
            indent=1,
        )


if __name__ == "__main__":
    main()
