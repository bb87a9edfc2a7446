"""Raw text: none of it is lost, offsets are right, and text in one string or in lines gives the same sentences."""

import gzip
import io
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import CONTRACTIONS, ROOT
from graph2graph.errors import DataError
from graph2graph.text import udpipe as text
from graph2graph.text.udpipe import TextModel, TextOptions, paragraphs
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import FEATS, FORM, ID, LEMMA, MISC, UPOS, XPOS, Sentence

TOY = ROOT / "tests" / "data" / "toy.conllu"
TEXT = "Hey There. I don't think\nhe saw it.\n\nIt isn't the issue today.  Yes\n\n\n  A dog, a 🐕 !\tYes\n"
Run = Callable[..., Any]

# Anything at all, but more often what is difficult: spaces of all kinds, line ends, control characters, known words.
SPACES = [
    "\n",
    "\n\n",
    "\r\n\r\n",
    "\r",
    "\t",
    " ",
    "\u00a0",
    "\u3000",
    "\u2028",
    "\u0085",
    "\0",
    "\x0c",
    "\x1f",
    "\ufeff",
]
WORDS = ["\u200d", "e\u0301", "🐕", "\ud800", "don't", "Yes", ".", "#", "|", "\\", "\\n", "_", "http://x.y/z", "1-2\t_"]
oddities = st.sampled_from(SPACES + WORDS)
texts = st.lists(oddities | st.text(st.characters(), max_size=8), max_size=30).map("".join)


@pytest.fixture(scope="module")
def model(text_udpipe: Path) -> TextModel:
    return TextModel.load(text_udpipe)


def tokens(sentence: Sentence) -> list[list[str]]:
    """The rows of the tokens: words, and ranges in place of the words they are made of."""
    rows = [line.rstrip("\n").split("\t") for line in sentence.lines if line[0].isdigit()]
    covered = {n for a, dash, b in (row[ID].partition("-") for row in rows) if dash for n in range(int(a), int(b) + 1)}
    return [row for row in rows if "-" in row[ID] or int(row[ID]) not in covered]


def spelt(sentence: Sentence) -> str:
    """The text of a sentence, put together from its tokens and the spaces in their MISC."""
    escapes = {"s": " ", "t": "\t", "r": "\r", "n": "\n", "p": "|", "\\": "\\"}
    parts: list[str] = []
    for row in tokens(sentence):
        misc = dict(item.partition("=")[::2] for item in row[MISC].split("|"))
        decoded = {key: re.sub(r"\\(.)", lambda match: escapes[match[1]], value) for key, value in misc.items()}
        after = "" if misc.get("SpaceAfter") == "No" else decoded.get("SpacesAfter", " ")
        parts += [decoded.get("SpacesBefore", ""), decoded.get("SpacesInToken", row[FORM]), after]
    return "".join(parts)


def without_spaces(given: str) -> str:
    return "".join(given.split())


def seen(given: str) -> str:
    """The text with what UDPipe cannot hold replaced, as it sees it."""
    return re.sub("[\0\ud800-\udfff]", "\ufffd", given)


@pytest.mark.slow
@given(given=texts)
def test_nothing_of_a_text_is_lost(model: TextModel, given: str) -> None:
    sentences = list(model.sentences(given))
    assert without_spaces("".join(map(spelt, sentences))) == without_spaces(seen(given))
    written = "".join(line for sentence in sentences for line in sentence.lines)
    assert [s.lines for s in conllu.read(io.BytesIO(written.encode()))] == [s.lines for s in sentences]
    assert [s.sent_id for s in sentences] == [str(n) for n, _ in enumerate(sentences, 1)]


@given(given=texts)
def test_offsets_point_at_the_forms(model: TextModel, given: str) -> None:
    for sentence in model.sentences(given, ranges=True):
        for form, place in zip(sentence.forms, sentence.spans, strict=True):
            assert place is not None
            assert seen(given)[slice(*place)].split() == form.split()


@given(given=texts, limit=st.integers(1, 40), part=st.integers(1, 40))
def test_paragraphs_are_the_text(given: str, limit: int, part: int) -> None:
    stream = io.StringIO(given, newline="\n")
    cut = list(paragraphs(iter(lambda: stream.readline(part), ""), limit=limit))
    assert "".join(cut) == given
    assert all(cut)
    assert max(map(len, cut), default=0) <= limit + 2 * max(limit, part)


def test_spaces_and_comments_are_udpipes(model: TextModel) -> None:
    sentences = list(model.sentences(TEXT))
    assert "".join(map(spelt, sentences)) == TEXT
    firsts = [sentence.comments[0] for sentence in sentences]
    assert firsts[0] == "newdoc"
    assert [s.forms[0] for s in sentences if "newpar" in s.comments] == ["Hey", "It", "A"]
    assert sentences[0].comments == ["newdoc", "newpar", "sent_id = 1", "text = Hey There."]
    assert all(sentence.heads == [None] * len(sentence) for sentence in sentences)
    assert all(set(sentence.deprels) == {"_"} for sentence in sentences)


