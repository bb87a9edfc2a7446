"""Drafting: the trees are the same, with fewer batches."""

import pytest

from graph2graph.config import DecodeConfig
from graph2graph.decoding.greedy import Work, greedy
from graph2graph.models.features import Features
from graph2graph.parser.parser import Parser

pytestmark = pytest.mark.usefixtures("one_thread")


def test_drafts_change_nothing_but_the_number_of_batches(
    graph_parser: Parser, toy_features: list[Features], batches: list[int]
) -> None:
    found, n_batches, works = [], [], []
    for room in (0, 40, 100, 1000):
        batches.clear()
        works.append(Work())
        alone = [
            greedy(graph_parser.model, [one], DecodeConfig(draft_tokens=room), work=works[-1]) for one in toy_features
        ]
        found.append([(states.heads.tolist(), states.labels.tolist()) for states in alone])
        n_batches.append(len(batches))
    assert found[0] == found[1] == found[2] == found[3]
    assert n_batches[0] == works[0].n_encoded  # one at a time
    assert n_batches == sorted(n_batches, reverse=True)
    assert n_batches[3] < n_batches[0]
    assert works[3].n_encoded >= works[0].n_encoded  # some drafts are wasted
