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
from collections.abc import Iterable, Iterator, Sequence
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

_BLANK = frozenset((b"\n", b"\r\n", "\n", "\r\n"))
_NUMBER = re.compile(r"0|[1-9][0-9]*")
_RANGE = re.compile(r"([1-9][0-9]*)-([1-9][0-9]*)")
_EMPTY_NODE = re.compile(r"(0|[1-9][0-9]*)\.([1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a file: where it is, and what was expected."""

    source: str
    line: int
    sent_id: str | None
    message: str

    def __str__(self) -> str:
        where = f" (sent_id {self.sent_id})" if self.sent_id else ""
        return f"{self.source}:{self.line}: {self.message}{where}"


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
        lines = (line.removeprefix("\ufeff").rstrip("\r\n") for line in self.lines)
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
        changes = {
            i: {HEAD: "_" if head is None else str(head), DEPREL: deprel}
            for i, (head, deprel) in enumerate(zip(heads, deprels, strict=True))
            if head != self.heads[i] or deprel != self.rows[i][DEPREL]
        }
        return replace(self._with_cells(changes), heads=list(heads))

    def with_misc(self, values: Sequence[dict[str, str]]) -> "Sentence":
        """The same sentence with `Key=Value` pairs put into MISC, in place of older values of the same keys."""
        changes = {}
        for i, pairs in enumerate(values):
            if pairs:
                old = [] if self.rows[i][MISC] == "_" else self.rows[i][MISC].split("|")
                kept = [item for item in old if item.partition("=")[0] not in pairs]
                changes[i] = {MISC: "|".join(kept + [f"{key}={value}" for key, value in pairs.items()])}
        return self._with_cells(changes)

    def with_tags(self, upos: Sequence[str], xpos: Sequence[str]) -> "Sentence":
        """The same sentence with other UPOS and XPOS columns."""
        return self._with_cells({i: {UPOS: u, XPOS: x} for i, (u, x) in enumerate(zip(upos, xpos, strict=True))})

    def _with_cells(self, changes: dict[int, dict[int, str]]) -> "Sentence":
        lines, rows = self.lines.copy(), self.rows.copy()
        for i, cells in changes.items():
            row = rows[i] = rows[i].copy()
            for index, value in cells.items():
                row[index] = value
            line = lines[self.row_lines[i]]
            mark = "\ufeff" if line.startswith("\ufeff") else ""
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


def find_cycle(heads: Sequence[int | None]) -> int | None:
    """A word that is its own ancestor, or None; heads of words 1..n."""
    seen = [0] * (len(heads) + 1)
    for start in range(1, len(heads) + 1):
        node: int | None = start
        while node and not seen[node]:
            seen[node] = start
            node = heads[node - 1]
        if node and seen[node] == start:
            return node
    return None


def _scan(source: Source, check: Check) -> Iterator[Sentence | list[Problem]]:
    """Each sentence in turn, or the list of what is wrong with it."""
    with _opened(source) as (name, stream):
        line = 1
        try:
            for block in _blocks(stream):
                yield _parse(block, line, name, check)
                line += len(block)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            yield [Problem(name, line, None, f"broken gzip data: {error}")]
        except UnicodeDecodeError:  # from a text stream; bytes are decoded line by line in _parse
            yield [Problem(name, line, None, "invalid UTF-8")]
        except IsADirectoryError:
            yield [Problem(name, line, None, "expected a file, found a directory")]


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


def _parse(block: list[Any], first_line: int, source: str, check: Check) -> Sentence | list[Problem]:
    found: list[tuple[int, str]] = []  # (index of the line, message)
    lines: list[str] = []
    for index, raw in enumerate(block):
        try:
            lines.append(raw if isinstance(raw, str) else raw.decode())
        except UnicodeDecodeError as error:
            found.append((index, f"invalid UTF-8: byte 0x{raw[error.start]:02x} at position {error.start + 1}"))
            lines.append(raw.decode(errors="replace"))

    rows: list[list[str]] = []
    row_lines: list[int] = []
    n_words, last_in_range, n_empty = 0, 0, 0
    for index, line in enumerate(lines):
        if line in _BLANK:
            continue
        if line[0] == "\ufeff" and first_line + index == 1:
            line = line[1:]
        if line[:1] == "#":
            if rows:
                found.append((index, "comment inside a sentence; expected a word line or a blank line"))
            continue
        row = line.rstrip("\r\n").split("\t")
        if len(row) != 10:
            found.append((index, f"expected 10 tab-separated columns, found {len(row)}"))
            n_words += row[0] == str(n_words + 1)  # so that the words that follow are not out of order too
        elif row[0] == str(n_words + 1):
            n_words, n_empty = n_words + 1, 0
            rows.append(row)
            row_lines.append(index)
            if "" in row:
                found.append((index, f"column {COLUMN_NAMES[row.index('')]} is empty; expected a value or _"))
        elif match := _RANGE.fullmatch(row[0]):
            first, last = int(match[1]), int(match[2])
            if first != n_words + 1 or last <= first or first <= last_in_range:
                found.append((index, f"range {row[0]} is out of order; expected one from word {n_words + 1} on"))
            last_in_range = max(last_in_range, last)
        elif match := _EMPTY_NODE.fullmatch(row[0]):
            if (int(match[1]), int(match[2])) != (n_words, n_empty + 1):
                found.append((index, f"empty node {row[0]} is out of order; expected {n_words}.{n_empty + 1}"))
            n_empty += 1
        elif _NUMBER.fullmatch(row[0]):
            found.append((index, f"id {row[0]} is out of order; expected {n_words + 1}"))
        else:
            found.append((index, f"expected an integer, range or decimal id, found {row[0]!r}"))
    if last_in_range > n_words and not found:
        found.append((row_lines[-1] if rows else 0, f"a range ends at word {last_in_range}, the sentence at {n_words}"))
    if not rows and not found:
        found.append((next(i for i, line in enumerate(lines) if line not in _BLANK), "expected words after comments"))

    heads: list[int | None] = []
    if check != "columns":
        for row, index in zip(rows, row_lines, strict=True):
            head = row[HEAD]
            if head == "_":
                heads.append(None)
            elif head.isdecimal() and head.isascii():
                heads.append(int(head))
                if int(head) > n_words:
                    found.append((index, f"head {head} is out of range; expected 0 to {n_words}"))
            else:
                found.append((index, f"expected an integer HEAD or _, found {head!r}"))
        if not found:
            found += [(row_lines[word - 1], message) for word, message in _tree_problems(heads, check)]
    else:
        heads = [None] * len(rows)

    sentence = Sentence(lines, rows, row_lines, heads)
    if not found:
        return sentence
    sent_id = sentence.sent_id
    return [Problem(source, first_line + index, sent_id, message) for index, message in sorted(found)]


def _tree_problems(heads: list[int | None], check: Check) -> Iterator[tuple[int, str]]:
    cycle = find_cycle(heads)
    if cycle is not None:
        yield cycle, f"word {cycle} is in a cycle"
    n_roots = heads.count(0)
    if n_roots == 0 and None not in heads:
        yield 1, "no root; expected one word with HEAD 0"
    if n_roots > 1 and check == "tree":
        second = heads.index(0, heads.index(0) + 1) + 1
        yield second, f"{n_roots} roots; expected one word with HEAD 0"


@contextmanager
def _opened(source: Source) -> Iterator[tuple[str, Iterable[Any]]]:
    """The name and the lines of a path or stream; gzip is known by its first bytes."""
    if isinstance(source, (str, os.PathLike)):
        try:
            file = open(source, "rb")  # noqa: SIM115
        except OSError as error:
            raise DataError(f"{os.fspath(source)}: {error.strerror}") from error
        with file:
            yield os.fspath(source), _unzipped(file)
    else:
        name = getattr(source, "name", None)
        is_text = isinstance(source, io.TextIOBase)
        yield name if isinstance(name, str) else "<stream>", source if is_text else _unzipped(source)


def _unzipped(stream: Any) -> Any:
    if not hasattr(stream, "peek"):
        stream = io.BufferedReader(stream)
    return gzip.GzipFile(fileobj=stream) if stream.peek(2)[:2] == b"\x1f\x8b" else stream


@contextmanager
def _writer(target: Source) -> Iterator[Any]:
    """A function that takes text; a named file is put in place when all has been written."""
    if not isinstance(target, (str, os.PathLike)):
        is_text = isinstance(target, io.TextIOBase)
        yield target.write if is_text else lambda text: target.write(text.encode())  # type: ignore[call-overload]
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
        raise DataError(f"{path}: {error.strerror}") from error
    finally:
        if not is_device:
            part.unlink(missing_ok=True)