def test_contractions_are_two_words(model: TextModel) -> None:
    [sentence] = model.sentences("I don't think he saw it.", ranges=True)
    assert sentence.forms == ["I", "do", "n't", "think", "he", "saw", "it", "."]
    assert [row[:2] for row in tokens(sentence)][1] == ["2-3", "don't"]
    assert sentence.spans[1:3] == [(2, 4), (4, 7)]
    assert sentence.column(UPOS)[:4] == ["PRON", "AUX", "PART", "VERB"]
    assert sentence.column(LEMMA)[2] == "not"
    assert sentence.column(FEATS)[2] == "Polarity=Neg"


def test_a_word_that_is_not_in_its_token_has_no_place() -> None:
    lines = "1-2\tim\t_\t_\t_\t_\t_\t_\t_\tTokenRange=0:2\n1\tin\t{}\n2\tdem\t{}\n3\tX\t{}\n\n"
    [sentence] = conllu.read(
        io.StringIO(lines.format(*["\t".join("_" * 8)] * 2, "\t".join("_" * 7) + "\tTokenRange=3:4"))
    )
    assert sentence.spans == [None, None, (3, 4)]


def test_a_text_in_blocks_is_the_whole_text(model: TextModel, monkeypatch: pytest.MonkeyPatch) -> None:
    long = TEXT * 40
    whole = [s.lines for s in model.sentences(long, ranges=True)]
    assert [s.lines for s in model.sentences(io.StringIO(long, newline="\n"), ranges=True)] == whole
    monkeypatch.setattr(text, "LIMIT", 7)  # lines in parts
    assert [s.lines for s in model.sentences(long, ranges=True)] == whole
    # Paragraph by paragraph, each as a text of its own, gives the same words.
    cut = [s.forms for paragraph in paragraphs([*long.splitlines(keepends=True)]) for s in model.sentences(paragraph)]
    assert cut == [s.forms for s in model.sentences(long)]


@pytest.mark.slow
def test_long_paragraphs_and_lines_are_cut(model: TextModel) -> None:
    assert list(paragraphs(["aa\n", "bb\n", "cc\n"], limit=7)) == ["aa\nbb\n", "cc\n"]
    assert list(paragraphs(["aaa bb", "b ccc", "c"], limit=6)) == ["aaa ", "bbb ", "cccc"]
    for long in ("Yes " * 30_000, "x" * 120_000, "\n" * 120_000, "Yes. " + " " * 120_000 + "Yes."):
        found = list(model.sentences(long))
        assert without_spaces("".join(map(spelt, found))) == without_spaces(long)
        assert max(map(len, found), default=0) <= 1000


@pytest.mark.parametrize("given", ["", " ", "\n\n\t\r\n", "\u00a0\u3000"])
def test_a_text_without_words_has_no_sentences(model: TextModel, given: str) -> None:
    assert list(model.sentences(given)) == []


def test_a_sentence_a_line(model: TextModel) -> None:
    sentences = list(model.sentences("Hey There. Yes\nI don't\nthink\n", presegmented=True))
    assert [s.forms for s in sentences] == [["Hey", "There", ".", "Yes"], ["I", "do", "n't"], ["think"]]


def test_words_alone_and_given_numbers(model: TextModel) -> None:
    ids = itertools.count(7)
    first = list(model.sentences("Hey There. Yes.", tags=False, ids=ids))
    second = list(model.sentences("Yes.", tags=False, ids=ids))
    assert [s.sent_id for s in first + second] == [str(n) for n in range(7, 7 + len(first) + len(second))]
    assert first[0].comments[-2:] == ["sent_id = 7", "text = Hey There."]
    assert {cell for s in first for row in s.rows for cell in row[LEMMA:MISC]} == {"_"}


def test_tags_are_predicted_whatever_was_there(model: TextModel) -> None:
    gold = list(conllu.read(io.StringIO(CONTRACTIONS)))
    blank = [s.with_columns({c: ["_"] * len(s) for c in (LEMMA, UPOS, XPOS, FEATS)}) for s in gold]
    other = [s.with_columns({UPOS: ["X"] * len(s)}) for s in gold]
    assert [s.lines for s in model.tagged(blank)] == [s.lines for s in model.tagged(other)]
    for sentence, tagged in zip(gold, model.tagged(blank), strict=True):
        assert tagged.column(UPOS) == sentence.column(UPOS)  # it has seen these
        assert tagged.column(LEMMA) == sentence.column(LEMMA)
        untouched = [row[:2] + row[6:] for row in tokens(sentence)]
        assert [row[:2] + row[6:] for row in tokens(tagged)] == untouched


