"""Beam search: a beam of one is greedy decoding, a wider one finds no worse trees."""

import io
import math
from itertools import pairwise

import pytest

from graph2graph.config import DecodeConfig
from graph2graph.decoding.beam import Hypothesis, beam_search
from graph2graph.decoding.greedy import Decisions, greedy
from graph2graph.models.features import Features
from graph2graph.parser.parser import Parser
from graph2graph.transition.states import is_arc
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

pytestmark = pytest.mark.usefixtures("one_thread")


def greedy_score(parser: Parser, features: Features) -> float:
    """The log probability of the actions and labels of the greedy tree."""
    decisions: list[Decisions] = []
    greedy(parser.model, [features], decisions=decisions)
    total = 0.0
    for decided in decisions:
        total += math.log(decided.action_p[0, decided.actions[0]])
        if is_arc(decided.actions)[0]:
            total += math.log(decided.label_p[0])
    return total


def test_a_beam_of_one_is_greedy_decoding(any_parser: Parser, toy_features: list[Features]) -> None:
    expected = greedy(any_parser.model, toy_features)
    for row, (one, [only]) in enumerate(zip(toy_features, beam_search(any_parser.model, toy_features, 1), strict=True)):
        nodes = slice(one.n_words + 1)
        assert only.heads.tolist() == expected.heads[row, nodes].tolist()
        assert only.labels.tolist() == expected.labels[row, nodes].tolist()
        assert only.score == pytest.approx(greedy_score(any_parser, one), abs=1e-3)
        assert only.share == 1


def test_a_wider_beam_gives_different_trees_in_the_order_of_their_scores(
    any_parser: Parser, toy: list[Sentence], toy_features: list[Features]
) -> None:
    wide = beam_search(any_parser.model, toy_features, 4)
    for sentence, one, found in zip(toy, toy_features, wide, strict=True):
        assert 1 <= len(found) <= 4
        assert all(better.score >= worse.score for better, worse in pairwise(found))
        assert found[0].score >= greedy_score(any_parser, one) - 1e-3
        assert sum(hypothesis.share for hypothesis in found) == pytest.approx(1)
        assert len({(*hypothesis.heads, *hypothesis.labels) for hypothesis in found}) == len(found)
        for hypothesis in found:
            tree = sentence.with_tree(hypothesis.heads[1:].tolist(), ["x"] * len(sentence))
            list(conllu.read(io.StringIO("".join(tree.lines))))  # checks that it is a tree
    assert any(len(found) > 1 for found in wide)


@pytest.mark.parametrize("threshold", [math.inf, 0.6])
def test_sentences_in_a_batch_do_not_influence_each_other(
    threshold: float, any_parser: Parser, toy_features: list[Features]
) -> None:
    def heads(found: list[Hypothesis]) -> list[list[int]]:
        return [hypothesis.heads.tolist() for hypothesis in found]

    decode = DecodeConfig(reencode=threshold)
    together = beam_search(any_parser.model, toy_features, 4, decode)
    alone = [beam_search(any_parser.model, [one], 4, decode)[0] for one in toy_features]
    assert list(map(heads, together)) == list(map(heads, alone))
