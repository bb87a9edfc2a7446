"""Malformed files: one clear line for each problem, exit code 1, never a traceback."""

import gzip
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Result
from graph2graph.treebank import conllu
from graph2graph.treebank.checking import ConlluError
from malformed import AFTER, BEFORE, CASES, VALID, Case

G2g = Callable[..., Result]


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


replacement = st.one_of(st.binary(max_size=4), st.sampled_from([b"\t", b"\n", b"#"]))


edits = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 12), replacement), min_size=1, max_size=4)


@given(edits)
@settings(max_examples=200)
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
