"""Documents: words are what the columns say, walks through the tree are walks, and every form of output agrees."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import graph2graph
from conftest import CONTRACTIONS, ROOT
from graph2graph.errors import DataError
from graph2graph.treebank import drawing
from graph2graph.treebank.document import Document, ParsedSentence
from graph2graph.treebank.sentence import LEMMA, Sentence
from strategies import trees

TOY = ROOT / "tests" / "data" / "toy.conllu"
TEXT = "Hey There. I don't think he saw it.\n\nIt isn't the issue today.\n"
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def nlp(toy_model: Path) -> Any:
    return graph2graph.load(toy_model)


@given(heads=trees())
def test_walks(heads: list[int]) -> None:
    bare = Sentence.from_words([f"w{i}" for i, _ in enumerate(heads)])
    sentence = ParsedSentence.of(bare.with_tree(heads, ["dep"] * len(heads)))
    words = sentence.words
    assert sentence.root.subtree == words
    assert sum(len(word.children) for word in words) == len(words) - 1
    for word in words:
        assert all(child.head_word == word for child in word.children)
        assert {w for w in words if word in [w, *w.ancestors]} == set(word.subtree)
        for other in words:
            path = word.path_to(other)
            assert (path[0], path[-1]) == (word, other)
            assert len(set(path)) == len(path)
            assert all(a.head_word == b or b.head_word == a for a, b in pairwise(path))


def test_words_are_the_columns() -> None:
    document = Document.from_conllu(CONTRACTIONS + TOY.read_text(encoding="utf-8"))
    assert document.to_conllu() == CONTRACTIONS + TOY.read_text(encoding="utf-8")
    assert len(document.sentences) == 9
    assert document.text.startswith("I don't think he saw it. It isn't the issue. A hearing")
    for sentence in document.sentences:
        assert [word.form for word in sentence.words] == sentence.forms
        assert [word.id for word in sentence.words] == list(range(1, len(sentence) + 1))
        assert [word.head for word in sentence.words] == sentence.heads
        assert [word.deprel for word in sentence.words] == sentence.deprels
        assert [word.lemma or "_" for word in sentence.words] == sentence.column(LEMMA)
    first = document.words[0]
    assert (first.upos, first.xpos, first.feats, first.misc) == ("PRON", "PRP", {"Case": "Nom"}, {})
    assert (first.start_char, first.end_char, str(first)) == (None, None, "I")
    assert document.words[6].misc == {"SpaceAfter": "No"}
    assert document.sentences[0].ranges[0][:2] == (2, 3)
    assert repr(document).startswith("Document('I don't think".replace("'I", '"I'))


def test_words_of_different_trees() -> None:
    first, second = Document.from_conllu(CONTRACTIONS).sentences
    with pytest.raises(DataError, match="not in one tree"):
        first.words[0].path_to(second.words[0])
    assert first.words[0] != second.words[0]
    bare = ParsedSentence.of(Sentence.from_words(["a", "b"]))
    assert bare.words[0].head_word is None
    assert bare.words[0].subtree == [bare.words[0]]
    with pytest.raises(DataError, match="has no root"):
        _ = bare.root
    with pytest.raises(DataError, match="cycle"):
        ParsedSentence.of(Sentence.from_words(["a", "b"]).with_tree([2, 1], ["x", "y"]))


def test_a_text_parsed(nlp: Any) -> None:
    document = nlp(TEXT)
    assert document.text == TEXT
    assert len(document.words) > 15
    for word in document.words:
        assert TEXT[word.start_char : word.end_char] == word.form
    assert [sentence.root.head for sentence in document.sentences] == [0] * len(document.sentences)
    assert "TokenRange" not in nlp(TEXT, ranges=False).to_conllu()


def test_how_to_parse_is_passed_on(nlp: Any) -> None:
    assert "ArcP" in nlp("Hey There.", probabilities=True).words[0].misc
    texts = ["", "Hey There.", " \n", TEXT] * 3
    plain = [d.to_conllu() for d in nlp.pipe(texts)]
    assert plain == [d.to_conllu() for d in nlp.pipe(texts, batch_tokens=7, beam=1)]
    stale = [[s.heads for s in d.sentences] for d in nlp.pipe(texts, reencode=0.0)]
    assert stale == [[s.heads for s in nlp.parse(d.sentences, reencode=0.0)] for d in nlp.pipe(texts)]
    with pytest.raises(TypeError):
        nlp("Yes", beams=3)


def test_json_is_that_of_the_command_line(g2g: Run, nlp: Any, toy_model: Path) -> None:
    lines = g2g("parse", "--model", toy_model, "--text", TEXT, "-f", "json").out.splitlines()
    document = nlp(TEXT)
    assert document.to_json() == [json.loads(line) for line in lines]
    assert json.loads(json.dumps(document.to_json())) == document.to_json()
    assert g2g("parse", "--model", toy_model, "--text", TEXT, "--ranges").out == document.to_conllu()


def test_pictures(nlp: Any) -> None:
    document = nlp(TEXT)
    [one] = nlp("Yes").sentences
    assert one.render() == one._repr_svg_() == drawing.svg(one) == nlp("Yes").render()
    whole = ET.fromstring(document.render().encode())
    frames = whole.findall("{http://www.w3.org/2000/svg}svg")
    assert len(frames) == len(document.sentences) > 1
    bottoms = [float(frame.get("y", "")) + float(frame.get("height", "")) for frame in frames]
    assert [float(frame.get("y", "")) for frame in frames] == [0.0, *bottoms[:-1]]
    assert bottoms[-1] == float(whole.get("height", ""))
    html = document._repr_html_()
    assert html.count("<svg") == len(frames)
    assert "<?xml" not in html
    assert ET.fromstring(nlp("").render().encode()) is not None
    assert nlp("")._repr_html_() == ""


def test_without_spacy_it_is_said() -> None:
    code = (
        "import sys; sys.modules['spacy'] = None\n"
        "from graph2graph.treebank.document import Document\n"
        "from graph2graph.errors import DataError\n"
        "try: Document('', []).to_spacy()\n"
        "except DataError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'graph2graph[spacy]'" in done.stdout
