"""CoNLL-U, kept verbatim.

A sentence keeps its lines exactly as they were read, line ends included, and looks at its word lines only as far as
parsing needs. Writing gives the lines back byte for byte; changing the tree rewrites the HEAD and DEPREL columns of
the words whose head or label really changed, and nothing else.

    >>> import io
    >>> text = "# sent_id = 1\\n1\\tHello\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n\\n"
    >>> [sentence] = read(io.StringIO(text))
    >>> sentence.sent_id, sentence.forms, sentence.heads
    ('1', ['Hello'], [None])
    >>> sentence.with_tree([0], ["root"]).lines[1]
    '1\\tHello\\t_\\t_\\t_\\t_\\t0\\troot\\t_\\t_\\n'
"""

import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal

from graph2graph.errors import DataError

ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(10)
COLUMN_NAMES = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")

Source = str | os.PathLike[str] | IO[bytes] | IO[str]
# How far the HEAD column is trusted: "tree" wants one root and no cycle (words without a head, `_`, are unparsed and
# allowed); "forest" allows several roots, as in other parsers' output; "columns" does not look at heads at all.
Check = Literal["tree", "forest", "columns"]

_MARK = "\ufeff"  # the byte order mark, which may stand before the first line
_BLANK_TEXT = ("\n", "\r\n", f"{_MARK}\n", f"{_MARK}\r\n", _MARK)
_BLANK = frozenset((*_BLANK_TEXT, *(line.encode() for line in _BLANK_TEXT)))
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY_NODE = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a file: where it is, and what was expected."""

    source: str
    line: int
    sent_id: str | None
    message: str

    def __str__(self) -> str:
        where = f" (sent_id {_printable(_shortened(self.sent_id))})" if self.sent_id else ""
        return f"{_printable(self.source)}:{self.line}: {self.message}{where}"


class ConlluError(DataError):
    """A malformed line, as a `Problem`."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence: its lines verbatim, and the columns of its words (ranges and empty nodes are only in the lines)."""

    lines: list[str]
    rows: list[list[str]]  # the ten columns of each word
    row_lines: list[int]  # where each word stands in `lines`
    heads: list[int | None]  # of words 1..n; 0 is the root, None is `_`

    def __len__(self) -> int:
        """The number of words."""
        return len(self.rows)

    def column(self, index: int) -> list[str]:
        """One column of all words, as written: `sentence.column(conllu.LEMMA)`."""
        return [row[index] for row in self.rows]

    @property
    def forms(self) -> list[str]:
        """The FORM column."""
        return self.column(FORM)

    @property
    def deprels(self) -> list[str]:
        """The DEPREL column."""
        return self.column(DEPREL)

    @property
    def ranges(self) -> list[tuple[int, int, list[str]]]:
        """The tokens of several words, `2-3`: their first and last word, and their columns."""
        rows = (line.removeprefix(_MARK).rstrip("\r\n").split("\t") for line in self.lines)
        matches = ((_RANGE.fullmatch(row[ID]), row) for row in rows)
        return [(int(match[1]), int(match[2]), row) for match, row in matches if match]

    @property
    def parsed(self) -> bool:
        """Whether every word has a head."""
        return None not in self.heads

    @property
    def tree(self) -> list[int]:
        """The heads of a parsed sentence."""
        tree = [head for head in self.heads if head is not None]
        if len(tree) != len(self.heads):
            raise DataError(f"sentence {self.sent_id or self.text!r} has words without a head")
        return tree

    @property
    def comments(self) -> list[str]:
        """The comment lines, without `#` and line end."""
        lines = (line.removeprefix(_MARK).rstrip("\r\n") for line in self.lines)
        return [line[1:].strip() for line in lines if line.startswith("#")]

    @property
    def sent_id(self) -> str | None:
        """The value of `# sent_id = …`."""
        return self._comment_value("sent_id")

    @property
    def text(self) -> str:
        """The value of `# text = …`, or else the forms put together by their SpaceAfter."""
        text = self._comment_value("text")
        if text is not None:
            return text
        spaces = ("" if "SpaceAfter=No" in row[MISC].split("|") else " " for row in self.rows)
        return "".join(row[FORM] + space for row, space in zip(self.rows, spaces, strict=True)).rstrip()

    def _comment_value(self, key: str) -> str | None:
        for comment in self.comments:
            name, equals, value = comment.partition("=")
            if equals and name.strip() == key:
                return value.strip()
        return None

    def with_tree(self, heads: Sequence[int | None], deprels: Sequence[str]) -> "Sentence":
        """The same sentence with this tree; lines whose head and label stay as they were are not touched."""
        changes = {}
        for i, (row, head, deprel) in enumerate(zip(self.rows, heads, deprels, strict=True)):
            head_text = "_" if head is None else str(head)
            if head_text != row[HEAD] or deprel != row[DEPREL]:
                changes[i] = {HEAD: head_text, DEPREL: deprel}
        return replace(self._with_cells(changes), heads=list(heads))

    def with_misc(self, values: Sequence[dict[str, str]]) -> "Sentence":
        """The same sentence with `Key=Value` pairs put into MISC, in place of older values of the same keys."""
        changes = {}
        for i, (row, pairs) in enumerate(zip(self.rows, values, strict=True)):
            if pairs:
                old = [] if row[MISC] == "_" else row[MISC].split("|")
                kept = [item for item in old if item.partition("=")[0] not in pairs]
                changes[i] = {MISC: "|".join(kept + [f"{key}={value}" for key, value in pairs.items()])}
        return self._with_cells(changes)

    def with_comments(self, comments: Mapping[str, str]) -> "Sentence":
        """The same sentence with `# key = value` lines put behind its comments."""
        end = len(self.comments)
        before = self.lines[end]
        ending = before[len(before.rstrip("\r\n")) :]
        new = [f"# {key} = {value}{ending}" for key, value in comments.items()]
        lines = self.lines[:end] + new + self.lines[end:]
        return replace(self, lines=lines, row_lines=[line + len(new) for line in self.row_lines])

    def with_tags(self, upos: Sequence[str], xpos: Sequence[str]) -> "Sentence":
        """The same sentence with other UPOS and XPOS columns."""
        return self.with_columns({UPOS: upos, XPOS: xpos})

    def with_columns(self, columns: Mapping[int, Sequence[str]]) -> "Sentence":
        """The same sentence with other values in some columns: `sentence.with_columns({conllu.LEMMA: lemmas})`."""
        rows = zip(self.rows, *columns.values(), strict=True)
        return self._with_cells({i: dict(zip(columns, cells, strict=True)) for i, (_, *cells) in enumerate(rows)})

    def _with_cells(self, changes: dict[int, dict[int, str]]) -> "Sentence":
        lines, rows = self.lines.copy(), self.rows.copy()
        for i, cells in changes.items():
            row = rows[i] = rows[i].copy()
            for index, value in cells.items():
                row[index] = value
            line = lines[self.row_lines[i]]
            mark = _MARK if line.startswith(_MARK) else ""
            lines[self.row_lines[i]] = mark + "\t".join(row) + line[len(line.rstrip("\r\n")) :]
        return replace(self, lines=lines, rows=rows)

    @classmethod
    def from_words(cls, forms: Sequence[str], *, sent_id: str | None = None, text: str | None = None) -> "Sentence":
        """A sentence without tags or tree, from the words alone."""
        lines = [f"# sent_id = {sent_id}\n"] if sent_id else []
        lines += [f"# text = {text}\n"] if text else []
        n_comments = len(lines)
        rows = [[str(i), form, "_", "_", "_", "_", "_", "_", "_", "_"] for i, form in enumerate(forms, 1)]
        lines += ["\t".join(row) + "\n" for row in rows] + ["\n"]
        return cls(lines, rows, list(range(n_comments, n_comments + len(rows))), [None] * len(rows))


