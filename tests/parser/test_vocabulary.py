"""Labels and tags of a treebank."""

import io
from pathlib import Path

import pytest

from graph2graph.errors import DataError
from graph2graph.files import write_json
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

TREEBANK = """\
1	Dogs	dog	NOUN	NNS	_	2	nsubj	_	_
2	bark	bark	VERB	VBP	_	0	root	_	_

1	Yes	yes	INTJ	UH	_	0	root	_	_
2	!	!	_	.	_	1	punct	_	_

"""


def sentences(text: str = TREEBANK) -> list[Sentence]:
    return list(conllu.read(io.StringIO(text)))


@pytest.mark.parametrize(
    ("column", "tags"), [("upos", ["INTJ", "NOUN", "VERB"]), ("xpos", [".", "NNS", "UH", "VBP"]), ("none", [])]
)
def test_labels_and_tags_are_sorted(column: str, tags: list[str], tmp_path: Path) -> None:
    vocabulary = Vocabulary.of(sentences(), column)
    assert vocabulary == Vocabulary(["nsubj", "punct", "root"], tags, "root")
    assert vocabulary.label_ids == {"nsubj": 0, "punct": 1, "root": 2}
    assert vocabulary.label_ids[vocabulary.root_label] == 2
    write_json(tmp_path / "labels.json", vocabulary.to_json())
    assert Vocabulary.read(tmp_path / "labels.json") == vocabulary


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0	root	_	_\n\n1", "0	top	_	_\n\n1", "for no others, found root, top$"),
        ("nsubj", "root", "found root, of which root on other arcs too"),
        ("0	root", "_	root", "found none$"),
    ],
)
def test_arcs_from_root_have_one_label_that_no_other_arc_has(old: str, new: str, message: str) -> None:
    assert old in TREEBANK
    with pytest.raises(DataError, match=message):
        Vocabulary.of(sentences(TREEBANK.replace(old, new)))


def test_a_treebank_of_single_words_is_refused() -> None:
    with pytest.raises(DataError, match="every sentence has a single word"):
        Vocabulary.of(sentences("1	Yes	_	_	_	_	0	root	_	_\n\n"))
