"""A sentence kept verbatim: its lines as they were read, and the columns of its words.

A new value changes only the line of its word; all other lines stay the same byte for byte.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graph2graph.errors import DataError
from graph2graph.treebank import misc
from graph2graph.treebank.misc import ArcProbability, Span

ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(10)
COLUMN_NAMES = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
BYTE_ORDER_MARK = "\ufeff"  # may precede the first line of a file
_UNFIT = re.compile(
    "[\t\n\r\ud800-\udfff]"
)  # what ends a cell or a line, and half surrogate pairs, which UTF-8 has not
RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")  # the ID of a multiword token

_MARK = BYTE_ORDER_MARK.encode()


def is_blank(line: bytes | str) -> bool:
    """Whether a line ends a sentence: it has nothing but line ends, of whatever kind, and byte order marks."""
    if isinstance(line, str):
        return not line.strip("\r\n" + BYTE_ORDER_MARK)
    content = line.strip(b"\r\n")
    return not content or (content.startswith(_MARK) and not content.replace(_MARK, b"").strip(b"\r\n"))


@dataclass(frozen=True, slots=True, repr=False)
class Sentence:
    """A sentence: its lines verbatim, and the columns of its words (multiword tokens and empty nodes are only in the lines).

    `spans`, `start_char` and `probabilities` are parsed from MISC when a file is read; they are empty if no word has a value.
    """

    lines: list[str]
    rows: list[list[str]]  # the ten columns of each word
    row_lines: list[int]  # the index of each word's line in `lines`
    heads: list[int | None]  # of words 1..n; 0 is the root, None is `_`
    spans: Sequence[Span | None] = ()  # of each word in the raw text
    start_char: int | None = None  # of the sentence in the raw text
    probabilities: Sequence[ArcProbability | None] = ()  # of each word's arc

    def __len__(self) -> int:
        """The number of words."""
        return len(self.rows)

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= 60 else self.text[:57] + "..."
        return f"{type(self).__name__}({text!r}, {len(self)} word{'s' * (len(self) != 1)})"

    @classmethod
    def from_words(cls, forms: Sequence[str], *, sent_id: str | None = None, text: str | None = None) -> "Sentence":
        """A sentence of words without tags or tree."""
        if problem := cell_problem(forms):
            raise DataError(f"words: {problem}")
        comments = [f"# {key} = {value}\n" for key, value in (("sent_id", sent_id), ("text", text)) if value]
        rows = [[str(i), form, *["_"] * 8] for i, form in enumerate(forms, 1)]
        lines = [*comments, *("\t".join(row) + "\n" for row in rows), "\n"]
        return cls(lines, rows, list(range(len(comments), len(lines) - 1)), [None] * len(rows))

    def column(self, index: int) -> list[str]:
        """One column of all words, as written: `sentence.column(LEMMA)`."""
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
        """The first word, the last word and the columns of each multiword token, `2-3`."""
        rows = (line.removeprefix(BYTE_ORDER_MARK).rstrip("\r\n").split("\t") for line in self.lines)
        matches = ((RANGE.fullmatch(row[ID]), row) for row in rows)
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

    def check_acyclic(self) -> None:
        """Raise an error if the heads have a cycle."""
        cycle = next(cycles(self.heads), None)
        if cycle is not None:
            raise DataError(f"sentence {(self.sent_id or self.text)!r} is no tree: word {cycle} is in a cycle")

    @property
    def comments(self) -> list[str]:
        """The comment lines, without `#` and line end."""
        lines = (line.removeprefix(BYTE_ORDER_MARK).rstrip("\r\n") for line in self.lines)
        return [line[1:].strip() for line in lines if line.startswith("#")]

    @property
    def sent_id(self) -> str | None:
        """The value of `# sent_id = …`."""
        return self._comment_value("sent_id")

    @property
    def text(self) -> str:
        """The value of `# text = …`, or else the forms with spaces between them where SpaceAfter allows."""
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

    @property
    def line_end(self) -> str:
        """The line end of its first line; a line feed if that has none."""
        return "\r\n" if self.lines[0].endswith("\r\n") else "\n"

    def to_conllu(self) -> str:
        """The sentence in CoNLL-U, verbatim: at the end of a file, the final blank line may be missing (see `conllu.texts`)."""
        return "".join(self.lines)

    def to_json(self) -> dict[str, Any]:
        """The sentence as `g2g parse -f json` writes it; `_` is null, id and head are numbers, known offsets are added."""
        words = []
        spans = self.spans or [None] * len(self)
        for number, (row, head, span) in enumerate(zip(self.rows, self.heads, spans, strict=True), 1):
            cells = (None if cell == "_" else cell for cell in row)
            word: dict[str, Any] = dict(zip(map(str.lower, COLUMN_NAMES), cells, strict=True))
            word |= {"id": number, "form": row[FORM], "head": head}
            words.append(word | ({"start_char": span.start, "end_char": span.end} if span else {}))
        return {"sent_id": self.sent_id, "text": self.text, "words": words}

    def with_tree(self, heads: Sequence[int | None], deprels: Sequence[str]) -> "Sentence":
        """The same sentence with this tree; lines with the same head and label as before are untouched."""
        cells = ["_" if head is None else str(head) for head in heads]
        return replace(self._with_cells({HEAD: cells, DEPREL: deprels}), heads=list(heads))

    def with_probabilities(self, probabilities: Sequence[tuple[float, float]]) -> "Sentence":
        """The same sentence with the probability of each arc and of its label, as fields and in MISC."""
        rounded = [ArcProbability(round(arc, misc.DIGITS), round(label, misc.DIGITS)) for arc, label in probabilities]
        cells = zip(self.column(MISC), probabilities, strict=True)
        changed = self._with_cells({MISC: [misc.with_probability(cell, *one) for cell, one in cells]})
        return replace(changed, probabilities=rounded)

    def with_comments(self, comments: Mapping[str, str]) -> "Sentence":
        """The same sentence with `# key = value` lines after its comments, before its first word or range."""
        mark = BYTE_ORDER_MARK if self.lines[0].startswith(BYTE_ORDER_MARK) else ""
        lines = [self.lines[0].removeprefix(mark), *self.lines[1:]]
        end = next(index for index, line in enumerate(lines) if not (is_blank(line) or line.startswith("#")))
        lines[end:end] = [f"# {key} = {value}{self.line_end}" for key, value in comments.items()]
        lines[0] = mark + lines[0]
        return replace(self, lines=lines, row_lines=[line + len(comments) for line in self.row_lines])

    def with_columns(self, columns: Mapping[int, Sequence[str]]) -> "Sentence":
        """The same sentence with other values in some columns: `sentence.with_columns({LEMMA: lemmas})`."""
        changed = self._with_cells(columns)
        return changed.with_misc_parsed() if MISC in columns else changed

    def with_misc_parsed(self) -> "Sentence":
        """The same sentence with `spans`, `start_char` and `probabilities` read from MISC."""
        written = "".join(self.lines)
        if not any(key in written for key in misc.KEYS):
            return replace(self, spans=(), start_char=None, probabilities=())
        spans, start_char = self._spans_in_misc()
        probabilities = [misc.probability_in(cell) for cell in self.column(MISC)]
        found = replace(self, spans=spans if any(spans) else (), start_char=start_char)
        return replace(found, probabilities=probabilities if any(probabilities) else ())

    def _spans_in_misc(self) -> tuple[list[Span | None], int | None]:
        """The span of each word, and the start of the sentence's first token."""
        forms = self.forms
        spans = [misc.span_in(cell) for cell in self.column(MISC)]
        first_token = spans[0]
        for first, last, row in self.ranges:
            token = misc.span_in(row[MISC])
            if first == 1:
                first_token = token
            if token and "".join(forms[first - 1 : last]) == row[FORM]:  # as in don't, not in German im (in dem)
                start = token.start
                for word in range(first - 1, last):
                    spans[word] = Span(start, start + len(forms[word]))
                    start += len(forms[word])
        return spans, first_token.start if first_token else None

    def _with_cells(self, columns: Mapping[int, Sequence[str]]) -> "Sentence":
        lines, rows = self.lines.copy(), [row.copy() for row in self.rows]
        for column, cells in columns.items():
            both = [(row[column], cell) for row, cell in zip(rows, cells, strict=True) if row[column] != cell]
            # A carriage return that was read, in MISC say, may stay there when a value is added.
            new = [cell.replace("\r", "") if "\r" in old else cell for old, cell in both]
            if problem := cell_problem(new):
                raise DataError(f"sentence {self.sent_id or self.text!r}: {COLUMN_NAMES[column]}: {problem}")
            for row, cell in zip(rows, cells, strict=True):
                row[column] = cell
        for row, index in zip(rows, self.row_lines, strict=True):
            line = lines[index]
            mark = BYTE_ORDER_MARK if line.startswith(BYTE_ORDER_MARK) else ""
            lines[index] = mark + "\t".join(row) + line[len(line.rstrip("\r\n")) :]
        return replace(self, lines=lines, rows=rows)


def cell_problem(cells: Iterable[str]) -> str | None:
    """What keeps these from being the cells of a column in CoNLL-U; None if nothing does."""
    for cell in cells:
        if not cell or _UNFIT.search(cell):
            return f"{cell!a} is empty, or has a tab, a line break or half a surrogate pair"
    return None


def cycles(heads: Sequence[int | None]) -> Iterator[int]:
    """One word of each cycle in the heads of words 1..n."""
    seen = [0] * (len(heads) + 1)
    for start in range(1, len(heads) + 1):
        node: int | None = start
        while node and not seen[node]:
            seen[node] = start
            node = heads[node - 1]
        if node and seen[node] == start:
            yield node