def test_a_form_that_udpipe_cannot_hold_is_tagged_too(model: TextModel) -> None:
    [sentence] = model.tagged([Sentence.from_words(["a\0b", "\u3000", "x y"])])
    assert sentence.forms == ["a\0b", "\u3000", "x y"]
    assert "_" not in sentence.column(UPOS)


def test_models_that_cannot_be_loaded(tmp_path: Path) -> None:
    broken = tmp_path / "text.udpipe"
    for content in (b"", b"not a model", b"\x7f" * 5000):
        broken.write_bytes(content)
        with pytest.raises(DataError, match=r"text\.udpipe: not a UDPipe model"):
            TextModel.load(broken)
    with pytest.raises(DataError, match="No such file"):
        TextModel.load(tmp_path / "none.udpipe")
    with pytest.raises(DataError, match="Is a directory"):
        TextModel.load(tmp_path)


@pytest.mark.slow
def test_truncated_models_are_refused(text_udpipe: Path, tmp_path: Path) -> None:
    content, part = text_udpipe.read_bytes(), tmp_path / "text.udpipe"
    for size in range(1, len(content), max(1, len(content) // 50)):
        part.write_bytes(content[:size])
        with pytest.raises(DataError, match="not a UDPipe model"):
            TextModel.load(part)


@pytest.mark.slow
def test_training_again_gives_the_same_model(text_udpipe: Path, tmp_path: Path) -> None:
    options = TextOptions(dimension=16, segment_size=20, epochs=3, iterations=3)
    text.train(text_udpipe.with_name("train.conllu"), None, tmp_path / "again.udpipe", options=options)
    assert (tmp_path / "again.udpipe").read_bytes() == text_udpipe.read_bytes()


@pytest.mark.slow
def test_train_text(g2g: Run, tmp_path: Path) -> None:
    packed = tmp_path / "train.conllu.gz"
    packed.write_bytes(gzip.compress(TOY.read_bytes()))
    small = ["--dimension", 16, "--segment-size", 20, "--epochs", 1, "--iterations", 2]
    done = g2g("train-text", packed, TOY, "--output", tmp_path / "new" / "model", *small)
    assert (done.code, done.out) == (0, "")
    assert "trained in" in done.err
    assert [path.name for path in (tmp_path / "new" / "model").iterdir()] == ["text.udpipe"]
    [sentence] = TextModel.load(tmp_path / "new" / "model" / "text.udpipe").sentences("Yes")
    assert sentence.column(UPOS) == ["INTJ"]
    assert g2g("train-text", TOY, "-o", tmp_path / "my.udpipe", *small).code == 0
    assert TextModel.load(tmp_path / "my.udpipe")


@pytest.mark.slow
def test_train_text_mistakes(g2g: Run, tmp_path: Path) -> None:
    sentences = list(conllu.read(TOY))
    bad, untagged, one, spaced = (tmp_path / f"{name}.conllu" for name in ("bad", "untagged", "one", "spaced"))
    bad.write_text("1\tword\n\n2\tword\n\n")
    conllu.write((s.with_columns({UPOS: ["_"] * len(s), XPOS: ["_"] * len(s)}) for s in sentences), untagged)
    conllu.write(sentences[2:3], one)
    conllu.write((s.with_columns({MISC: ["_"] * len(s)}) for s in sentences), spaced)
    empty = tmp_path / "empty.conllu"
    empty.touch()
    (tmp_path / "file").touch()
    small = ["--segment-size", 50, "--epochs", 1, "--dimension", 16, "--iterations", 1]
    cases = [
        ("No such file", [tmp_path / "none.conllu"]),
        ("bad.conllu:1: expected 10 tab-separated columns, found 2 (and 1 more", [bad]),
        ("bad.conllu:1: ", [TOY, bad]),
        ("no tags to learn from", [untagged]),
        ("no tags to learn from", [TOY, empty]),
        ("cannot learn from this", [one]),
    ]
    for message, files in cases:
        done = g2g("train-text", *files, "--output", tmp_path / "out", *small)
        assert done.code == 1, message
        assert message in done.err
        assert len(done.err.strip().splitlines()) <= 2
        assert not list(tmp_path.glob("out/*"))
    done = g2g("train-text", TOY, "--output", tmp_path / "file" / "model", *small)
    assert done.code == 1
    assert "Not a directory" in done.err
    assert g2g("train-text", TOY, "--output", tmp_path, "--dimension", 25).code == 2
    done = g2g("train-text", spaced, "--output", tmp_path / "spaced.udpipe", *small)
    assert done.code == 0
    assert "no SpaceAfter=No" in done.err
