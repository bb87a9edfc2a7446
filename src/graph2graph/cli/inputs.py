"""The inputs of `g2g parse`: files, standard input, or the text of --text."""

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, count, groupby
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, NamedTuple

import typer

from graph2graph.cli.streams import source
from graph2graph.decoding.options import ParseOptions
from graph2graph.files import read_lines
from graph2graph.treebank import conllu
from graph2graph.treebank.checking import Check
from graph2graph.treebank.sentence import Sentence

if TYPE_CHECKING:
    from graph2graph.parser.parser import Candidate
    from graph2graph.parser.pipeline import ParsePlan, Pipeline, Prepared


InputFormat = Literal["text", "horizontal", "vertical", "conllu"]


class Input(NamedTuple):
    """One thing to parse."""

    name: str  # for error messages
    source: Path | IO[bytes]
    format: InputFormat


def find_inputs(files: Sequence[Path], text: str | None, given: InputFormat | None) -> list[Input]:
    """The inputs that the command line names, each with its format."""
    if text is not None and files:
        raise typer.BadParameter("give files or --text, not both")
    if text is not None:
        return [Input("--text", io.BytesIO(os.fsencode(text)), given or "text")]
    if not files:
        raise typer.BadParameter("nothing to parse: give files, - for standard input, or --text")
    return [Input(str(file), source(file), given or _format_of(file)) for file in files]


def _format_of(file: Path) -> InputFormat:
    return "conllu" if file.name.lower().removesuffix(".gz").endswith(".conllu") else "text"


@dataclass(frozen=True, kw_only=True)
class InputParser:
    """Parses inputs with one pipeline. Sentences of raw text are numbered across inputs."""

    pipeline: "Pipeline"
    options: ParseOptions
    workers: int
    nbest: int
    presegmented: bool
    ranges: bool
    ids: Iterator[int] = field(default_factory=lambda: count(1))

    def parse(self, inputs: Sequence[Input]) -> Iterator[Sentence]:
        """The sentences of all inputs with their trees. Neighbouring inputs with the same plan for tags share batches."""
        plans = ((self.pipeline.plan(self.options, has_tags=one.format == "conllu"), one) for one in inputs)
        for options, group in groupby(plans, lambda planned: planned[0].options):
            prepared = chain.from_iterable(
                self.pipeline.watched(self._prepare(given, plan), given.name) for plan, given in group
            )
            if self.nbest == 1:
                yield from self.pipeline.parse_prepared(prepared, options, workers=self.workers)
            else:
                for candidates in self.pipeline.nbest_prepared(prepared, options):
                    yield from _with_ranks(candidates[: self.nbest])

    def _prepare(self, given: Input, plan: "ParsePlan") -> "Iterator[Prepared]":
        """The sentences of an input, ready to be parsed."""
        if given.format == "conllu":
            check: Check = "forest" if self.options.keep_arcs else "columns"
            return self.pipeline.prepare(conllu.read(given.source, check=check), plan)
        from graph2graph.text.udpipe import LIMIT, horizontal, vertical

        if given.format == "text":
            return self.pipeline.prepare_text(
                read_lines(given.source, given.name, limit=LIMIT),
                plan,
                presegmented=self.presegmented,
                ranges=self.ranges,
                ids=self.ids,
            )
        lines = read_lines(given.source, given.name)
        sentences = horizontal(lines) if given.format == "horizontal" else vertical(lines, name=given.name)
        return self.pipeline.prepare(sentences, plan)


def _with_ranks(candidates: "Sequence[Candidate]") -> Iterator[Sentence]:
    """The trees of one sentence, with their ranks, scores and shares in comments."""
    for rank, candidate in enumerate(candidates, 1):
        values = {"nbest": str(rank), "score": f"{candidate.score:.4f}", "share": f"{candidate.share:.4f}"}
        yield candidate.sentence.with_comments(values)
