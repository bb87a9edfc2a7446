"""`g2g parse`: text or sentences in, trees out."""

import json
import os
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import IO, Literal

import typer

from graph2graph.cli.inputs import Input, InputFormat, InputParser, find_inputs
from graph2graph.cli.options import PRECISION
from graph2graph.cli.printing import report
from graph2graph.cli.progress import with_progress
from graph2graph.cli.streams import STANDARD, OutputFile, output, write_drawings, write_picture
from graph2graph.config import Precision
from graph2graph.decoding.options import ParseOptions, TagSource, read_reencode
from graph2graph.errors import DataError
from graph2graph.files import make_directory
from graph2graph.parser import catalogue
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

TreeFormat = Literal["conllu", "json", "tree", "svg"]


def parse(
    files: list[Path] = typer.Argument(
        None, metavar="FILE", help="Files to parse, plain or gzip; - is standard input."
    ),
    text: str = typer.Option(None, help="Parse this text instead of files."),
    model: str = typer.Option(
        catalogue.DEFAULT, metavar="NAME|DIR", help="A shipped or downloaded model, or the directory of a trained one."
    ),
    input_format: InputFormat = typer.Option(
        None,
        "--input",
        help="Format of the input: raw text; words, one sentence (horizontal) or one word (vertical) a line; or CoNLL-U. "
        "Default: conllu for files named .conllu or .conllu.gz, text for all others.",
    ),
    output_format: TreeFormat = typer.Option("conllu", "--format", "-f", help="Format of the trees."),
    target: OutputFile = STANDARD,
    directory: Path | None = typer.Option(
        None,
        "--output-dir",
        metavar="DIR",
        help="Write the trees of each input to a file of its own in this directory, named after it: DIR/IN.conllu.",
    ),
    tags: TagSource = typer.Option(
        None,
        help="Where the parser gets tags from: the input (keep), the model's own tagger (predict), or nowhere (none). "
        "Default: keep for CoNLL-U; otherwise predict, or none for a model that has no tagger or parses better without tags.",
    ),
    presegmented: bool = typer.Option(False, "--presegmented", help="The raw text has one sentence on each line."),
    ranges: bool = typer.Option(
        False, "--ranges", help="Write the position of each token in the raw text to MISC, as TokenRange."
    ),
    reencode: str = typer.Option(
        None,
        metavar="exact|adaptive|NUMBER",
        help="Graph models: encode again after every arc (exact), or only when the best action is less probable than NUMBER; "
        "0 encodes each sentence once. adaptive is the model's own number. Default: the model's setting.",
    ),
    beam: int = typer.Option(1, min=1, help="Hypotheses followed for each sentence; 1 is greedy."),
    nbest: int = typer.Option(
        1, min=1, help="Trees written for each sentence, with rank, score and share in comments; needs --beam."
    ),
    keep_arcs: bool = typer.Option(False, "--keep-arcs", help="Keep the heads and labels in the input."),
    one_subject: bool = typer.Option(
        False, "--one-subject", help="Give no head a second subject or object: take the next best label."
    ),
    probabilities: bool = typer.Option(
        False, "--probabilities", help="Write the probability of each arc (ArcP) and of its label (LabelP) to MISC."
    ),
    precision: Precision = PRECISION,
    batch_tokens: int = typer.Option(None, min=1, help="Word pieces encoded at once; does not change the trees."),
    threads: int = typer.Option(None, min=1, help="Threads of each process. Default: all cores."),
    workers: int = typer.Option(1, min=1, help="Processes of one thread each; for many sentences faster than threads."),
    language_check: bool = typer.Option(
        True, help="Warn of an input that seems to be in another language than the model's."
    ),
    verify: bool = typer.Option(False, "--verify", help="Compare the model's files with its checksums first."),
    offline: bool = typer.Option(
        False, "--offline", help="Accepted for scripts: g2g parse never uses the network, only g2g download does."
    ),
) -> None:
    """Parse text or sentences. In CoNLL-U input only HEAD and DEPREL change, whatever --tags says.

    Raw text and --tags predict need a model with a tokeniser and a tagger, which g2g train-text trains. JSON has one object
    a line; the words of raw text have their position in it, start_char and end_char.

    Examples:

    g2g parse --text "The dog barks. It is loud." -f tree

    g2g parse --model DIR article.txt treebank.conllu -o parsed.conllu

    g2g parse --model DIR *.txt --output-dir parsed

    echo "The dog barks ." | g2g parse --model DIR --input horizontal -f json -
    """
    if offline:
        os.environ["HF_HUB_OFFLINE"] = "1"
    inputs = find_inputs(files or [], text, input_format)
    outputs = _outputs(inputs, target, directory, output_format)
    try:
        options = ParseOptions(
            tags=tags,
            reencode=None if reencode is None else read_reencode(reencode),
            beam=beam,
            keep_arcs=keep_arcs,
            one_subject=one_subject,
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
    parser = InputParser(
        pipeline=Pipeline.load(model, precision=precision, verify=verify, check_language=language_check),
        options=options,
        workers=workers,
        nbest=nbest,
        presegmented=presegmented,
        ranges=ranges or output_format == "json",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = report
        for file, group in outputs:
            with output(file) as stream:
                trees = replace(parser, ids=count(1)).parse(group)
                _write(trees if stream.isatty() else with_progress(trees, group), output_format, stream)


def _outputs(
    inputs: Sequence[Input], target: Path, directory: Path | None, tree_format: TreeFormat
) -> list[tuple[Path, Sequence[Input]]]:
    """Each file to write, with the inputs whose trees it gets."""
    if directory is None:
        return [(target, inputs)]
    if target != STANDARD:
        raise typer.BadParameter("give --output or --output-dir, not both")
    ending = {"tree": "txt"}.get(tree_format, tree_format)
    outputs: dict[str, Input] = {}
    for given in inputs:
        if not isinstance(given.source, Path):
            raise typer.BadParameter(f"--output-dir names its files after the inputs, and {given.name} is no file")
        stem = re.sub(r"(?i)(\.(conllu|conll|txt|text))?(\.gz)?$", "", given.source.name, count=1) or given.source.name
        name = f"{stem}.{ending}"
        if name in outputs:
            raise typer.BadParameter(
                f"{outputs[name].name} and {given.name} would both be written to {directory / name}"
            )
        outputs[name] = given
    make_directory(directory)
    return [(directory / name, [given]) for name, given in outputs.items()]


def _write(sentences: Iterable[Sentence], tree_format: TreeFormat, stream: IO[bytes]) -> None:
    """Write each sentence as soon as it is parsed; a picture, which has them all, at the end."""
    if tree_format == "conllu":
        conllu.write(sentences, stream)
    elif tree_format == "json":
        for sentence in sentences:
            stream.write((json.dumps(sentence.to_json(), ensure_ascii=False) + "\n").encode())
    elif tree_format == "tree":
        write_drawings(sentences, stream)
    else:
        write_picture(sentences, stream)
