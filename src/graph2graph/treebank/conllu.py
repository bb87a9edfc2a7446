"""CoNLL-U files, read and written verbatim, one sentence at a time.

Writing gives the lines back byte for byte. A new tree changes only HEAD and DEPREL, where they differ.
"""

import os
from collections.abc import Iterable, Iterator
from typing import IO, Any

from graph2graph import files
from graph2graph.treebank.checking import BLANK_LINES, Check, ConlluError, ConlluProblem, parse_lines
from graph2graph.treebank.sentence import Sentence

__all__ = ["Sentence", "problems", "read", "write"]

Source = str | os.PathLike[str] | IO[bytes] | IO[str]


def read(source: Source, *, check: Check = "tree") -> Iterator[Sentence]:
    """Yield the sentences of a CoNLL-U or CoNLL-X file, plain or gzip; raise `ConlluError` at the first problem."""
    for result in _results(source, check):
        if not isinstance(result, Sentence):
            raise ConlluError(result[0])
        yield result


def problems(source: Source, *, check: Check = "tree") -> Iterator[ConlluProblem]:
    """Yield all problems of a file."""
    for result in _results(source, check):
        if not isinstance(result, Sentence):
            yield from result


def write(sentences: Iterable[Sentence], target: Source) -> int:
    """Write sentences to a file or stream, gzip if the name ends in .gz; return how many. A file can replace its input."""
    if isinstance(target, (str, os.PathLike)):
        with files.writing(target) as stream:
            return write(sentences, stream)
    out: Any = target
    n_sentences, is_text = 0, files.is_text(target)
    for sentence in sentences:
        text = sentence.to_conllu()
        out.write(text if is_text else text.encode())
        n_sentences += 1
    return n_sentences


def _results(source: Source, check: Check) -> Iterator[Sentence | list[ConlluProblem]]:
    """Each sentence in turn, or the list of its problems."""
    file = source if isinstance(source, (str, os.PathLike)) else getattr(source, "name", None)
    name = os.fspath(file) if isinstance(file, (str, os.PathLike)) else "<stream>"
    line = 1
    with files.errors_naming(name):
        try:
            with files.reading(source) as stream:
                for block in _blocks(stream):
                    yield parse_lines(block, name, line, check)
                    line += len(block)
        except files.GZIP_ERRORS as error:
            yield [ConlluProblem(name, line, None, f"broken gzip data: {error}")]
        except UnicodeDecodeError:  # from a text stream, which reads ahead; parse_lines decodes bytes line by line
            yield [ConlluProblem(name, line, None, "invalid UTF-8 on this line or further on")]


def _blocks(stream: Iterable[bytes] | Iterable[str]) -> Iterator[list[Any]]:
    """The lines of one sentence after another, each with the blank lines that follow it."""
    block: list[Any] = []
    has_content = has_ended = False
    for line in stream:
        if line in BLANK_LINES:
            has_ended = has_content
        elif has_ended:
            yield block
            block, has_ended = [], False
        else:
            has_content = True
        block.append(line)
    if has_content:
        yield block
