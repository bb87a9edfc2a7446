"""`g2g parse`: text or sentences in, trees out."""

import io
import itertools
import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import typer

from graph2graph.cli.output import OutputFile, output
from graph2graph.cli.progress import watched
from graph2graph.cli.streams import source
from graph2graph.decoding.options import ParseOptions, TagSource, read_reencode
from graph2graph.errors import DataError
from graph2graph.files import read_lines
from graph2graph.parser import catalogue
from graph2graph.treebank import conllu, drawing
from graph2graph.treebank.conllu import Sentence

if TYPE_CHECKING:
    from graph2graph.parser.parser import Candidate
    from graph2graph.parser.pipeline import ParsePlan, Pipeline, Prepared


class InputChoice(StrEnum):
    """How the input is written."""

    TEXT = "text"
    HORIZONTAL = "horizontal"
    VERTICAL = "vertical"
    CONLLU = "conllu"


class OutputChoice(StrEnum):
    """How the trees are written."""

    CONLLU = "conllu"
    JSON = "json"
    TREE = "tree"
    SVG = "svg"


class PrecisionChoice(StrEnum):
    """The numbers that the encoder computes with."""

    FP32 = "fp32"
    INT8 = "int8"


class Input(NamedTuple):
    """One thing to parse: a file, standard input or the text of --text."""

    name: str
    given: Path | IO[bytes]
    written: InputChoice


def parse(
    files: list[Path] = typer.Argument(None, help="Files to parse, plain or gzip; - for standard input."),
    text: str = typer.Option(None, help="Parse this text, in place of files."),
    model: str = typer.Option(
        catalogue.DEFAULT,
        metavar="NAME|DIR",
        help="A model that is shipped or was downloaded, or the directory of a trained one.",
    ),
    input_format: InputChoice = typer.Option(
        None,
        "--input",
        help="Raw text; words, a sentence a line (horizontal) or a word a line (vertical); or conllu. "
        "Default: conllu for files named .conllu or .conllu.gz, text for all else.",
    ),
    output_format: OutputChoice = typer.Option(OutputChoice.CONLLU, "--format", "-f", help="How to write the trees."),
    target: OutputFile = Path("-"),
    tags: TagSource = typer.Option(
        None,
        help="The tags that the parser sees: those of the input (keep), those of the model's own tagger (predict), or none. "
        "Default: keep for conllu; for all else predict, or none if the model has no tagger or does better without.",
    ),
    presegmented: bool = typer.Option(False, "--presegmented", help="Raw text has a sentence a line."),
    ranges: bool = typer.Option(False, "--ranges", help="Write to MISC where in the raw text a token is: TokenRange."),
    reencode: str = typer.Option(
        None,
        metavar="exact|adaptive|NUMBER",
        help="Graph models: encode again after every arc (exact), or only when the best action is less probable than NUMBER; "
        "0 encodes each sentence once. adaptive is the model's own number. Default: as the model says.",
    ),
    beam: int = typer.Option(1, min=1, help="Hypotheses followed for each sentence; 1 is greedy."),
    nbest: int = typer.Option(
        1,
        min=1,
        help="Write so many trees of each sentence, each with its rank, score and share in comments; needs --beam.",
    ),
    keep_arcs: bool = typer.Option(False, "--keep-arcs", help="Heads and labels that are in the input stay."),
    probabilities: bool = typer.Option(
        False, "--probabilities", help="Write to MISC how probable each arc (ArcP) and its label (LabelP) was."
    ),
    precision: PrecisionChoice = typer.Option(
        PrecisionChoice.FP32,
        help="The encoder's numbers: int8 is faster on a CPU, and a tenth of a point less accurate.",
    ),
    batch_tokens: int = typer.Option(None, min=1, help="Pieces encoded at once; the trees do not depend on it."),
    threads: int = typer.Option(None, min=1, help="Threads of one process; default: all cores."),
    workers: int = typer.Option(1, min=1, help="Processes of one thread each; for many sentences better than threads."),
    offline: bool = typer.Option(
        False, "--offline", help="Do not use the network. It never is: only g2g download gets models."
    ),
) -> None:
    """Parse text or sentences. Of CoNLL-U input only HEAD and DEPREL change, whatever --tags is.

    Raw text, and --tags predict, need a model with a tokeniser and tagger of its own; g2g train-text makes them. JSON is an
    object a line; its words have start_char and end_char, their place in the raw text.

    Examples:

    g2g parse --text "The dog barks. It is loud." -f tree

    g2g parse --model DIR article.txt treebank.conllu -o parsed.conllu

    echo "The dog barks ." | g2g parse --model DIR --input horizontal -f json -
    """
    if offline:
        os.environ["HF_HUB_OFFLINE"] = "1"
    inputs = _inputs(files or [], text, input_format)
    try:
        options = ParseOptions(
            tags=tags,
            reencode=None if reencode is None else read_reencode(reencode),
            beam=beam,
            keep_arcs=keep_arcs,
            probabilities=probabilities,
            batch_tokens=batch_tokens,
        )
    except DataError as error:  # options that contradict each other are wrong usage
        raise typer.BadParameter(str(error)) from error
    if nbest > beam or (nbest > 1 and workers > 1):
        raise typer.BadParameter("--nbest goes up to the width of --beam, and not with --workers")
    import torch

    from graph2graph.parser.pipeline import Pipeline

    if threads is not None:
        torch.set_num_threads(threads)
    pipeline = Pipeline.load(model, precision=precision.value)
    ranges = ranges or output_format is OutputChoice.JSON
    reader = Reader(pipeline, options, presegmented=presegmented, ranges=ranges)
    with warnings.catch_warnings(), output(target) as stream:
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _note
        is_conllu = all(given.written is InputChoice.CONLLU for given in inputs)
        parsed = watched(
            reader.parsed(inputs, workers=workers, nbest=nbest),
            [given.given for given in inputs],
            (lambda sentence: sum(map(len, sentence.lines)))
            if is_conllu
            else (lambda sentence: len(sentence.text) + 1),
            to_terminal=stream.isatty(),
        )
        _write(parsed, output_format, stream)


