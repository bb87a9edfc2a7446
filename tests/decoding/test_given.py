"""Given arcs and labels are in the tree, whatever the model thinks of them."""

import io
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from graph2graph.errors import DataError
from graph2graph.parser.parser import Parser
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

pytestmark = pytest.mark.usefixtures("one_thread")


def trees(sentences: Iterable[Sentence]) -> list[Any]:
    return [(sentence.heads, sentence.deprels) for sentence in sentences]


def without_tree(sentence: Sentence) -> Sentence:
    return sentence.with_tree([None] * len(sentence), ["_"] * len(sentence))


def test_given_arcs_and_labels_are_kept(any_parser: Parser, toy: list[Sentence]) -> None:
    rng = np.random.default_rng(0)
    partial = []
    for sentence in toy:
        keep = rng.random(len(sentence)) < 0.4
        heads = [head if k else None for head, k in zip(sentence.heads, keep, strict=True)]
        labels = [label if k else "_" for label, k in zip(sentence.deprels, keep, strict=True)]
        partial.append(sentence.with_tree(heads, labels))
    for given, parsed in zip(partial, any_parser.parse(partial, keep_arcs=True), strict=True):
        assert parsed.parsed
        assert all(old in (None, new) for old, new in zip(given.heads, parsed.heads, strict=True))
        assert all(old in ("_", new) for old, new in zip(given.deprels, parsed.deprels, strict=True))


def test_a_whole_tree_is_kept_as_it_is_and_an_empty_one_changes_nothing(
    any_parser: Parser, toy: list[Sentence]
) -> None:
    everything = list(any_parser.parse(toy, keep_arcs=True))
    assert ["".join(sentence.lines) for sentence in everything] == ["".join(sentence.lines) for sentence in toy]
    nothing = list(map(without_tree, toy))
    assert trees(any_parser.parse(nothing, keep_arcs=True)) == trees(any_parser.parse(nothing))


def test_a_label_without_its_head_is_kept_too(any_parser: Parser, toy: list[Sentence]) -> None:
    """The root's makes its word the root, and no other word with a label becomes it."""
    labels_only = [sentence.with_tree([None] * len(sentence), sentence.deprels) for sentence in toy]
    for sentence, parsed in zip(toy, any_parser.parse(labels_only, keep_arcs=True), strict=True):
        assert parsed.deprels == sentence.deprels
        assert [head == 0 for head in parsed.heads] == [label == "root" for label in sentence.deprels]
    others = []
    for sentence in toy:
        if sentence.heads[0] != 0 and len(sentence) > 1:
            labels = ["_" if label == "root" else label for label in sentence.deprels]
            others.append(sentence.with_tree([None] * len(sentence), ["_", *labels[1:]]))
    for sentence, parsed in zip(others, any_parser.parse(others, keep_arcs=True), strict=True):
        assert sentence.deprels[parsed.heads.index(0)] == "_"


def test_an_unknown_label_is_kept_and_a_cycle_is_refused(graph_parser: Parser) -> None:
    [sentence] = conllu.read(
        io.StringIO("# sent_id = odd\n1\tYes\t_\t_\t_\t_\t2\tnew:label\t_\t_\n2\t.\t_\t_\t_\t_\t_\t_\t_\t_\n\n")
    )
    [parsed] = graph_parser.parse([sentence], keep_arcs=True)
    assert parsed.heads == [2, 0]
    assert parsed.deprels[0] == "new:label"
    cycle = sentence.with_tree([2, 1], ["a", "b"])
    with pytest.raises(DataError, match=r"sentence odd: no tree has these arcs"):
        list(graph_parser.parse([cycle], keep_arcs=True))


def test_sentences_without_given_arcs_may_be_in_the_same_batch(
    parser_of: Callable[..., Parser], toy: list[Sentence]
) -> None:
    parser, free = parser_of("sent-g2g"), list(map(without_tree, toy[1:]))
    first, *others = parser.parse([toy[0], *free], keep_arcs=True)
    assert trees([first]) == trees(toy[:1])
    assert trees(others) == trees(parser.parse(free))
