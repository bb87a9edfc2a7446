"""What sentences give to a decoder, and what they get from it."""

from collections.abc import Sequence

import numpy as np
import pytest

from graph2graph.errors import DataError
from graph2graph.parser.annotation import given_arcs, with_tree
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.transition.constraints import NOT_ROOT
from graph2graph.transition.state import NO_NODE, ROOT
from graph2graph.treebank.sentence import Sentence

VOCABULARY = Vocabulary(["nsubj", "punct", "root"], [], "root")


def sentence(heads: Sequence[int | None], deprels: Sequence[str]) -> Sentence:
    words = Sentence.from_words([f"w{number}" for number, _ in enumerate(heads, 1)], sent_id="s1")
    return words.with_tree(heads, deprels)


def test_heads_and_labels_that_are_given() -> None:
    given = given_arcs(sentence([2, None, None, None, 2], ["nsubj", "root", "punct", "_", "new:label"]), VOCABULARY)
    assert given.heads.tolist() == [NO_NODE, 2, ROOT, NOT_ROOT, NO_NODE, 2]
    assert given.labels.tolist() == [NO_NODE, 0, 2, 1, NO_NODE, NO_NODE]


@pytest.mark.parametrize("heads", [[2, 1], [0, 0]])
def test_arcs_of_no_tree_are_an_error_that_names_the_sentence(heads: list[int]) -> None:
    with pytest.raises(DataError, match=r"^sentence s1: no tree has these arcs: "):
        given_arcs(sentence(heads, ["_", "_"]), VOCABULARY)


@pytest.mark.parametrize(
    ("keep", "deprels"), [(False, ["nsubj", "root", "punct"]), (True, ["new:label", "root", "nsubj"])]
)
def test_labels_are_kept_on_request(keep: bool, deprels: list[str]) -> None:
    old = sentence([None, None, None], ["new:label", "_", "nsubj"])
    heads, labels = np.array([NO_NODE, 2, 0, 2, NO_NODE]), np.array([NO_NODE, 0, 2, 1, NO_NODE])
    tree = with_tree(old, heads, labels, VOCABULARY, keep_labels=keep)
    assert (tree.heads, tree.deprels) == ([2, 0, 2], deprels)
