"""No head gets a second subject or object if that is asked for; nothing else changes."""

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from graph2graph.decoding.one_subject import OneSubject
from graph2graph.parser.parser import Parser
from graph2graph.treebank.core_arguments import repeated_arguments
from graph2graph.treebank.sentence import Sentence
from tiny_parsers import TOY, wild

pytestmark = pytest.mark.usefixtures("one_thread")

LABELS = ["det", "nsubj", "csubj:pass", "nsubj:outer", "obj"]


def n_repeated(sentences: list[Sentence]) -> int:
    return sum(len(list(repeated_arguments(one.heads, one.deprels))) for one in sentences)


@pytest.fixture
def eager(request: pytest.FixtureRequest) -> Iterator[Parser]:
    """A parser that likes to call everything a subject or an object."""
    parser = wild("sent-g2g" if not hasattr(request, "param") else request.param, max_positions=24)
    labels, bias = parser.vocabulary.label_ids, parser.model.relation.out.bias
    before = bias.detach().clone()
    with torch.no_grad():
        for name in ("nsubj", "obj"):
            bias[labels[name]] += 8
    yield parser
    with torch.no_grad():
        bias.copy_(before)


@pytest.mark.parametrize("eager", ["sent", "sent-g2g", "state-g2g-c"], indirect=True)
@pytest.mark.parametrize("options", [{}, {"reencode": 0.5}, {"beam": 3}, {"probabilities": True}], ids=str)
def test_no_head_has_two(eager: Parser, options: dict[str, object]) -> None:
    bare = [sentence.with_tree([None] * len(sentence), ["_"] * len(sentence)) for sentence in TOY]
    free, found = list(eager.parse(bare, **options)), list(eager.parse(bare, one_subject=True, **options))
    assert n_repeated(free) > 2
    assert n_repeated(found) == 0
    assert all(one.heads.count(0) == 1 for one in found)


@pytest.mark.filterwarnings("ignore:sentence .* longer than")
@pytest.mark.parametrize("options", [{}, {"beam": 3}], ids=str)
def test_no_head_of_a_long_sentence_has_two(eager: Parser, options: dict[str, object]) -> None:
    """Not even one in a later part than the other."""
    long = [Sentence.from_words(["dog"] * 90)]
    assert n_repeated(list(eager.parse(long, **options)))
    assert n_repeated(list(eager.parse(long, one_subject=True, **options))) == 0


def test_given_arcs_win_and_count(eager: Parser) -> None:
    """A given second subject stays; a given first one, even of a word to the right, keeps the decoder from adding one."""
    sentence = Sentence.from_words(["the", "dog", "sees", "a", "cat", "now"])
    twice = sentence.with_tree([3, 3, 0, None, None, None], ["nsubj", "nsubj", "root", "_", "_", "_"])
    [found] = eager.parse([twice], keep_arcs=True, one_subject=True)
    assert (found.heads[:2], found.deprels[:2]) == ([3, 3], ["nsubj", "nsubj"])
    last = sentence.with_tree([3, 3, 0, 3, 3, 3], ["_"] * 5 + ["nsubj"])
    [free] = eager.parse([last], keep_arcs=True)
    [found] = eager.parse([last], keep_arcs=True, one_subject=True)
    assert n_repeated([free]) > n_repeated([found]) == 0
    assert found.deprels[5] == "nsubj"


def test_a_parser_that_repeats_nothing_gives_the_same_trees(parser_of: Callable[..., Parser]) -> None:
    parser = parser_of("sent-g2g")
    free = list(parser.parse(TOY))
    found = list(parser.parse(TOY, one_subject=True))
    for one, other in zip(free, found, strict=True):
        if not n_repeated([one]):
            assert one.lines == other.lines


def test_only_second_ones_are_not_legal() -> None:
    rule = OneSubject(LABELS, 2, 4)
    rows, heads = np.array([0, 0, 1]), np.array([2, 3, 2])
    rule.mark(np.array([0, 1]), np.array([2, 2]), np.array([1, 3]))  # a subject; an outer subject, which never counts
    is_legal = rule.restrict(torch.zeros(3, len(LABELS)), rows, heads) > -math.inf
    assert is_legal.tolist() == [[True, False, False, True, True], [True] * 5, [True] * 5]


def test_some_label_is_always_legal() -> None:
    rule = OneSubject(["nsubj", "csubj"], 1, 3)
    rule.mark(np.zeros(1, dtype=np.int64), np.array([2]), np.array([0]))
    scores = torch.tensor([[1.0, -math.inf]])
    assert rule.restrict(scores, np.array([0]), np.array([2])).tolist() == scores.tolist()
