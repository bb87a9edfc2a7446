"""`g2g parse`: sentences in, trees out."""

import json
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

import typer

from graph2graph import conllu, drawing
from graph2graph.cli.streams import output, source
from graph2graph.conllu import Sentence
from graph2graph.errors import DataError


class InputChoice(StrEnum):
    """How the input is written."""

    CONLLU = "conllu"
    HORIZONTAL = "horizontal"
    VERTICAL = "vertical"


class OutputChoice(StrEnum):
    """How the trees are written."""

    CONLLU = "conllu"
    JSON = "json"
    TREE = "tree"
    SVG = "svg"


class TagsChoice(StrEnum):
    """Which tags the parser sees."""

    KEEP = "keep"
    NONE = "none"


def parse(
    files: list[Path] = typer.Argument(help="Files to parse, plain or gzip; - for standard input."),
    model: Path = typer.Option(..., help="Directory of a trained model."),
    input_format: InputChoice = typer.Option(
        InputChoice.CONLLU,
        "--input",
        help="conllu; or words, a sentence a line (horizontal) or a word a line (vertical).",
    ),
    output_format: OutputChoice = typer.Option(OutputChoice.CONLLU, "--output", help="How to write the trees."),
    target: Path = typer.Option(Path("-"), "-o", metavar="FILE", help="Where to write; - for standard output."),
    tags: TagsChoice = typer.Option(TagsChoice.KEEP, help="Use the tags in the input, or none."),
    batch_tokens: int = typer.Option(None, min=1, help="Pieces encoded at once; the trees do not depend on it."),
    threads: int = typer.Option(None, min=1, help="Threads of one process; default: all cores."),
) -> None:
    """Parse sentences. Of CoNLL-U input, only HEAD and DEPREL change.

    Examples:

    g2g parse --model DIR text.conllu -o parsed.conllu

    echo "The dog barks ." | g2g parse --model DIR --input horizontal --output tree -
    """
    import torch

    from graph2graph.parser import Parser

    if threads is not None:
        torch.set_num_threads(threads)
    parser = Parser.load(model)
    sentences = (sentence for file in files for sentence in _read(file, input_format))
    with warnings.catch_warnings(), output(target) as stream:
        warnings.showwarning = _note
        parsed = parser.parse(sentences, batch_tokens=batch_tokens, tags=tags is TagsChoice.KEEP)
        _write(parsed, output_format, stream)


def _note(message: Warning | str, *_: object, **__: object) -> None:
    print(f"g2g: {message}", file=sys.stderr)


def _read(file: Path, written: InputChoice) -> Iterator[Sentence]:
    if written is InputChoice.CONLLU:
        yield from conllu.read(source(file), check="columns")
        return
    words: list[str] = []
    for line in _lines(file):
        if written is InputChoice.HORIZONTAL:
            if line.split():
                yield Sentence.from_words(line.split(), text=line.strip())
        elif line.strip():
            words.append(line.strip().replace("\t", " "))
        elif words:
            yield Sentence.from_words(words)
            words = []
    if words:
        yield Sentence.from_words(words)


def _lines(file: Path) -> Iterator[str]:
    given = source(file)
    try:
        with given.open("rb") if isinstance(given, Path) else nullcontext(given) as stream:
            for number, line in enumerate(stream, 1):
                try:
                    yield line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    raise DataError(f"{file}:{number}: invalid UTF-8 at position {error.start + 1}") from error
    except OSError as error:
        raise DataError(f"{file}: {error.strerror}") from error


def _write(sentences: Iterable[Sentence], written: OutputChoice, stream: IO[bytes]) -> None:
    """Each sentence as soon as it is parsed; JSON is one object a line."""
    for number, sentence in enumerate(sentences):
        if written is OutputChoice.CONLLU:
            text = "".join(sentence.lines)
        elif written is OutputChoice.JSON:
            text = json.dumps(_as_json(sentence), ensure_ascii=False) + "\n"
        elif written is OutputChoice.TREE:
            text = ("\n" if number else "") + drawing.text(sentence) + "\n"
        else:
            if number:
                raise DataError("an SVG picture holds one sentence; the first was drawn")
            text = drawing.svg(sentence)
        stream.write(text.encode())


def _as_json(sentence: Sentence) -> dict[str, Any]:
    names = [name.lower() for name in conllu.COLUMN_NAMES]
    words: list[dict[str, Any]] = []
    for row, head in zip(sentence.rows, sentence.heads, strict=True):
        word: dict[str, Any] = {name: None if value == "_" else value for name, value in zip(names, row, strict=True)}
        words.append(word | {"id": int(row[conllu.ID]), "form": row[conllu.FORM], "head": head})
    return {"sent_id": sentence.sent_id, "text": sentence.text, "words": words}