def read(source: Source, *, check: Check = "tree") -> Iterator[Sentence]:
    """Yield the sentences of a CoNLL-U or CoNLL-X file, plain or gzip, one at a time; raise `ConlluError`."""
    for result in _scan(source, check):
        if not isinstance(result, Sentence):
            raise ConlluError(result[0])
        yield result


def problems(source: Source, *, check: Check = "tree") -> Iterator[Problem]:
    """Yield everything that is wrong with a file."""
    for result in _scan(source, check):
        if not isinstance(result, Sentence):
            yield from result


def write(sentences: Iterable[Sentence], target: Source) -> int:
    """Write sentences as they are, gzip if the name ends in .gz; return how many.

    A file appears under its name only when it is complete, so a file may be read and written in one go.
    """
    n_sentences = 0
    with _writer(target) as put:
        for sentence in sentences:
            put("".join(sentence.lines))
            n_sentences += 1
    return n_sentences


def cycles(heads: Sequence[int | None]) -> Iterator[int]:
    """One word of each cycle, a word that is its own ancestor; heads of words 1..n."""
    seen = [0] * (len(heads) + 1)
    for start in range(1, len(heads) + 1):
        node: int | None = start
        while node and not seen[node]:
            seen[node] = start
            node = heads[node - 1]
        if node and seen[node] == start:
            yield node


def _printable(text: str) -> str:
    """The text on one line, so that a message stays on one line too."""
    return text if text.isprintable() else ascii(text)


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:60] + "..."


def _scan(source: Source, check: Check) -> Iterator[Sentence | list[Problem]]:
    """Each sentence in turn, or the list of what is wrong with it."""
    name, line = _name(source), 1
    try:
        with opened(source) as stream:
            for block in _blocks(stream):
                yield _parse(block, line, name, check)
                line += len(block)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        yield [Problem(name, line, None, f"broken gzip data: {error}")]
    except UnicodeDecodeError:  # from a text stream, which reads ahead; bytes are decoded line by line in _parse
        yield [Problem(name, line, None, "invalid UTF-8 on this line or further on")]
    except OSError as error:
        raise DataError(f"{_printable(name)}: {error.strerror or error}") from error


