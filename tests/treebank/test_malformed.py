"""Malformed files: one clear line for each problem, exit code 1, never a traceback."""

import gzip
import io
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Result
from graph2graph.treebank import conllu
from graph2graph.treebank.conllu import COLUMN_NAMES, HEAD, ID, ConlluError

G2g = Callable[..., Result]

# The sentence that is spoilt: lines 4 to 12 of a file, so that line numbers have to be counted over sentences.
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


def test_there_are_enough() -> None:
    assert len({case.data for case in CASES}) == len(CASES) >= 280


def test_what_is_spoilt_is_valid(g2g: G2g) -> None:
    data = (BEFORE + "".join(VALID) + AFTER).encode()
    assert list(conllu.problems(io.BytesIO(data))) == []
    assert g2g("validate", "-", stdin=data) == (0, "", "", b"")


@pytest.mark.parametrize("case", CASES, ids=[ascii(case.name).strip("'") for case in CASES])
def test_malformed(case: Case, tmp_path: Path, g2g: G2g) -> None:
    path = tmp_path / "bad.conllu"
    path.write_bytes(case.data)
    found = list(conllu.problems(path))
    lines = [str(problem) for problem in found]
    assert len(found) == len(case.problems), lines
    for problem, (line, message) in zip(found, case.problems):
        assert problem.message.startswith(message)
        assert line in (problem.line, 0)
        assert (problem.source, problem.sent_id) == (str(path), case.sent_id)
    for line in lines:
        assert line.isprintable()
        assert re.match(rf"{path}:[1-9][0-9]*: [^:]", line)
        assert line.endswith(f" (sent_id {case.sent_id})") == (case.sent_id is not None)

    with pytest.raises(ConlluError) as raised:
        list(conllu.read(path))
    assert str(raised.value) == lines[0]

    validated = g2g("validate", path)
    assert (validated.code, validated.out.splitlines()) == (1, lines)
    assert validated.err == ("" if len(lines) == 1 else f"{len(lines)} problems\n")

    for arguments in (["oracle"], ["oracle", "--json", "--swap", "lazy"], ["oracle", "--play"]):
        rebuilt = g2g(*arguments, path)
        assert (rebuilt.code, rebuilt.err) == (1, f"g2g: {lines[0]}\n")


def test_reading_goes_on_until_the_problem(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == "three roots")
    sentences = conllu.read(io.BytesIO(case.data))
    assert next(sentences).sent_id == "before"
    with pytest.raises(ConlluError, match=r"^<stream>:8: 3 roots; expected one word with HEAD 0 \(sent_id s1\)$"):
        next(sentences)


def test_text_with_invalid_bytes() -> None:
    data = (BEFORE * 2).encode() + b"\xff"
    stream = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="\n")
    with pytest.raises(ConlluError, match=r"^<stream>:[0-9]+: invalid UTF-8 on this line or further on$"):
        list(conllu.read(stream))


def test_what_is_printed_stays_on_one_line(g2g: G2g) -> None:
    data = "# sent_id = a\x0bb\u2028c\rd\x1b[2J\n1\t_\n\n".encode()
    result = g2g("validate", "-", stdin=data)
    assert result.code == 1
    assert [line.isprintable() for line in result.out.splitlines()] == [True]
    assert r"sent_id 'a\x0bb\u2028c\rd\x1b[2J'" in result.out


def test_a_file_name_that_is_no_utf8(tmp_path: Path, g2g: G2g) -> None:
    path = tmp_path / "\udcff.conllu"
    result = g2g("validate", path)
    assert (result.code, "udcff.conllu': No such file" in result.out) == (1, True)
    path.write_text("oops\n")
    result = g2g("validate", path)
    assert (result.code, "udcff.conllu':1: expected 10" in result.out) == (1, True)


# Any bytes at all

replacement = st.one_of(st.binary(max_size=4), st.sampled_from([b"\t", b"\n", b"#"]))
edits = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 12), replacement), min_size=1, max_size=4)


@given(edits)
@settings(max_examples=300)
def test_random_edits_never_crash(changes: list[tuple[int, int, bytes]]) -> None:
    data = (BEFORE + "".join(VALID) + AFTER).encode()
    for where, length, new in changes:
        where %= len(data) + 1
        data = data[:where] + new + data[where + length :]
    check_consistent(data)


