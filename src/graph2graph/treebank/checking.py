"""Checks of CoNLL-U: the lines of a sentence are turned into the sentence, or into a list of problems."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from graph2graph.errors import DataError, one_line
from graph2graph.treebank.core_arguments import repeated_arguments
from graph2graph.treebank.sentence import (
    BYTE_ORDER_MARK,
    COLUMN_NAMES,
    HEAD,
    ID,
    RANGE,
    XPOS,
    Sentence,
    cycles,
    is_blank,
)

# How HEAD is checked: "tree" allows one root and no cycle, though words without a head (`_`); "forest" also allows several
# roots, as in other parsers' output; "columns" ignores HEAD.
Check = Literal["tree", "forest", "columns"]

MALFORMED = "malformed"  # the kind of all problems but those that only `--strict` finds
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
_EMPTY_NODE = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")
_Found = list[tuple[int, str]]  # the problems of a sentence, each with the index of its line


@dataclass(frozen=True, slots=True)
class ConlluProblem:
    """An error in a file: where it is, and what was expected."""

    source: str
    line: int
    sent_id: str | None
    message: str
    kind: str = MALFORMED

    def __str__(self) -> str:
        where = f" (sent_id {one_line(_shortened(self.sent_id))})" if self.sent_id else ""
        return f"{one_line(self.source)}:{self.line}: {self.message}{where}"


class ConlluError(DataError):
    """The first problem of a malformed file."""


class LocatedSentence(NamedTuple):
    """A sentence with its file and first line, so that errors can name the line of a word."""

    sentence: Sentence
    source: str
    first_line: int

    def line(self, word: int) -> int:
        """The line of a word; words are counted from 0."""
        return self.first_line + self.sentence.row_lines[word]

    def problem(self, word: int, message: str, kind: str = MALFORMED) -> ConlluProblem:
        """A problem with a word."""
        return ConlluProblem(self.source, self.line(word), self.sentence.sent_id, message, kind)

    def error(self, word: int, message: str) -> ConlluError:
        """An error about a word."""
        return ConlluError(self.problem(word, message))

    def check_parsed(self, *, needs_xpos: bool = False) -> None:
        """Raise an error if a word has no head, or no XPOS where punctuation is told by it."""
        if None in self.sentence.heads:
            word = self.sentence.heads.index(None)
            raise self.error(word, f"word {word + 1} has no head; expected a parsed file")
        if needs_xpos and "_" in (tags := self.sentence.column(XPOS)):
            word = tags.index("_")
            raise self.error(word, f"word {word + 1} has no XPOS; punctuation by Penn tag needs one for each gold word")


def located(sentences: Iterable[Sentence], source: str) -> Iterator[LocatedSentence]:
    """The sentences of a file, each with the line where it starts."""
    first_line = 1
    for sentence in sentences:
        yield LocatedSentence(sentence, source, first_line)
        first_line += len(sentence.lines)


def repeated_arguments_in(found: LocatedSentence) -> Iterator[ConlluProblem]:
    """The words of a sentence that have several subjects or several objects."""
    sentence = found.sentence
    for head, kind, words in repeated_arguments(sentence.heads, sentence.deprels):
        name = f"{kind.name.lower()}s"
        arguments = " and ".join(f"{word} {_shortened(one_line(sentence.forms[word - 1]))}" for word in words)
        yield found.problem(head - 1, f"word {head} has {len(words)} {name}: {arguments}", f"with several {name}")


def parse_lines(
    raw_lines: Sequence[bytes | str], source: str, first_line: int, check: Check
) -> Sentence | list[ConlluProblem]:
    """The sentence in these lines, or all its problems."""
    found: _Found = []
    lines = [raw if isinstance(raw, str) else _decoded(raw, index, found) for index, raw in enumerate(raw_lines)]
    is_marked = first_line == 1 and lines[0][0] == BYTE_ORDER_MARK
    rows, row_lines, n_words = _words([lines[0][1:], *lines[1:]] if is_marked else lines, found)
    heads: list[int | None] = [None] * len(rows)
    if check != "columns":
        heads = _heads(rows, row_lines, n_words, found)
        if not found:
            found += [(row_lines[word - 1], message) for word, message in _tree_problems(heads, check)]
    sentence = Sentence(lines, rows, row_lines, heads)
    if not found:
        return sentence.with_misc_parsed()
    sent_id = sentence.sent_id
    return [ConlluProblem(source, first_line + index, sent_id, message) for index, message in sorted(found)]


def _decoded(raw: bytes, index: int, found: _Found) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        found.append((index, f"invalid UTF-8: byte 0x{raw[error.start]:02x} at position {error.start + 1}"))
        return raw.decode(errors="replace")


def _words(lines: list[str], found: _Found) -> tuple[list[list[str]], list[int], int]:
    """The columns of the words, the index of each word's line, and the number of words; adds problems to `found`."""
    rows: list[list[str]] = []
    row_lines: list[int] = []
    ids = _Ids()
    is_inside = False
    for index, line in enumerate(lines):
        if is_blank(line):
            continue
        if line[0] == "#":
            if is_inside:
                found.append((index, "comment inside a sentence; expected a word line or a blank line"))
            continue
        row = line.rstrip("\r\n").split("\t")
        is_word = row[0] == str(ids.last + 1)
        ids.last += is_word
        if len(row) != 10:
            found.append((index, f"expected 10 tab-separated columns, found {len(row)}"))
            continue
        is_inside = True
        if "" in row:
            empty = ", ".join(name for name, value in zip(COLUMN_NAMES, row, strict=True) if not value)
            found.append((index, f"empty column {empty}; expected a value or _"))
        elif is_word:
            rows.append(row)
            row_lines.append(index)
        elif message := ids.problem(row[ID], index):
            found.append((index, message))
    if not found and ids.end_of_range > ids.last:
        found.append((ids.range_line, f"range ends at {ids.end_of_range}, after the last word, {ids.last}"))
    elif not found and not rows:
        first = next(index for index, line in enumerate(lines) if not is_blank(line))
        found.append((first, "expected a word in the sentence"))
    return rows, row_lines, max(ids.last, len(rows))


