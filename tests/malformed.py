"""Malformed CoNLL-U files and everything that is wrong with each."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass

from graph2graph.treebank.sentence import COLUMN_NAMES, HEAD, ID

# The spoilt sentence has lines 4 to 12 of a file, so that line numbers must be counted over sentences.
BEFORE = "# sent_id = before\n1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_\n\n"


AFTER = "\n# sent_id = after\n1\tNo\tno\tINTJ\tUH\t_\t0\troot\t_\t_\n\n"


VALID = """\
# sent_id = s1
# text = Don't go there
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\tMood=Ind\t3\taux\t_\tA=1
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
3.1\tgone\tgo\tVERB\tVB\t_\t_\t_\t0:root\t_
4\tthere\tthere\tADV\tRB\t_\t3\tadvmod\t_\t_
""".splitlines(keepends=True)


COMMENT, TEXT, RANGE, DO, NOT, GO, EMPTY_NODE, THERE = range(8)


WORDS = {DO: 1, NOT: 2, GO: 3, THERE: 4}


TOKENS = [RANGE, DO, NOT, GO, EMPTY_NODE, THERE]


FIRST_LINE = 1 + BEFORE.count("\n")


@dataclass(frozen=True)
class Case:
    """A malformed file and everything that is wrong with it."""

    name: str
    data: bytes
    problems: list[tuple[int, str]]  # line and message; the message as the beginning of what must be said
    sent_id: str | None = "s1"


def spoilt(name: str, lines: list[str], *problems: tuple[int, str]) -> Case:
    """A file with `lines` as its second sentence; problems are given by the index of the line in it."""
    data = (BEFORE + "".join(lines) + AFTER).encode()
    return Case(name, data, [(FIRST_LINE + index, message) for index, message in problems])


def with_line(index: int, line: str) -> list[str]:
    return [*VALID[:index], line, *VALID[index + 1 :]]


def with_cell(index: int, column: int, value: str) -> list[str]:
    cells = VALID[index].rstrip("\n").split("\t")
    cells[column] = value
    return with_line(index, "\t".join(cells) + "\n")


def with_heads(*heads: int | str) -> list[str]:
    lines = VALID
    for index, head in zip(WORDS, heads, strict=True):
        cells = VALID[index].split("\t")
        cells[HEAD] = str(head)
        lines = [*lines[:index], "\t".join(cells), *lines[index + 1 :]]
    return lines


def column_counts() -> Iterator[Case]:
    for index in TOKENS:
        cells = VALID[index].rstrip("\n").split("\t")
        for n_columns in (1, 2, 9):
            line = "\t".join(cells[:n_columns]) + "\n"
            message = f"expected 10 tab-separated columns, found {n_columns}"
            yield spoilt(f"{n_columns} columns, line {index}", with_line(index, line), (index, message))
        more = "\t".join([*cells, "_"]) + "\n"
        yield spoilt(f"11 columns, line {index}", with_line(index, more), (index, "expected 10 tab-separated columns"))
        spaces = VALID[index].replace("\t", " ")
        message = "expected 10 tab-separated columns, found 1"
        rest = [(index + i, message) for i, message in lost(index)]
        yield spoilt(f"spaces for tabs, line {index}", with_line(index, spaces), (index, message), *rest)
    for blank in (" \n", "\t\n", "\u00a0\n", "\u2028\n"):
        lines = [*VALID, blank]
        yield spoilt(f"not quite a blank line {blank!a}", lines, (len(VALID), "expected 10 tab-separated columns"))


def lost(index: int) -> list[tuple[int, str]]:
    """The complaints about the lines after a line that is no longer seen to be a word."""
    return {
        DO: [(1, "id 2 is out of order; expected 1")],
        NOT: [(1, "id 3 is out of order; expected 2")],
        GO: [(1, "empty node 3.1 is out of order; expected 2.1"), (2, "id 4 is out of order; expected 3")],
    }.get(index, [])


def ids() -> Iterator[Case]:
    for index, word in WORDS.items():
        for bad in ("x", "_", f"0{word}", f"-{word}", f"+{word}", f"{word}.", f" {word}", "1e0", "٣", f"{word}\x00"):
            message = f"expected an integer, range or decimal id, found {bad!a}"
            yield spoilt(f"id {bad!a} for word {word}", with_cell(index, ID, bad), (index, message))
        endless = "9" * 5000  # more than int() accepts
        message = f"expected an integer, range or decimal id, found '{'9' * 60}...'"
        yield spoilt(f"endless id for word {word}", with_cell(index, ID, endless), (index, message))
        yield spoilt(f"word {word} twice", [*VALID[: index + 1], *VALID[index:]], (index + 1, f"id {word} is out of"))
        if index != THERE:
            rest = [(index + i - 1, message) for i, message in lost(index)]
            yield spoilt(f"word {word} left out", [*VALID[:index], *VALID[index + 1 :]], *rest)
    yield spoilt("id 0", with_cell(THERE, ID, "0"), (THERE, "id 0 is out of order; expected 4"))
    yield spoilt("id too high", with_cell(THERE, ID, "7"), (THERE, "id 7 is out of order; expected 4"))
    swapped = [*VALID[:DO], VALID[NOT], VALID[DO], *VALID[GO:]]
    order = [(DO, "id 2 is out of order; expected 1"), (NOT, "id 1 is out of order; expected 3")]
    yield spoilt("two words swapped", swapped, *order, (GO, "id 3 is out of order; expected 2"))
    yield spoilt(
        "two sentences without a blank line", [*VALID, BEFORE.splitlines(keepends=True)[1]], (8, "id 1 is out")
    )


def ranges_and_empty_nodes() -> Iterator[Case]:
    for bad, message in {
        "2-1": "range 2-1 ends before it begins",
        "2-3": "range 2-3 is out of order; expected one from 1 on",
        "1-5": "range ends at 5, after the last word, 4",
        "1-99": "range ends at 99, after the last word, 4",
        "0-1": "expected an integer, range or decimal id",
        "1-": "expected an integer, range or decimal id",
        "-1": "expected an integer, range or decimal id",
        "1-2-3": "expected an integer, range or decimal id",
        "1–2": "expected an integer, range or decimal id",
        "01-2": "expected an integer, range or decimal id",
        "a-b": "expected an integer, range or decimal id",
        "1.1-2": "expected an integer, range or decimal id",
        f"1-{'9' * 5000}": "expected an integer, range or decimal id",
    }.items():
        rest = [] if "range " in message[:6] else [(DO, "id 1 is out of order; expected 2")]
        yield spoilt(f"range {bad[:9]!a}", with_cell(RANGE, ID, bad), (RANGE, message), *rest)
    late = [*VALID[:RANGE], VALID[DO], VALID[RANGE], *VALID[NOT:]]
    yield spoilt("range after its first word", late, (DO, "range 1-2 is out of order; expected one from 2 on"))
    twice = [*VALID[: RANGE + 1], *VALID[RANGE:]]
    yield spoilt("range twice", twice, (DO, "range 1-2 is out of order; expected one from 3 on"))
    overlap = [*VALID[:NOT], VALID[RANGE].replace("1-2", "2-3"), *VALID[NOT:]]
    yield spoilt("ranges overlap", overlap, (NOT, "range 2-3 is out of order; expected one from 3 on"))
    for bad, message in {
        "3.2": "empty node 3.2 is out of order; expected 3.1",
        "2.1": "empty node 2.1 is out of order; expected 3.1",
        "4.1": "empty node 4.1 is out of order; expected 3.1",
        "0.1": "empty node 0.1 is out of order; expected 3.1",
        "3.0": "expected an integer, range or decimal id",
        "3.01": "expected an integer, range or decimal id",
        "3.": "expected an integer, range or decimal id",
        ".1": "expected an integer, range or decimal id",
        "3,1": "expected an integer, range or decimal id",
        "3.1.1": "expected an integer, range or decimal id",
        f"3.{'9' * 5000}": "expected an integer, range or decimal id",
    }.items():
        rest = [] if "empty" in message else [(THERE, "id 4 is out of order; expected 5")]
        yield spoilt(f"empty node {bad[:9]}", with_cell(EMPTY_NODE, ID, bad), (EMPTY_NODE, message), *rest)
    twice = [*VALID[: EMPTY_NODE + 1], *VALID[EMPTY_NODE:]]
    yield spoilt("empty node twice", twice, (THERE, "empty node 3.1 is out of order; expected 3.2"))


def heads() -> Iterator[Case]:
    for index, word in WORDS.items():
        for bad in ("x", "-1", "03", "1.0", "3.1", "1-2", " 3", "٣", "²", "+3", "1e1", "3\x00", "root"):
            message = f"expected an integer HEAD or _, found {bad!a}"
            yield spoilt(f"head {bad!a} of word {word}", with_cell(index, HEAD, bad), (index, message))
        for bad in ("5", "99", "999999999"):
            message = f"head {bad} is out of range; expected 0 to 4"
            yield spoilt(f"head {bad} of word {word}", with_cell(index, HEAD, bad), (index, message))
        message = f"expected an integer HEAD or _, found '{'9' * 60}...'"
        yield spoilt(f"endless head of word {word}", with_cell(index, HEAD, "9" * 5000), (index, message))


def tree_problems() -> Iterator[Case]:
    no_root = "no root; expected one word with HEAD 0"
    for index, word in WORDS.items():
        message = (index, f"word {word} is its own head")
        missing = [(DO, no_root)] if index == GO else []
        yield spoilt(f"word {word} its own head", with_cell(index, HEAD, str(word)), *sorted([message, *missing]))
        if index != GO:
            second = max(index, GO)
            message = (second, "2 roots; expected one word with HEAD 0")
            yield spoilt(f"word {word} a second root", with_cell(index, HEAD, "0"), message)
    yield spoilt("three roots", with_heads(0, 0, 0, 3), (NOT, "3 roots; expected one word with HEAD 0"))
    yield spoilt("all roots", with_heads(0, 0, 0, 0), (NOT, "4 roots; expected one word with HEAD 0"))
    for tree, start in (((2, 1, 0, 3), DO), ((3, 3, 4, 3), GO), ((2, 3, 4, 1), DO), ((3, 1, 2, 0), DO)):
        missing = [] if 0 in tree else [(DO, no_root)]
        message = (start, f"word {WORDS[start]} is in a cycle")
        yield spoilt(f"cycle in {tree}", with_heads(*tree), *sorted([*missing, message]))
    yield spoilt(
        "two cycles", with_heads(2, 1, 4, 3), (DO, no_root), (DO, "word 1 is in a cycle"), (GO, "word 3 is in a cycle")
    )
    yield spoilt("cycle in a half-parsed sentence", with_heads(2, 1, "_", "_"), (DO, "word 1 is in a cycle"))
    yield spoilt("two roots in a half-parsed sentence", with_heads(0, "_", "_", 0), (THERE, "2 roots"))
    yield spoilt("two roots and a cycle", with_heads(0, 0, 4, 3), (NOT, "2 roots"), (GO, "word 3 is in a cycle"))


def empty_columns() -> Iterator[Case]:
    for column, name in enumerate(COLUMN_NAMES):
        message = f"empty column {name}; expected a value or _"
        index = TOKENS[column % len(TOKENS)]
        yield spoilt(f"{name} empty", with_cell(index, column, ""), (index, message))
    line = "4\tthere\t\t\tRB\t_\t3\tadvmod\t_\t\n"
    yield spoilt("three columns empty", with_line(THERE, line), (THERE, "empty column LEMMA, UPOS, MISC; expected"))


def comments() -> Iterator[Case]:
    message = "comment inside a sentence; expected a word line or a blank line"
    for index in TOKENS:
        lines = [*VALID[: index + 1], "# here\n", *VALID[index + 1 :]]
        yield spoilt(f"comment after line {index}", lines, (index + 1, message))
    yield spoilt("comments without words", VALID[:RANGE], (COMMENT, "expected a word in the sentence"))
    yield spoilt(
        "an empty node alone", [VALID[COMMENT], VALID[EMPTY_NODE].replace("3.1", "0.1")], (0, "expected a word")
    )
    yield spoilt("a range alone", VALID[: RANGE + 1], (RANGE, "range ends at 2, after the last word, 0"))
    spaced = [" " + VALID[COMMENT], *VALID[TEXT:]]
    data = (BEFORE + "".join(spaced) + AFTER).encode()
    yield Case("space before #", data, [(FIRST_LINE, "expected 10 tab-separated columns, found 1")], sent_id=None)
    marked = (BEFORE + "\ufeff" + "".join(VALID) + AFTER).encode()
    yield Case("mark in the middle", marked, [(FIRST_LINE, "expected 10 tab-separated columns, found 1")])


def encodings() -> Iterator[Case]:
    text = "".join(VALID).encode()
    for name, bad in {
        "0xff": b"\xff",
        "0xfe": b"\xfe",
        "half a character": b"\xc3",
        "second half": b"\xa9",
        "surrogate": b"\xed\xa0\x80",
        "overlong": b"\xc0\x80",
        "beyond Unicode": b"\xf4\x90\x80\x80",
        "Latin-1": "Zoë".encode("latin-1"),
    }.items():
        message = "invalid UTF-8: byte 0x" + f"{bad[-1] if name == 'Latin-1' else bad[0]:02x}"
        for index, spot in ((TEXT, b"there"), (RANGE, b"Don't\t"), (DO, b"do\t"), (THERE, b"advmod\t_\t_")):
            start = text.rindex(spot) if index == THERE else text.index(spot)
            data = BEFORE.encode() + text[:start] + bad + text[start:] + AFTER.encode()
            yield Case(f"{name}, line {index}", data, [(FIRST_LINE + index, message)])
    truncated = (BEFORE + "".join(VALID)).encode().replace(b"there", "thère".encode())
    cut = truncated[: truncated.rindex("è".encode()) + 1]
    short = [(FIRST_LINE + THERE, "expected 10 tab-separated columns, found 3")]
    yield Case("cut inside a character", cut, [*short, (FIRST_LINE + THERE, "invalid UTF-8: byte 0xc3")])
    utf16 = "1\ta\n".encode("utf-16-le")
    first = [(1, "expected 10 tab-separated columns, found 2"), (1, "invalid UTF-8: byte 0xff at position 1")]
    yield Case("UTF-16", b"\xff\xfe" + utf16, [*first, (2, "expected 10 tab")], sent_id=None)


def zipped() -> Iterator[Case]:
    data = gzip.compress((BEFORE + "".join(VALID) + AFTER).encode(), mtime=0)
    for size in (2, 3, 10, 11, 40, len(data) - 8, len(data) - 1):
        # The first sentence may have been read whole by then.
        yield Case(f"gzip cut after {size} bytes", data[:size], [(0, "broken gzip data: ")], sent_id=None)
    for name, broken in {
        "wrong checksum": data[:-8] + bytes([data[-8] ^ 1]) + data[-7:],
        "wrong length": data[:-1] + b"\x01",
        "wrong method": data[:2] + b"\x07" + data[3:],
        "flipped bits": data[:20] + bytes(byte ^ 0xFF for byte in data[20:40]) + data[40:],
        "garbage after it": data + b"garbage",
    }.items():
        yield Case(f"gzip: {name}", broken, [(0, "broken gzip data: ")], sent_id=None)


def several_problems() -> Iterator[Case]:
    lines = VALID.copy()
    lines[DO] = lines[DO].replace("\t3\t", "\tx\t")
    lines[NOT] = lines[NOT].replace("\t3\t", "\t9\t")
    lines[GO] = "3\tgo\n"
    lines[THERE] = lines[THERE].replace("4\t", "5\t")
    yield spoilt(
        "one on each line",
        lines,
        (DO, "expected an integer HEAD or _, found 'x'"),
        (NOT, "head 9 is out of range"),
        (GO, "expected 10 tab-separated columns, found 2"),
        (THERE, "id 5 is out of order; expected 4"),
    )
    bad = b"1\ta\t_\t_\t_\t_\t7\t_\t_\t_\n\n"
    out = "head 7 is out of range; expected 0 to 1"
    yield Case("one in each sentence", bad * 20, [(1 + 2 * i, out) for i in range(20)], sent_id=None)
    yield Case("leading blank lines", b"\n\r\n\n" + bad, [(4, out)], sent_id=None)
    yield Case("CRLF", b"\xef\xbb\xbf" + bad.replace(b"\n", b"\r\n"), [(1, out)], sent_id=None)
    yield Case("no line end", bad.strip(), [(1, out)], sent_id=None)


def no_conllu() -> Iterator[Case]:
    ten = "expected 10 tab-separated columns"
    yield Case("plain text", b"This is not CoNLL-U.\n", [(1, ten)], sent_id=None)
    yield Case("JSON", b'{\n"a": 1\n}\n', [(1, ten), (2, ten), (3, ten)], sent_id=None)
    yield Case("NUL bytes", b"\x00" * 100, [(1, ten)], sent_id=None)
    yield Case("one NUL line", b"\x00\n\n", [(1, ten)], sent_id=None)
    yield Case("old Mac line ends", b"# text = a\r1\ta\r\r", [(1, "expected a word")], sent_id=None)
    yield Case("a comment alone", b"#", [(1, "expected a word in the sentence")], sent_id=None)
    png = b"\x89PNG\r\n\x1a\n"
    yield Case("a picture", png, [(1, ten), (1, "invalid UTF-8: byte 0x89"), (2, ten)], sent_id=None)


CASES = [
    case
    for kind in (
        *(column_counts, ids, ranges_and_empty_nodes, heads, tree_problems, empty_columns),
        *(comments, encodings, zipped, several_problems, no_conllu),
    )
    for case in kind()
]
