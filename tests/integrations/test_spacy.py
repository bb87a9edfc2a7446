"""The spaCy component: real pipelines, the same trees as our own parser on the same tokens, saved and loaded."""

import io
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from graph2graph.errors import DataError
from graph2graph.parser.parser import Parser
from graph2graph.text.udpipe import TextModel
from graph2graph.treebank import conllu
from graph2graph.treebank.document import Document
from graph2graph.treebank.sentence import UPOS, XPOS, Sentence
from spacy_trees import trees

spacy = pytest.importorskip("spacy")
component = pytest.importorskip(
    "graph2graph.integrations.spacy"
)  # registers it, wherever the package is installed from

TOY = ROOT / "tests" / "data" / "toy.conllu"
TEXT = "Hey There. It saw  the 🐕\n\nA dog I think he saw .  "


def make(model: Path, *before: str, **config: Any) -> Any:
    nlp = spacy.blank("en")
    for name in before:
        nlp.add_pipe(name)
    nlp.add_pipe("g2g_parser", config={"model": str(model), **config})
    return nlp


def arcs(doc: Any) -> list[tuple[int, str, bool]]:
    return [(token.head.i, token.dep_, token.is_sent_start) for token in doc]


def expected(parser: Parser, sentences: list[Sentence]) -> list[tuple[list[int | None], list[str]]]:
    return [(sentence.heads, sentence.deprels) for sentence in parser.parse(sentences)]


def gold_doc(vocab: Any, *, tags: bool = True) -> tuple[Any, list[Sentence]]:
    """The toy treebank as one Doc with sentence starts and tags, and its sentences."""
    sentences = list(conllu.read(TOY))
    words = [form for s in sentences for form in s.forms]
    starts = [i == 0 for s in sentences for i in range(len(s))]
    pos = [tag for s in sentences for tag in s.column(UPOS)] if tags else None
    return spacy.tokens.Doc(vocab, words=words, sent_starts=starts, pos=pos), sentences


def test_labels_and_noun_chunks(toy_model: Path) -> None:
    nlp = make(toy_model)
    labels = nlp.get_pipe("g2g_parser").labels
    vocabulary = Parser.load(toy_model).vocabulary
    assert set(labels) == set(vocabulary.labels) - {"root"} | {"ROOT", "dep"}
    assert nlp.pipe_labels["g2g_parser"] == list(labels)
    doc = nlp(spacy.tokens.Doc(nlp.vocab, words=["Dogs", "bark"], pos=["NOUN", "NOUN"]))
    assert all(chunk.text for chunk in doc.noun_chunks)


def test_the_entry_point() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    module, _, name = settings["project"]["entry-points"]["spacy_factories"]["g2g_parser"].partition(":")
    assert module == component.__name__
    assert getattr(component, name) is component.make
    assert spacy.blank("de").has_factory("g2g_parser")


@pytest.mark.slow
def test_same_trees_as_our_parser(toy_model: Path) -> None:
    nlp, parser = make(toy_model), Parser.load(toy_model)
    doc, sentences = gold_doc(nlp.vocab)
    assert trees(nlp(doc)) == expected(parser, sentences)
    assert [sent.start for sent in doc.sents] == [sum(map(len, sentences[:i])) for i in range(len(sentences))]
    doc, sentences = gold_doc(nlp.vocab, tags=False)
    predicted = list(TextModel.load(toy_model / "text.udpipe").tagged(sentences))
    assert trees(nlp(doc)) == expected(parser, predicted)
    assert not doc.has_annotation("TAG")


def test_same_as_the_command_line(g2g: Callable[..., Any], toy_model: Path) -> None:
    doc = make(toy_model)("Hey There, dog .")
    words = " ".join(token.text for token in doc)
    done = g2g("parse", "--model", toy_model, "--input", "horizontal", "-", stdin=words.encode())
    [sentence] = conllu.read(io.StringIO(done.out))
    assert [len(list(doc.sents))] == [1]
    assert trees(doc) == [(sentence.heads, sentence.deprels)]


def test_sentences_of_the_text_model_fit_the_tokens(toy_model: Path) -> None:
    nlp = make(toy_model)
    doc = nlp(TEXT)
    assert next(doc.sents)[0].text == "Hey"
    assert any(sent[0].text == "A" for sent in doc.sents)  # a paragraph begins a sentence
    assert all(sum(token.head == token for token in sent) == 1 for sent in doc.sents)
    assert [token.text for token in doc] == [token.text for token in nlp.make_doc(TEXT)]
    for token in doc:
        if token.is_space:
            assert (token.head.i, token.dep_) == (token.i - 1, "dep")


