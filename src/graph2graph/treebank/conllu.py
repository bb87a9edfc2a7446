"""CoNLL-U files, read and written verbatim, one sentence at a time.

Writing gives the lines back byte for byte. A new tree changes only HEAD and DEPREL, where they differ. Sentences of several
files make one valid file, whatever their last lines and byte order marks are.
"""

import os
from collections.abc import Iterable, Iterator
from typing import IO, Any

from graph2graph import files
from graph2graph.treebank.checking import (
    Check,
    ConlluError,
    ConlluProblem,
    LocatedSentence,
    parse_lines,
    repeated_arguments_in,
)
from graph2graph.treebank.sentence import BYTE_ORDER_MARK, Sentence, is_blank

__all__ = ["Sentence", "problems", "read", "texts", "write"]

Source = str | os.PathLike[str] | IO[bytes] | IO[str]


def read(source: Source, *, check: Check = "tree") -> Iterator[Sentence]:
    """Yield the sentences of a CoNLL-U or CoNLL-X file, plain or gzip; raise `ConlluError` at the first problem."""
    for result in _results(source, check):
        if not isinstance(result, LocatedSentence):
            raise ConlluError(result[0])
        yield result.sentence


def problems(source: Source, *, check: Check = "tree", strict: bool = False) -> Iterator[ConlluProblem]:
    """Yield all problems of a file; `strict` finds words with several subjects or objects too."""
    for result in _results(source, check):
        if not isinstance(result, LocatedSentence):
            yield from result
        elif strict:
            yield from repeated_arguments_in(result)


def write(sentences: Iterable[Sentence], target: Source) -> int:
    """Write sentences to a file or stream, gzip if the name ends in .gz; return how many. A file can replace its input."""
    if isinstance(target, (str, os.PathLike)):
        with files.writing(target) as stream:
            return write(sentences, stream)
    out: Any = target
    n_sentences, is_text = 0, files.is_text(target)
    for text in texts(sentences):
        out.write(text if is_text else text.encode())
        n_sentences += 1
    return n_sentences


def texts(sentences: Iterable[Sentence]) -> Iterator[str]:
    """Yield the text of each sentence; joined, they are one valid file.

    A file may end without a line end or a blank line, and begin with a byte order mark. Where another sentence follows, the
    line ends are added to its text; a mark is kept only in the first.
    """
    before = None
    for sentence in sentences:
        text = sentence.to_conllu()
        yield text if before is None else _line_ends_after(before) + text.removeprefix(BYTE_ORDER_MARK)
        before = sentence


def _line_ends_after(sentence: Sentence) -> str:
    """What the text of a sentence lacks for another to follow."""
    last = sentence.lines[-1]
    lacking = "" if last.endswith("\n") else "\n" if last.endswith("\r") else sentence.line_end
    return lacking if is_blank(last) else lacking + sentence.line_end


def _results(source: Source, check: Check) -> Iterator[LocatedSentence | list[ConlluProblem]]:
    """Each sentence in turn, or the list of its problems."""
    file = source if isinstance(source, (str, os.PathLike)) else getattr(source, "name", None)
    name = os.fspath(file) if isinstance(file, (str, os.PathLike)) else "<stream>"
    line = 1
    with files.errors_naming(name):
        try:
            with files.reading(source) as stream:
                for block in _blocks(files.whole_lines(stream)):
                    found = parse_lines(block, name, line, check)
                    yield LocatedSentence(found, name, line) if isinstance(found, Sentence) else found
                    line += len(block)
        except files.TooLongError as error:  # what follows may be endless
            yield [ConlluProblem(name, error.line, None, str(error))]
        except files.GZIP_ERRORS as error:
            yield [ConlluProblem(name, line, None, f"broken gzip data: {error}")]
        except UnicodeDecodeError:  # from a text stream, which reads ahead; parse_lines decodes bytes line by line
            yield [ConlluProblem(name, line, None, "invalid UTF-8 on this line or further on")]


def _blocks(lines: Iterable[Any]) -> Iterator[list[Any]]:
    """The lines of one sentence after another, each with the blank lines that follow it."""
    block: list[Any] = []
    has_content = has_ended = False
    size, limit, first = 0, files.SENTENCE.value(), 1
    for number, line in enumerate(lines, 1):
        if is_blank(line):
            has_ended = has_content
        elif has_ended:
            yield block
            block, has_ended = [], False
            size, first = 0, number
        else:
            has_content = True
        block.append(line)
        size += len(line)
        if size > limit:
            raise files.SENTENCE.error(first)
    if has_content:
        yield block
