"""The worked example of Appendix C, "Hey There .", as the paper draws it; relation ids: 1 to the dependent, 2 to the head."""

import io

import pytest
from walkthrough import InputRow, walk_through

from graph2graph.config import Config
from graph2graph.errors import DataError
from graph2graph.parser.parser import Parser
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence
from graph2graph.variants import VARIANTS

HEY = """\
1	Hey	_	INTJ	_	_	2	discourse	_	_
2	There	_	ADV	_	_	0	root	_	_
3	.	_	PUNCT	_	_	2	punct	_	_

"""
ACTIONS = ["SHIFT", "SHIFT", "LEFT-ARC", "SHIFT", "RIGHT-ARC", "RIGHT-ARC"]
DISCOURSE = {"head": 2, "dependent": 1, "label": "discourse", "action": "LEFT-ARC"}
PUNCT = {"head": 2, "dependent": 3, "label": "punct", "action": "RIGHT-ARC"}
ROOT = {"head": 0, "dependent": 2, "label": "root", "action": "RIGHT-ARC"}


@pytest.fixture(scope="module")
def hey() -> Sentence:
    [sentence] = conllu.read(io.StringIO(HEY))
    return sentence


def untrained(variant: str, sentence: Sentence, **encoder: int) -> Parser:
    shape = {"width": 8, "inner_width": 8, "layers": 1, "heads": 1, "vocab_size": 100} | encoder
    config = Config.parse({"model": VARIANTS[variant].model | {"encoder": shape}}, "test")
    return Parser.create(config, Vocabulary.of([sentence]), forms=sentence.forms)


def related(row: InputRow) -> dict[tuple[str, str], int]:
    """The pairs of tokens with a relation, and its id."""
    tokens = row["tokens"]
    return {
        (tokens[i], tokens[j]): number
        for i, ids in enumerate(row["relations"])
        for j, number in enumerate(ids)
        if number
    }


def test_sent_g2g(hey: Sentence) -> None:
    steps = walk_through(untrained("sent-g2g", hey), hey)
    assert [step["action"] for step in steps] == ACTIONS
    assert [step["adds"] for step in steps] == [None, None, DISCOURSE, None, PUNCT, ROOT]
    for number, step in enumerate(steps):
        [row] = step["rows"]
        assert row["tokens"] == ["CLS", "ROOT", "Hey", "There", ".", "SEP"]
        assert row["tags"] == ["", "", "INTJ", "ADV", "PUNCT", ""]
        assert row["segments"] == [0] * 6
        assert row["positions"] == list(range(6))
        assert row["labels"] == ["", "", "discourse" * (number > 2), "", "punct" * (number > 4), ""]
        arcs = {("There", "Hey"): 1, ("Hey", "There"): 2} if number > 2 else {}
        arcs |= {("There", "."): 1, (".", "There"): 2} if number > 4 else {}
        assert related(row) == arcs


def test_state_g2g(hey: Sentence) -> None:
    steps = walk_through(untrained("state-g2g", hey), hey)
    assert [(step["stack"], step["buffer"], step["deleted"]) for step in steps] == [
        ([0], [1, 2, 3], []),
        ([0, 1], [2, 3], []),
        ([0, 1, 2], [3], []),
        ([0, 2], [3], [1]),
        ([0, 2, 3], [], [1]),
        ([0, 2], [], [1, 3]),
    ]
    rows = [row for step in steps for row in step["rows"]]
    assert [" ".join(row["tokens"]) for row in rows] == [
        "CLS ROOT SEP Hey There . SEP",
        "CLS ROOT Hey SEP There . SEP",
        "CLS ROOT Hey There SEP . SEP",
        "CLS ROOT There SEP . SEP Hey",
        "CLS ROOT There . SEP SEP Hey",
        "CLS ROOT There SEP SEP Hey .",
    ]
    assert all(row["positions"] == list(range(len(row["tokens"]))) for row in rows)
    assert rows[5]["segments"] == [0, 0, 0, 0, 1, 2, 2]
    assert rows[5]["labels"] == ["", "", "", "", "", "discourse", "punct"]
    assert related(rows[2]) == {}
    assert related(rows[5]) == {("There", "Hey"): 1, ("Hey", "There"): 2, ("There", "."): 1, (".", "There"): 2}


def test_composition_reads_the_most_recent_dependent_of_each_head(hey: Sentence) -> None:
    steps = walk_through(untrained("state", hey), hey)
    assert [step["latest"] for step in steps] == [[], [], [], [DISCOURSE], [DISCOURSE], [PUNCT]]
    assert all(related(row) == {} and not any(row["labels"]) for step in steps for row in step["rows"])


def test_the_further_pieces_of_a_word_depend_on_its_first(hey: Sentence) -> None:
    parser = untrained("sent-g2g", hey, vocab_size=5)  # each letter is a piece
    [row] = walk_through(parser, hey)[0]["rows"]
    assert row["tokens"] == ["CLS", "ROOT", "H", "##e", "##y", "T", "##h", "##e", "##r", "##e", ".", "SEP"]
    assert row["labels"] == ["", "", "", "+", "+", "", "+", "+", "+", "+", "", ""]
    assert row["relations"][2] == [0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    assert [ids[2] for ids in row["relations"]] == [0, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0]


def test_a_long_sentence_has_several_rows() -> None:
    words = Sentence.from_words(["a"] * 20).with_tree([0, *range(1, 20)], ["root", *["a"] * 19])
    parser = untrained("sent-g2g", words, max_positions=12)
    steps = walk_through(parser, words)
    assert len(steps) == 40
    assert all(len(step["rows"]) > 2 for step in steps)
    assert steps[-1]["rows"][-1]["positions"][0] == 0


def test_an_unknown_label_is_refused(hey: Sentence) -> None:
    parser = untrained("sent-g2g", hey)
    with pytest.raises(DataError, match="does not know the label vocative"):
        walk_through(parser, hey.with_tree(hey.heads, ["vocative", "root", "punct"]))
