"""The two tests of significance, against what is known about them."""

import itertools
import math

import numpy as np
import pytest

from graph2graph.analysis import significance
from graph2graph.treebank.sentence import Sentence


def exact_randomisation(ahead: list[int]) -> float:
    """All 2ⁿ shuffles."""
    sums = [
        abs(sum(s * a for s, a in zip(signs, ahead, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(ahead))
    ]
    return sum(total >= abs(sum(ahead)) for total in sums) / len(sums)


def exact_bootstrap(ahead: list[int]) -> float:
    """All nⁿ draws."""
    draws = list(itertools.product(ahead, repeat=len(ahead)))
    return sum(sum(draw) <= 0 for draw in draws) / len(draws)


@pytest.mark.parametrize("ahead", [[1, -1, 2, 0, 1], [3, 0, 0, -1], [1, 1, 1, 1, 1, -2], [0, 1]])
def test_against_all_there_are(ahead: list[int]) -> None:
    counts = np.array(ahead)
    # four standard errors of a share of 10,000
    assert significance.randomisation(counts) == pytest.approx(exact_randomisation(ahead), abs=0.02)
    assert significance.bootstrap(counts) == pytest.approx(exact_bootstrap(ahead), abs=0.02)


def test_equal_and_always_better_parsers() -> None:
    assert significance.bootstrap(np.zeros(3, dtype=np.int64)) == 1.0
    assert significance.randomisation(np.zeros(3, dtype=np.int64)) == 1.0
    assert significance.bootstrap(np.array([1, 1, 2, 1])) == 0.0


def test_many_sentences_follow_the_normal_law() -> None:
    rng = np.random.default_rng(0)
    ahead = rng.integers(-1, 2, 2000) + (rng.random(2000) < 0.015)
    z = ahead.sum() / math.sqrt(len(ahead) * ahead.var())
    expected = 0.5 * math.erfc(z / math.sqrt(2))
    assert 0.001 < expected < 0.2
    assert significance.bootstrap(ahead) == pytest.approx(expected, abs=0.02)
    assert significance.randomisation(ahead) == pytest.approx(2 * expected, abs=0.03)


def test_compare_counts_words_with_head_and_label() -> None:
    gold = [Sentence.from_words(["Dogs", "bark"]).with_tree([2, 0], ["nsubj", "root"])] * 50
    wrong = [gold[0].with_tree([2, 0], ["obj", "root"])] * 10 + gold[10:]
    assert significance.compare(gold, gold, gold).points == 0
    found = significance.compare(gold, wrong, gold)
    assert found.points == 10
    assert found.bootstrap < 0.001
    assert found.randomisation < 0.01
    assert significance.compare(gold, gold, wrong).bootstrap == 1
