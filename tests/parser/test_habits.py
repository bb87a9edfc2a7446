"""Habits of the field: what people try first with a pipeline and a document works, or says in one line what to do instead."""

import logging
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import graph2graph
from conftest import CONTRACTIONS
from graph2graph.errors import DataError
from graph2graph.parser.pipeline import Pipeline
from graph2graph.treebank.document import Document, ParsedSentence, Word
from graph2graph.treebank.sentence import Sentence

TEXT = "Hey There. I don't think he saw it."
EMPTY = dict.fromkeys(("lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"))
WORD: dict[str, object] = EMPTY | {"id": 1, "form": "Hey"}
pytestmark = pytest.mark.usefixtures("one_thread")
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def nlp(toy_model: Path) -> Pipeline:
    return graph2graph.load(toy_model)


@pytest.fixture(scope="module")
def bare(bare_model: Path) -> Pipeline:
    return graph2graph.load(bare_model)


def arcs(document: Document) -> list[tuple[str, int | None, str | None]]:
    return [(word.form, word.head, word.deprel) for word in document.words]


def test_words_give_the_same_document_as_the_text(nlp: Pipeline) -> None:
    parsed = nlp(TEXT)
    words = [[word.form for word in sentence] for sentence in parsed]
    assert arcs(nlp(words)) == arcs(parsed)
    assert [word.upos for word in nlp(words).words] == [word.upos for word in parsed.words]
    assert [sentence.heads for sentence in nlp.parse(words)] == [sentence.heads for sentence in parsed]
    assert [found[0].sentence.forms for found in nlp.nbest([("Hey", "There")], 2)] == [["Hey", "There"]]
    assert nlp([]).sentences == []


def test_a_document_is_parsed_with_its_comments_kept(nlp: Pipeline) -> None:
    given = Document.from_conllu("# newdoc\n# speaker = A\n" + CONTRACTIONS)
    parsed = nlp(given)
    assert [sentence.comments for sentence in parsed] == [sentence.comments for sentence in given]
    assert parsed.text == given.text
    assert [word.lemma for word in parsed.words] == [word.lemma for word in given.words]
    assert [one.heads for one in parsed] == [one.heads for one in nlp.parse(given)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["Hey There."], r"expected a list of words, found 'Hey There\.'; nlp\.pipe\(texts\) parses several texts"),
        ([[]], "expected a sentence or a list of words, found"),
        ([["Hey", 1]], "expected a sentence or a list of words, found"),
        ([3], "expected a sentence or a list of words, found 3"),
        ([["Hey", "a\tb"]], "has a tab, a line break"),
    ],
)
def test_what_is_no_text_and_no_words_is_refused(nlp: Pipeline, given: Any, message: str) -> None:
    for parse in (nlp, lambda given: list(nlp.parse(given)), lambda given: list(nlp.nbest(given, 2))):
        with pytest.raises(DataError, match=message):
            parse(given)


def test_other_mistakes_are_refused_in_one_line(nlp: Pipeline, bare: Pipeline) -> None:
    mistakes: list[tuple[Callable[[], object], str]] = [
        (lambda: nlp.parse(TEXT), r"nlp\(text\) parses a text"),  # type: ignore[arg-type]
        (lambda: list(nlp.pipe([["Hey"]])), "pipe: expected texts, found list"),  # type: ignore[list-item]
        (lambda: nlp(TEXT, "exact"), "options: expected ParseOptions, or options by name, found str"),  # type: ignore[arg-type]
        (lambda: nlp(TEXT, beam="4"), "beam: expected a number from 1 up, found '4'"),
        (lambda: nlp(TEXT, tags="guess"), "tags: expected keep, predict, none, found guess"),
        (lambda: nlp(TEXT, reencode=[]), "reencode: expected exact, adaptive or a number"),
        (lambda: bare(TEXT), "no text.udpipe, which raw text and predicted tags need"),
        (lambda: list(bare.parse([["Hey"]], tags="predict")), "no text.udpipe, which raw text and predicted tags need"),
        (lambda: nlp.parser.parse([], tags="predict"), "a parser has no tagger"),
    ]
    for mistake, message in mistakes:
        with pytest.raises(DataError, match=message) as refused:
            mistake()
        assert str(refused.value).isprintable()


def test_options_are_words_or_numbers(nlp: Pipeline) -> None:
    assert arcs(nlp(TEXT, tags="predict")) == arcs(nlp(TEXT, tags=graph2graph.TagSource.PREDICT))
    assert arcs(nlp(TEXT, reencode="exact")) == arcs(nlp(TEXT, reencode=float("inf")))
    assert [one.heads for one in nlp.parse([["Hey"]], tags="predict")] == [[0]]


def test_a_pipeline_is_pickled_as_the_place_of_its_model(nlp: Pipeline) -> None:
    stored = pickle.dumps(nlp)
    assert len(stored) < 1000
    assert arcs(pickle.loads(stored)(TEXT)) == arcs(nlp(TEXT))
    with pytest.raises(DataError, match="only be pickled if it was loaded from a model directory"):
        pickle.dumps(Pipeline(nlp.parser))


def test_a_document_can_be_pickled(nlp: Pipeline) -> None:
    document = nlp(TEXT)
    again = pickle.loads(pickle.dumps(document))
    assert again.to_conllu() == document.to_conllu()
    assert again[0].root.children == again[0].root.children
    assert pickle.loads(pickle.dumps(document[0][0])).form == "Hey"