@given(st.binary(max_size=200))
@settings(max_examples=200)
def test_random_bytes_never_crash(data: bytes) -> None:
    check_consistent(data)
    check_consistent(gzip.compress(data, compresslevel=0)[: len(data)])


def check_consistent(data: bytes) -> None:
    """Either a file has problems and reading raises the first of them, or it comes back as it was."""
    found = [str(problem) for problem in conllu.problems(io.BytesIO(data))]
    out = io.BytesIO()
    if found:
        with pytest.raises(ConlluError) as raised:
            conllu.write(conllu.read(io.BytesIO(data)), out)
        assert str(raised.value) == found[0]
    elif conllu.write(conllu.read(io.BytesIO(data)), out):
        assert out.getvalue() == data


# The commands with files that are no files


def test_validate_reports_every_file(tmp_path: Path, g2g: G2g) -> None:
    good, bad, missing = tmp_path / "good.conllu", tmp_path / "bad.conllu", tmp_path / "missing.conllu"
    good.write_text(BEFORE)
    bad.write_text("oops\n")
    result = g2g("validate", missing, bad, good, tmp_path, bad)
    assert result.code == 1
    assert result.out.splitlines() == [
        f"{missing}: No such file or directory",
        f"{bad}:1: expected 10 tab-separated columns, found 1",
        f"{tmp_path}: Is a directory",
        f"{bad}:1: expected 10 tab-separated columns, found 1",
    ]
    assert result.err == "4 problems\n"


def test_validate_what_is_fine(tmp_path: Path, g2g: G2g) -> None:
    path = tmp_path / "good.conllu.gz"
    path.write_bytes(gzip.compress(BEFORE.encode()))
    assert g2g("validate", path) == (0, "", "", b"")


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_a_treebank_without_sentences(tmp_path: Path, g2g: G2g, data: bytes) -> None:
    path = tmp_path / "empty.conllu"
    path.write_bytes(data)
    assert g2g("validate", path) == (0, "", "", b"")
    assert '"sentences": 0' in g2g("oracle", "--json", path).out


def test_oracle_wants_files(tmp_path: Path, g2g: G2g) -> None:
    assert g2g("oracle", tmp_path) == (1, "", f"g2g: {tmp_path}: Is a directory\n", b"")
    missing = tmp_path / "missing.conllu"
    assert g2g("oracle", missing) == (1, "", f"g2g: {missing}: No such file or directory\n", b"")


def test_oracle_wants_trees(tmp_path: Path, g2g: G2g) -> None:
    path = tmp_path / "unparsed.conllu"
    path.write_text(BEFORE + "".join(with_heads(3, "_", 0, 3)) + AFTER)
    expected = f"g2g: {path}:8: word 2 has no head; expected a parsed file (sent_id s1)\n"
    assert g2g("validate", path).code == 0
    for arguments in (["oracle"], ["oracle", "--play"]):
        result = g2g(*arguments, path)
        assert (result.code, result.err) == (1, expected)


@pytest.mark.parametrize("arguments", [[], ["oracle"], ["validate"], ["oracle", "--swap", "never", "x"], ["nonsense"]])
def test_wrong_usage(g2g: G2g, arguments: list[str]) -> None:
    result = g2g(*arguments)
    assert result.code == 2
    assert "Usage:" in result.out + result.err
    assert "Traceback" not in result.out + result.err


# The real command, for a few


def real_g2g(*args: object, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    command = Path(sys.executable).with_name("g2g")
    return subprocess.run([command, *map(str, args)], input=stdin, capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize("name", ["three roots", "gzip cut after 40 bytes", "0xff, line 7", "a picture"])
def test_the_real_command(name: str, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == name)
    path = tmp_path / "bad.conllu"
    path.write_bytes(case.data)
    lines = [str(problem) for problem in conllu.problems(path)]
    validated = real_g2g("validate", path)
    assert (validated.returncode, validated.stdout.decode().splitlines()) == (1, lines)
    rebuilt = real_g2g("oracle", "-", stdin=case.data)
    assert rebuilt.returncode == 1
    assert rebuilt.stdout == b""
    assert rebuilt.stderr.decode() == f"g2g: {lines[0]}\n".replace(str(path), "<stdin>")