def _note(message: Warning | str, *_: object, **__: object) -> None:
    print(f"g2g: {message}", file=sys.stderr)


def _inputs(files: list[Path], text: str | None, written: InputChoice | None) -> list[Input]:
    if text is None and not files:
        raise typer.BadParameter("nothing to parse: give files, - for standard input, or --text")
    if text is not None:
        if files:
            raise typer.BadParameter("give files or --text, not both")
        return [Input("--text", io.BytesIO(os.fsencode(text)), written or InputChoice.TEXT)]
    return [Input(str(file), source(file), written or _format_of(file)) for file in files]


def _format_of(file: Path) -> InputChoice:
    name = file.name.lower().removesuffix(".gz")
    return InputChoice.CONLLU if name.endswith(".conllu") else InputChoice.TEXT


class Reader:
    """Reads inputs and has them parsed."""

    def __init__(self, pipeline: "Pipeline", options: ParseOptions, *, presegmented: bool, ranges: bool) -> None:
        self.pipeline, self.options = pipeline, options
        self.presegmented, self.ranges = presegmented, ranges
        self.ids = itertools.count(1)  # of the sentences of raw text, over all files

    def parsed(self, inputs: Iterable[Input], *, workers: int = 1, nbest: int = 1) -> Iterator[Sentence]:
        """Yield the sentences of all inputs with their trees; neighbours with the same options are parsed in one stream."""
        plans = ((self.pipeline.plan(self.options, has_tags=one.written is InputChoice.CONLLU), one) for one in inputs)
        for options, group in itertools.groupby(plans, lambda planned: planned[0].options):
            prepared = itertools.chain.from_iterable(self._read(given, plan) for plan, given in group)
            if nbest == 1:
                yield from self.pipeline.parse_prepared(prepared, options, workers=workers)
            else:
                for found in self.pipeline.nbest_prepared(prepared, options):
                    yield from _ranked(found[:nbest])

    def _read(self, given: Input, plan: "ParsePlan") -> "Iterator[Prepared]":
        from graph2graph.text.udpipe import LIMIT, horizontal, vertical

        if given.written is InputChoice.TEXT:
            return self.pipeline.prepare_text(
                read_lines(given.given, given.name, limit=LIMIT),
                plan,
                presegmented=self.presegmented,
                ranges=self.ranges,
                ids=self.ids,
            )
        if given.written is InputChoice.CONLLU:
            sentences = conllu.read(given.given, check="forest" if self.options.keep_arcs else "columns")
        else:
            read = horizontal if given.written is InputChoice.HORIZONTAL else vertical
            sentences = read(read_lines(given.given, given.name))
        return self.pipeline.prepare(sentences, plan)


def _ranked(found: "list[Candidate]") -> Iterator[Sentence]:
    """The trees of one sentence, with what makes them differ in comments."""
    for rank, one in enumerate(found, 1):
        values = {"nbest": str(rank), "score": f"{one.score:.4f}", "share": f"{one.share:.4f}"}
        yield one.sentence.with_comments(values)


def _write(sentences: Iterable[Sentence], written: OutputChoice, stream: IO[bytes]) -> None:
    """Each sentence as soon as it is parsed; JSON is one object a line."""
    from graph2graph.treebank.document import as_json

    for number, sentence in enumerate(sentences):
        if written is OutputChoice.CONLLU:
            text = "".join(sentence.lines)
        elif written is OutputChoice.JSON:
            text = json.dumps(as_json(sentence), ensure_ascii=False) + "\n"
        elif written is OutputChoice.TREE:
            text = ("\n" if number else "") + drawing.text(sentence) + "\n"
        else:
            if number:
                raise DataError("an SVG picture holds one sentence; the first was drawn")
            text = drawing.svg(sentence)
        stream.write(text.encode())
