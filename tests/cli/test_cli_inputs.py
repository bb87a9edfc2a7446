"""The inputs of `g2g parse`: files, standard input and --text, in each format."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import LEMMA, UPOS, XPOS

TOY = Path(__file__).parents[1] / "data" / "toy.conllu"
Run = Callable[..., Any]
TEXT = "Hey There. I don't think he saw it.\n\nIt isn't the issue today.\n"


def test_words_in_lines(g2g: Run, bare_model: Path) -> None:
    done = g2g("parse", "--model", bare_model, "--input", "horizontal", "-", stdin=b"A dog barks .\n\n  Yes\n")
    sentences = list(conllu.read(io.StringIO(done.out)))
    assert [s.forms for s in sentences] == [["A", "dog", "barks", "."], ["Yes"]]
    assert all(s.parsed for s in sentences)
    done = g2g("parse", "--model", bare_model, "--input", "vertical", "-", stdin=b"A\ndog\n\n\nYes")
    assert [s.forms for s in conllu.read(io.StringIO(done.out))] == [["A", "dog"], ["Yes"]]


@pytest.mark.slow
def test_raw_text(g2g: Run, toy_model: Path, tmp_path: Path) -> None:
    done = g2g("parse", "--model", toy_model, "--text", TEXT)
    assert (done.code, done.err) == (0, "")
    sentences = list(conllu.read(io.StringIO(done.out)))
    assert [s.forms for s in sentences][:2] == [
        ["Hey", "There", "."],
        ["I", "do", "n't", "think", "he", "saw", "it", "."],
    ]
    assert all(s.parsed and "_" not in s.column(UPOS) + s.column(LEMMA) for s in sentences)
    assert "TokenRange" not in done.out
    plain, packed = tmp_path / "a.txt", tmp_path / "b.gz"
    plain.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    packed.write_bytes(gzip.compress(TEXT.encode()))
    for arguments in ([plain], [packed], ["-"], ["--input", "text", "-"]):
        assert g2g("parse", "--model", toy_model, *arguments, stdin=TEXT.encode()).out == done.out
    both = list(conllu.read(io.StringIO(g2g("parse", "--model", toy_model, plain, packed, TOY).out)))
    ids = [str(n + 1) for n in range(2 * len(sentences))]  # they go on over the files
    assert [s.sent_id for s in both] == ids + [s.sent_id for s in conllu.read(TOY)]
    assert sum("newdoc" in s.comments for s in both) == 2


def test_raw_text_without_tags_and_with_lines(g2g: Run, toy_model: Path) -> None:
    for tags in ("none", "keep"):  # there are none to keep
        done = g2g("parse", "--model", toy_model, "--text", TEXT, "--tags", tags)
        assert {cell for s in conllu.read(io.StringIO(done.out)) for cell in s.column(UPOS)} == {"_"}
    done = g2g("parse", "--model", toy_model, "--text", "Hey There. Yes\nYes", "--presegmented", "--ranges")
    sentences = list(conllu.read(io.StringIO(done.out)))
    assert [s.forms for s in sentences] == [["Hey", "There", ".", "Yes"], ["Yes"]]
    assert sentences[1].spans == [(15, 18)]


def test_words_are_tagged_where_there_is_a_tagger(g2g: Run, bare_model: Path, toy_model: Path) -> None:
    for directory, tags, expected in (
        (toy_model, [], False),
        (bare_model, [], True),
        (toy_model, ["--tags", "none"], True),
    ):
        for written in ("horizontal", "vertical"):
            given = b"It is the issue\n" if written == "horizontal" else b"It\nis\nthe\nissue\n"
            done = g2g("parse", "--model", directory, "--input", written, *tags, "-", stdin=given)
            [sentence] = conllu.read(io.StringIO(done.out))
            assert ("_" in sentence.column(UPOS) + sentence.column(XPOS)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("written", ["text", "horizontal", "vertical", "conllu"])
def test_nothing_in_nothing_out(g2g: Run, toy_model: Path, written: str) -> None:
    blanks = [b"", b"\n"] if written == "conllu" else [b"", b"\n", b" \t\r\n\n "]
    for given in blanks:
        for shown in ("conllu", "json", "tree", "svg"):
            done = g2g("parse", "--model", toy_model, "--input", written, "-f", shown, "-", stdin=given)
            assert (done.code, done.out, done.err) == (0, "", "")


def test_wrong_usage(g2g: Run, bare_model: Path) -> None:
    assert "nothing to parse" in g2g("parse", "--model", bare_model).err
    for arguments in ([], [TOY, "--text", "Yes"], [TOY, "--tags", "some"], [TOY, "--input", "pdf"]):
        assert g2g("parse", "--model", bare_model, *arguments).code == 2
