"""`g2g parse`: text or sentences in, trees out."""

import io
import itertools
import json
import math
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
from graph2graph.cli.streams import lines, source
from graph2graph.errors import DataError
from graph2graph.parser import catalogue
from graph2graph.treebank import conllu, drawing
from graph2graph.treebank.conllu import Sentence

if TYPE_CHECKING:
    from graph2graph.parser.parser import BeamOptions, Candidate, ParseOptions
    from graph2graph.parser.pipeline import Pipeline


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


class TagsChoice(StrEnum):
    """Which tags the parser sees."""

    KEEP = "keep"
    PREDICT = "predict"
    NONE = "none"


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
    tags: TagsChoice = typer.Option(
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
    if beam > 1 and (keep_arcs or probabilities):
        raise typer.BadParameter("--beam goes with neither --keep-arcs nor --probabilities")
    if nbest > beam or (nbest > 1 and workers > 1):
        raise typer.BadParameter("--nbest goes up to the width of --beam, and not with --workers")
    import torch

    from graph2graph.parser.pipeline import Pipeline

    if threads is not None:
        torch.set_num_threads(threads)
    pipeline = Pipeline.load(model, precision=precision.value)
    ranges = ranges or output_format is OutputChoice.JSON
    reader = Reader(pipeline, tags, workers, presegmented=presegmented, ranges=ranges, heads=keep_arcs)
    with warnings.catch_warnings(), output(target) as stream:
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _note
        how: ParseOptions = {
            "batch_tokens": batch_tokens,
            "reencode": threshold(reencode, pipeline),
            "beam": beam,
            "keep_arcs": keep_arcs,
            "probabilities": probabilities,
        }
        is_conllu = all(given.written is InputChoice.CONLLU for given in inputs)
        parsed = watched(
            reader.parsed(inputs, how, nbest),
            [given.given for given in inputs],
            (lambda sentence: sum(map(len, sentence.lines)))
            if is_conllu
            else (lambda sentence: len(sentence.text) + 1),
            to_terminal=stream.isatty(),
        )
        _write(parsed, output_format, stream)


def _note(message: Warning | str, *_: object, **__: object) -> None:
    print(f"g2g: {message}", file=sys.stderr)


def threshold(given: str | None, pipeline: "Pipeline") -> float | None:
    """The number that --reencode stands for."""
    named = {"exact": math.inf, "adaptive": pipeline.parser.config.decode.adaptive}
    if given is None or given in named:
        return None if given is None else named[given]
    try:
        number = float(given)
    except ValueError:
        number = -1.0
    if not number >= 0:
        raise typer.BadParameter("expected exact, adaptive or a number from 0 up", param_hint="--reencode")
    return number


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
    """Reads sentences and has them parsed, each input with the tags that it asks for."""

    def __init__(
        self,
        pipeline: "Pipeline",
        tags: TagsChoice | None,
        workers: int = 1,
        *,
        presegmented: bool,
        ranges: bool,
        heads: bool,
    ) -> None:
        self.workers = workers
        self.pipeline, self.tags, self.presegmented, self.ranges = pipeline, tags, presegmented, ranges
        self.check: conllu.Check = "forest" if heads else "columns"
        self.ids = itertools.count(1)  # of the sentences of raw text, over all files

    def parsed(self, inputs: Iterable[Input], how: "ParseOptions", nbest: int = 1) -> Iterator[Sentence]:
        """The sentences of all inputs with their trees; neighbours that see like tags are parsed in one stream."""
        for tags, group in itertools.groupby(inputs, self._seen_tags):
            sentences = itertools.chain.from_iterable(map(self._read, group))
            if nbest == 1:
                yield from self.pipeline.parse(sentences, tags=tags.value, workers=self.workers, **how)
            else:
                options: BeamOptions = {"batch_tokens": how["batch_tokens"], "reencode": how["reencode"]}
                for found in self.pipeline.nbest(sentences, how["beam"], tags=tags.value, **options):
                    yield from _ranked(found[:nbest])

    def _tags(self, written: InputChoice) -> TagsChoice:
        """The tags asked for."""
        if self.tags is not None:
            return self.tags
        if written is InputChoice.CONLLU:
            return TagsChoice.KEEP
        return TagsChoice.PREDICT if self.pipeline.has_text_model else TagsChoice.NONE

    def _seen_tags(self, given: Input) -> TagsChoice:
        """How the parser comes by them: what is not CoNLL-U is tagged as it is read, so that its tags are written too."""
        tags = self._tags(given.written)
        if tags is not TagsChoice.PREDICT or given.written is InputChoice.CONLLU:
            return tags
        return TagsChoice.KEEP if self.tags is tags or self.pipeline.sees_predicted else TagsChoice.NONE

    def _read(self, given: Input) -> Iterator[Sentence]:
        if given.written is InputChoice.CONLLU:
            return conllu.read(given.given, check=self.check)
        is_tagged = self._tags(given.written) is TagsChoice.PREDICT
        if given.written is InputChoice.TEXT:
            from graph2graph.text.udpipe import LIMIT

            return self.pipeline.text_model.sentences(
                lines(given.given, given.name, limit=LIMIT),
                presegmented=self.presegmented,
                ranges=self.ranges,
                tags=is_tagged,
                ids=self.ids,
            )
        from graph2graph.text.udpipe import horizontal, vertical

        read = horizontal if given.written is InputChoice.HORIZONTAL else vertical
        words = read(lines(given.given, given.name))
        return self.pipeline.text_model.tagged(words) if is_tagged else words


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