@dataclass(slots=True)
class _Ids:
    """The ids read so far in a sentence; after a wrong id, counting continues from it."""

    last: int = 0  # the last word
    last_empty: tuple[int, int] = (0, 0)
    end_of_range: int = 0
    range_line: int = 0

    def problem(self, text: str, line: int) -> str | None:
        """The problem with an id that is not the next word's; None if it is a valid range or empty node."""
        if match := RANGE.fullmatch(text):
            first, end, last_end = int(match[1]), int(match[2]), self.end_of_range
            self.end_of_range, self.range_line = max(end, last_end), line
            if end < first:
                return f"range {text} ends before it begins"
            if first != self.last + 1 or first <= last_end:
                return f"range {text} is out of order; expected one from {max(self.last, last_end) + 1} on"
            return None
        if match := _EMPTY_NODE.fullmatch(text):
            minor = self.last_empty[1] + 1 if self.last_empty[0] == self.last else 1
            self.last_empty = (self.last, minor)
            if (int(match[1]), int(match[2])) != self.last_empty:
                return f"empty node {text} is out of order; expected {self.last}.{minor}"
            return None
        expected = self.last + 1
        if _NUMBER.fullmatch(text):
            self.last = int(text)
            return f"id {text} is out of order; expected {expected}"
        self.last += 1
        return f"expected an integer, range or decimal id, found {_shortened(text)!a}"


def _heads(rows: list[list[str]], row_lines: list[int], n_words: int, found: _Found) -> list[int | None]:
    """The HEAD column as numbers; adds problems to `found`."""
    heads: list[int | None] = []
    for row, line in zip(rows, row_lines, strict=True):
        text = row[HEAD]
        if text == "_":
            heads.append(None)
        elif _NUMBER.fullmatch(text):
            heads.append(int(text))
            if int(text) > n_words:
                found.append((line, f"head {text} is out of range; expected 0 to {n_words}"))
        else:
            found.append((line, f"expected an integer HEAD or _, found {_shortened(text)!a}"))
    return heads


def _tree_problems(heads: list[int | None], check: Check) -> Iterator[tuple[int, str]]:
    """The problems with a tree, each with the number of a word: cycles, no root, several roots."""
    for word in cycles(heads):
        yield word, f"word {word} is " + ("its own head" if heads[word - 1] == word else "in a cycle")
    n_roots = heads.count(0)
    if n_roots == 0 and None not in heads:
        yield 1, "no root; expected one word with HEAD 0"
    if n_roots > 1 and check == "tree":
        second = heads.index(0, heads.index(0) + 1) + 1
        yield second, f"{n_roots} roots; expected one word with HEAD 0"


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:60] + "..."