def test_a_word_cannot_be_changed(nlp: Pipeline) -> None:
    word = nlp(TEXT)[0][0]
    for name in ("deprel", "head", "form", "id"):
        with pytest.raises(AttributeError, match=r"a word cannot be changed; sentence\.with_tree"):
            setattr(word, name, "x")


def test_documents_and_sentences_are_sequences(nlp: Pipeline) -> None:
    document = nlp(TEXT)
    assert len(document) == len(list(document)) == 2
    assert document[-1] is document.sentences[1]
    assert document[:1] == document.sentences[:1]
    first = document[0]
    assert isinstance(first, ParsedSentence)
    assert [word.text for word in first] == first.forms
    assert first[0] == first.words[0]
    assert first[1:] == first.words[1:]
    assert isinstance(first[0], Word)
    assert (first.start_char, first.end_char) == (0, 10)
    assert TEXT[document[1].start_char : document[1].end_char] == document[1].text
    assert first.with_columns({9: ["_"] * len(first)}).spans == ()


def test_reprs_tell_what_it_is(nlp: Pipeline, bare: Pipeline) -> None:
    assert repr(nlp) == "Pipeline('model', Parser(SentTr+G2GTr, 1 layers × 16, 18 labels), text model)"
    assert repr(bare).endswith("no text model)")
    assert repr(nlp(TEXT)[0]) == "ParsedSentence('Hey There.', 3 words)"
    assert repr(Sentence.from_words(["x" * 99])) == f"Sentence('{'x' * 57}...', 1 word)"


def test_json_and_back(nlp: Pipeline, toy_model: Path, g2g: Run) -> None:
    document = nlp(TEXT)
    again = Document.from_json(document.to_json(), text=TEXT)
    assert again.to_json() == document.to_json()
    assert [word.span for word in again.words] == [word.span for word in document.words]
    lines = g2g("parse", "--model", toy_model, "--text", TEXT, "-f", "json").out
    assert Document.from_json(lines).to_json() == Document.from_json(f"[{','.join(lines.splitlines())}]").to_json()
    assert Document.from_json([]).text == ""


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("{", "not JSON"),
        ([1], "sentence 1: expected sent_id, text and words"),
        ([{}], "sentence 1: expected sent_id, text and words"),
        ([{"words": [{}]}], "sentence 1: expected sent_id, text and words"),
        ([{"words": []}], "a sentence needs words"),
        ([{"words": [WORD | {"form": "a\tb"}]}], "found 11"),
        ([{"words": [WORD | {"form": "a\n"}]}], "found 2"),
        ([{"words": [WORD | {"head": 7}]}], "head 7 is out of range"),
        ([{"words": [WORD], "sent_id": "1\n2"}], "found 1"),
    ],
)
def test_json_that_is_no_document_is_refused(values: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Document.from_json(values)


def test_pipe_with_keys_and_batches(nlp: Pipeline) -> None:
    texts = ["", TEXT, "Hey There.", " "] * 3
    plain = [document.to_conllu() for document in nlp.pipe(texts)]
    pairs = ((text, number) for number, text in enumerate(texts))
    found = list(nlp.pipe(pairs, as_tuples=True, batch_size=2))
    assert [number for _, number in found] == list(range(len(texts)))
    assert [document.to_conllu() for document, _ in found] == plain
    assert [document.text for document, _ in found] == texts


def test_pipe_yields_a_batch_before_it_reads_the_next(nlp: Pipeline) -> None:
    read: list[int] = []

    def texts() -> Any:
        for number in range(6):
            read.append(number)
            yield "Hey"

    assert next(nlp.pipe(texts(), batch_size=2)).text == "Hey"
    assert read == [0, 1]


def test_progress_is_shown_on_standard_error(nlp: Pipeline, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(list(nlp.pipe([TEXT] * 3, progress=True))) == 3
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_pipe_in_processes(nlp: Pipeline) -> None:
    texts = [TEXT, "", "Hey There.", ""]
    expected = [document.to_conllu() for document in nlp.pipe(texts)]
    assert [document.to_conllu() for document in nlp.pipe(texts, n_process=2)] == expected


def test_the_library_leaves_the_hosts_logging_and_warnings_alone(nlp: Pipeline) -> None:
    root, ours = logging.getLogger(), logging.getLogger("graph2graph")
    before = (root.handlers[:], root.level, warnings.filters[:], ours.handlers[:], ours.level)
    nlp(TEXT)
    graph2graph.load(nlp.directory)
    assert (root.handlers, root.level, warnings.filters, ours.handlers, ours.level) == before
    assert ours.handlers == []


def test_loading_is_logged(toy_model: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "graph2graph"):
        graph2graph.load(toy_model)
    assert "loaded in" in caplog.text


def test_quiet_and_verbose(g2g: Run, toy_model: Path, tmp_path: Path) -> None:
    long = " ".join(["Hey"] * 600) + "\n"
    (tmp_path / "long.txt").write_text(long)
    command = ("parse", "--model", toy_model, "--input", "horizontal", tmp_path / "long.txt")
    said, quiet, verbose = g2g(*command), g2g(*command, "--quiet"), g2g(*command, "--verbose")
    assert said.out == quiet.out == verbose.out
    assert "longer than the encoder" in said.err
    assert quiet.err == ""
    assert "loaded in" in verbose.err
    assert all(line.startswith("g2g: ") for line in verbose.err.splitlines())
    failed = g2g("parse", "--quiet", "--model", "none-such", "--text", "Hey")
    assert (failed.code, len(failed.err.splitlines())) == (1, 1)
    assert logging.getLogger("graph2graph").handlers == []
