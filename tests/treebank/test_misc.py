"""Offsets and probabilities are typed fields of a sentence; bad values in MISC are data, not errors."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph2graph.server.json_api import sentence_answer
from graph2graph.treebank import conllu, drawing
from graph2graph.treebank.document import Document
from graph2graph.treebank.misc import pairs
from graph2graph.treebank.sentence import MISC, Sentence

BAD = [
    "ArcP=abc",
    "ArcP=inf|LabelP=nan",
    "ArcP=-0.1|LabelP=1.5",
    "ArcP=|LabelP=0x1",
    f"TokenRange={'9' * 5000}:{'9' * 5001}",
    "TokenRange=7:4",
    "TokenRange=a:b",
    "TokenRange=-1:2",
    "TokenRange=٣:٤",
    "TokenRange=3",
    "TokenRange",
    "ArcP|LabelP",
]


def sentence_with(*cells: str, ranges: str = "") -> Sentence:
    rows = [f"{i}\tw{i}\t_\t_\t_\t_\t{i - 1}\tdep\t_\t{cell}\n" for i, cell in enumerate(cells, 1)]
    [sentence] = conllu.read(io.StringIO(ranges + "".join(rows) + "\n"))
    return sentence


@pytest.mark.parametrize("cell", BAD)
def test_bad_values_are_kept_and_ignored(cell: str) -> None:
    sentence = sentence_with(cell, "SpaceAfter=No")
    assert (sentence.spans, sentence.start_char, sentence.probabilities) == ((), None, ())
    assert sentence.column(MISC) == [cell, "SpaceAfter=No"]
    [word, _] = Document.of("", [sentence]).words
    assert (word.start_char, word.end_char, word.probability) == (None, None, None)
    for values in (sentence.to_json(), sentence_answer(sentence)):
        assert json.loads(json.dumps(values, allow_nan=False)) == values
        assert values["words"][0]["misc"] == cell
    assert sentence_answer(sentence)["words"][0]["arc_p"] is None
    assert drawing.text(sentence).count("dep") == 2
    assert drawing.svg(sentence).startswith("<?xml")


@pytest.mark.parametrize("cell", BAD)
def test_bad_values_do_not_reach_spacy(cell: str) -> None:
    pytest.importorskip("spacy")
    assert [token.text for token in Document.of("", [sentence_with(cell, "_")]).to_spacy()] == ["w1", "w2"]


@given(st.text("TokenRangeArcPLabelP=0123456789:|.-einf", min_size=1, max_size=60))
def test_any_misc_is_read(cell: str) -> None:
    sentence = sentence_with(cell)
    assert sentence.column(MISC) == [cell]
    json.dumps(sentence_answer(sentence), allow_nan=False)


def test_values_are_fields() -> None:
    sentence = sentence_with("TokenRange=3:5|ArcP=0.5", "LabelP=1|SpaceAfter=No", "_")
    assert sentence.spans == [(3, 5), None, None]
    assert sentence.start_char == 3
    assert sentence.probabilities == [(0.5, None), (None, 1.0), None]
    first, second, _ = Document.of("", [sentence]).words
    assert (first.start_char, first.end_char, second.start_char) == (3, 5, None)
    assert (
        sentence_answer(sentence)["words"][0] | {"start_char": 3, "end_char": 5, "arc_p": 0.5, "label_p": None}
        == (sentence_answer(sentence)["words"][0])
    )


def test_a_multiword_token_gives_its_words_spans_if_they_spell_it() -> None:
    spelt = sentence_with("_", "_", ranges="1-2\tw1w2\t_\t_\t_\t_\t_\t_\t_\tTokenRange=7:11\n")
    assert (spelt.spans, spelt.start_char) == ([(7, 9), (9, 11)], 7)
    other = sentence_with("_", "_", ranges="1-2\tzum\t_\t_\t_\t_\t_\t_\t_\tTokenRange=7:10\n")
    assert (other.spans, other.start_char) == ((), 7)


def test_fields_follow_the_column() -> None:
    sentence = sentence_with("TokenRange=3:5", "ArcP=0.5")
    assert sentence.with_tree([2, 0], ["a", "b"]).spans == sentence.spans
    changed = sentence.with_columns({MISC: ["_", "TokenRange=1:2"]})
    assert (changed.spans, changed.start_char, changed.probabilities) == ([None, (1, 2)], None, ())
    assert sentence.with_columns({MISC: ["_", "_"]}).spans == ()


def test_pairs_of_a_cell() -> None:
    assert pairs("SpaceAfter=No|Gloss") == {"SpaceAfter": "No", "Gloss": ""}
    assert pairs("_") == {}