def _blocks(stream: Iterable[bytes] | Iterable[str]) -> Iterator[list[Any]]:
    """The lines of one sentence after another, each with the blank lines that follow it."""
    block: list[Any] = []
    has_content = ended = False
    for line in stream:
        if line in _BLANK:
            ended = has_content
        elif ended:
            yield block
            block, ended = [], False
        else:
            has_content = True
        block.append(line)
    if has_content:
        yield block


# What is wrong with a sentence, as it is collected: the index of the line, and the message.
_Found = list[tuple[int, str]]


def _parse(block: list[Any], first_line: int, source: str, check: Check) -> Sentence | list[Problem]:
    found: _Found = []
    lines = [raw if isinstance(raw, str) else _decoded(raw, index, found) for index, raw in enumerate(block)]
    marked = first_line == 1 and lines[0][0] == _MARK
    rows, row_lines, n_words = _words([lines[0][1:], *lines[1:]] if marked else lines, found)
    heads: list[int | None] = [None] * len(rows)
    if check != "columns":
        heads = _heads(rows, row_lines, n_words, found)
        if not found:
            found += [(row_lines[word - 1], message) for word, message in _tree_problems(heads, check)]
    sentence = Sentence(lines, rows, row_lines, heads)
    if not found:
        return sentence
    sent_id = sentence.sent_id
    return [Problem(source, first_line + index, sent_id, message) for index, message in sorted(found)]


def _decoded(raw: bytes, index: int, found: _Found) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        found.append((index, f"invalid UTF-8: byte 0x{raw[error.start]:02x} at position {error.start + 1}"))
        return raw.decode(errors="replace")


def _words(lines: list[str], found: _Found) -> tuple[list[list[str]], list[int], int]:
    """The columns of the words, where each stands, and the number of words."""
    rows: list[list[str]] = []
    row_lines: list[int] = []
    ids = _Ids()
    is_inside = False
    for index, line in enumerate(lines):
        if line in _BLANK:
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
    if not found:
        if ids.end_of_range > ids.last:
            found.append((ids.range_line, f"range ends at {ids.end_of_range}, after the last word, {ids.last}"))
        elif not rows:
            first = next(index for index, line in enumerate(lines) if line not in _BLANK)
            found.append((first, "expected a word in the sentence"))
    return rows, row_lines, max(ids.last, len(rows))


class _Ids:
    """How far the numbering of a sentence has come; after a wrong id it goes on from there."""

    __slots__ = ("end_of_range", "last", "last_empty", "range_line")

    def __init__(self) -> None:
        self.last = 0  # the last word
        self.last_empty = (0, 0)
        self.end_of_range = self.range_line = 0

    def problem(self, text: str, line: int) -> str | None:
        """What is wrong with an id that is not the next word's."""
        if match := _RANGE.fullmatch(text):
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
    for word in cycles(heads):
        yield word, f"word {word} is " + ("its own head" if heads[word - 1] == word else "in a cycle")
    n_roots = heads.count(0)
    if n_roots == 0 and None not in heads:
        yield 1, "no root; expected one word with HEAD 0"
    if n_roots > 1 and check == "tree":
        second = heads.index(0, heads.index(0) + 1) + 1
        yield second, f"{n_roots} roots; expected one word with HEAD 0"


def _name(source: Source) -> str:
    name = os.fspath(source) if isinstance(source, (str, os.PathLike)) else getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


@contextmanager
def opened(source: Source) -> Iterator[Any]:
    """The stream of a path, or the stream itself, unpacked if it is gzip, which is known by its first bytes."""
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            yield _unzipped(file)
    elif _is_text(source):
        yield source
    elif hasattr(source, "peek"):
        yield _unzipped(source)
    else:
        buffered = io.BufferedReader(source)  # type: ignore[type-var]
        try:
            yield _unzipped(buffered)
        finally:
            if not buffered.closed:
                buffered.detach()  # or the caller's stream would be closed with it


def _unzipped(stream: Any) -> Any:
    is_zipped = stream.peek(2)[:2] == b"\x1f\x8b"
    return io.BufferedReader(gzip.GzipFile(fileobj=stream)) if is_zipped else stream


def _is_text(stream: Any) -> bool:
    return hasattr(stream, "encoding")  # as io.TextIOBase, codecs and the wrappers of tempfile have it


@contextmanager
def _writer(target: Source) -> Iterator[Callable[[str], object]]:
    """A function that takes text; a named file is put in place when all has been written."""
    if not isinstance(target, (str, os.PathLike)):
        stream: Any = target
        yield stream.write if _is_text(stream) else lambda text: stream.write(text.encode())
        return
    path = Path(target)
    is_device = path.exists() and not path.is_file()  # /dev/stdout and the like cannot be replaced
    part = path if is_device else path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as file:
            if path.suffix == ".gz":
                with gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as zipped:
                    yield lambda text: zipped.write(text.encode())
            else:
                yield lambda text: file.write(text.encode())
        if not is_device:
            os.replace(part, path)
    except OSError as error:
        raise DataError(f"{_printable(str(path))}: {error.strerror or error}") from error
    finally:
        if not is_device:
            part.unlink(missing_ok=True)