def test_a_border_within_a_token(toy_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = make(toy_model)
    doc = spacy.tokens.Doc(nlp.vocab, words=["\n", "Hey", "There.Yes", "Yes"], spaces=[False, True, True, False])
    found = [sent.text.strip() for sent in nlp(doc).sents]
    assert "".join(found).replace(" ", "") == "HeyThere.YesYes"
    cut = "1\tHey\t_\t_\t_\t_\t_\t_\t_\tTokenRange={}:{}\n\n"
    sentences = [next(conllu.read(io.StringIO(cut.format(a, a + 3)))) for a in (1, 11, 15)]
    monkeypatch.setattr(TextModel, "sentences", lambda *_, **__: iter(sentences))
    again = spacy.tokens.Doc(nlp.vocab, words=["\n", "Hey", "There.Yes", "Yes"], spaces=[False, True, True, False])
    assert [[token.text for token in sent] for sent in nlp(again).sents] == [["\n", "Hey", "There.Yes"], ["Yes"]]


ODD = ["", " ", " \n\n ", "\n\t \n", "🐕", "🐕 👩\u200d👧 !", "Yes", "  Yes", "\u00a0\u3000 x", "מה \u200f"]


@pytest.mark.parametrize("text", ODD)
def test_odd_texts(toy_model: Path, text: str) -> None:
    doc = make(toy_model)(text)
    assert doc.text == text
    assert doc.has_annotation("DEP", require_complete=True)
    assert all(sum(token.head == token for token in sent) == 1 for sent in doc.sents)
    assert all(token.head.sent == token.sent for token in doc)


def test_given_sentences_of_white_space(toy_model: Path) -> None:
    nlp = make(toy_model)
    words, starts = ["Yes", "\n", "\n\n", " ", "Hey", "There"], [True, True, False, True, False, False]
    doc = nlp(spacy.tokens.Doc(nlp.vocab, words=words, spaces=[False] * 6, sent_starts=starts))
    assert [sent.start for sent in doc.sents] == [0, 1, 3]
    assert arcs(doc)[:3] == [(0, "ROOT", True), (1, "ROOT", True), (1, "dep", False)]
    assert (doc[3].head.i, doc[3].dep_) == (4, "dep")  # leading white space depends on the first word


@pytest.mark.slow
def test_pipe_in_batches(toy_model: Path) -> None:
    nlp = make(toy_model)
    texts = [TEXT, "", "Yes", " ", "Hey There. Yes", "🐕 ."] * 5
    one_by_one = [arcs(nlp(text)) for text in texts]
    for size in (1, 4, 1000):
        assert [arcs(doc) for doc in nlp.pipe(texts, batch_size=size)] == one_by_one
    few = make(toy_model, batch_tokens=10, beam=1)
    assert [arcs(doc) for doc in few.pipe(iter(texts))] == one_by_one


@pytest.mark.slow
def test_saved_and_loaded(toy_model: Path, tmp_path: Path) -> None:
    gone = tmp_path / "model"
    shutil.copytree(toy_model, gone)
    (gone / "metrics.jsonl").write_text("not of the model")
    nlp = make(gone)
    before = arcs(nlp(TEXT))
    nlp.to_disk(tmp_path / "saved")
    content = nlp.to_bytes()
    config = nlp.config
    shutil.rmtree(gone)
    assert sorted(p.name for p in (tmp_path / "saved" / "g2g_parser").iterdir()) == sorted(
        p.name for p in toy_model.iterdir()
    )
    loaded = spacy.load(tmp_path / "saved")
    assert arcs(loaded(TEXT)) == before
    loaded.to_disk(tmp_path / "saved")  # onto itself
    loaded.to_disk(tmp_path / "again")
    assert arcs(spacy.load(tmp_path / "again")(TEXT)) == before
    from_bytes = spacy.util.load_model_from_config(config)
    from_bytes.from_bytes(content)
    assert arcs(from_bytes(TEXT)) == before
    from_bytes.to_disk(tmp_path / "third")
    assert arcs(spacy.load(tmp_path / "third")(TEXT)) == before


def test_with_other_components(toy_model: Path) -> None:
    nlp = make(toy_model, "sentencizer")
    doc = nlp("Yes. It saw.")
    assert [sent.text for sent in doc.sents] == ["Yes.", "It saw."]
    ruled = spacy.blank("en")
    ruled.add_pipe("attribute_ruler").add(patterns=[[{"ORTH": "dog"}]], attrs={"POS": "NOUN"})
    ruled.add_pipe("g2g_parser", config={"model": str(toy_model)})
    doc = ruled("dog saw")
    sentence = Sentence.from_words(["dog", "saw"]).with_columns({UPOS: ["NOUN", "_"], XPOS: ["_", "_"]})
    assert trees(doc) == expected(Parser.load(toy_model), [sentence])


def test_a_model_without_a_text_model(toy_model: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(toy_model, bare)
    (bare / "text.udpipe").unlink()
    nlp = make(bare)
    with pytest.warns(UserWarning, match="sentencizer"):
        doc = nlp("Hey There. Yes")
    assert len(list(doc.sents)) == 1
    assert trees(doc) == expected(Parser.load(bare), [Sentence.from_words(["Hey", "There", ".", "Yes"])])
    assert len(list(make(bare, "sentencizer")("Hey There. Yes").sents)) == 2


def test_mistakes(toy_model: Path, tmp_path: Path) -> None:
    nlp = make(tmp_path / "none")
    with pytest.raises(DataError, match="no such model directory"):
        nlp("Yes")
    with pytest.raises(DataError, match="no such model directory"):
        list(nlp.pipe(["Yes"]))
    with pytest.raises(DataError, match="is not a file of a model"):
        nlp.get_pipe("g2g_parser").from_bytes(b"\x81\xa4evil\xc4\x01x")
    failed: list[int] = []
    nlp.set_error_handler(lambda name, proc, docs, error: failed.append(len(docs)))
    assert list(nlp.pipe(["Yes", "No"])) == []
    assert failed == [2]


def test_displacy_draws_it(toy_model: Path) -> None:
    from spacy import displacy

    nlp = make(toy_model)
    picture = displacy.render(nlp("Hey There, dog ."), style="dep", jupyter=False, options={"collapse_punct": False})
    assert picture.startswith("<svg")
    assert picture.count('class="displacy-arrow"') == 4
    assert "ROOT" not in picture
    document = Document.from_conllu(TOY.read_text(encoding="utf-8"))
    assert displacy.render(document.to_spacy(), style="dep", jupyter=False).count("<svg") == 1
