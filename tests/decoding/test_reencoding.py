"""Re-encoding: what is encoded together makes no difference, and what is encoded again is what has changed."""

import math
from collections.abc import Sequence
from typing import Any
from unittest import mock

import numpy as np
import pytest

from graph2graph.config import DecodeConfig
from graph2graph.decoding.greedy import Decisions, Work, greedy
from graph2graph.decoding.reencoding import SentenceReencoder, _chunks
from graph2graph.models.features import Features
from graph2graph.parser.parser import Parser
from graph2graph.transition.state import Action
from graph2graph.transition.states import States, arcs_of
from graph2graph.treebank.sentence import Sentence

pytestmark = pytest.mark.usefixtures("one_thread")


def decoded(parser: Parser, features: Sequence[Features], decode: DecodeConfig) -> tuple[list[Any], Work]:
    work = Work()
    states = greedy(parser.model, features, decode, work=work)
    return [states.heads.tolist(), states.labels.tolist()], work


@pytest.mark.parametrize("threshold", [math.inf, 0.6, 0.0])
def test_the_trees_do_not_depend_on_the_budget(
    threshold: float, any_parser: Parser, toy_features: list[Features]
) -> None:
    runs = [
        decoded(any_parser, toy_features, DecodeConfig(reencode=threshold, batch_tokens=n)) for n in (1, 37, 100_000)
    ]
    (first, work), *others = runs
    for found, other in others:
        assert found == first
        assert (other.n_encoded, other.n_pieces) == (work.n_encoded, work.n_pieces)


def test_sentences_wait_for_each_other(
    graph_parser: Parser, toy_features: list[Features], toy: list[Sentence], batches: list[int]
) -> None:
    """Wherever the arcs of the sentences are, each batch has all sentences that one more arc made stale."""
    greedy(graph_parser.model, toy_features, DecodeConfig(draft_tokens=0))
    lengths = [len(sentence) for sentence in toy]
    assert batches == [sum(length > n_arcs for length in lengths) for n_arcs in range(max(lengths))]


def test_an_arc_makes_an_encoding_stale_and_a_shift_does_not(
    graph_parser: Parser, toy_features: list[Features]
) -> None:
    states, rows = States([toy_features[0].n_words]), np.zeros(1, dtype=np.int64)
    reencoder = SentenceReencoder(graph_parser.model, toy_features[:1], states, DecodeConfig(draft_tokens=0))
    for action, n_ready in ((Action.SHIFT, 1), (Action.SHIFT, 1), (Action.LEFT_ARC, 0)):
        focus, actions = states.focus, np.array([action])
        states.apply(rows, actions, rows)
        reencoder.advance(rows, focus, actions, rows, arcs_of(actions, focus))
        assert (~reencoder.is_waiting).sum() == n_ready
    assert reencoder.encode_waiting(rows) == rows
    assert reencoder.score(rows, states.focus, states.legal()).is_fresh.all()
    assert reencoder.n_encoded == 2


def test_scoring_changes_nothing(graph_parser: Parser, toy_features: list[Features]) -> None:
    """An unsure decision waits only once it is postponed."""
    states, rows = States([toy_features[0].n_words]), np.zeros(1, dtype=np.int64)
    decode = DecodeConfig(reencode=1.0, draft_tokens=0)
    reencoder = SentenceReencoder(graph_parser.model, toy_features[:1], states, decode)
    for action in (Action.SHIFT, Action.SHIFT, Action.LEFT_ARC):
        focus, actions = states.focus, np.array([action])
        states.apply(rows, actions, rows)
        reencoder.advance(rows, focus, actions, rows, arcs_of(actions, focus))
    legal = states.legal() | True  # of one legal action the parser would be sure
    for _ in range(2):
        assert not reencoder.score(rows, states.focus, legal).is_sure.any()
        assert not reencoder.is_waiting.any()
    reencoder.postpone(rows)
    assert reencoder.is_waiting.all()


def test_chunks_hold_similar_lengths_within_the_budget() -> None:
    lengths = np.random.default_rng(1).integers(1, 90, size=200)
    for budget in (1, 300, 4000):
        chunks = list(_chunks(np.arange(200), lengths, budget))
        assert sorted(np.concatenate(chunks).tolist()) == list(range(200))
        assert all(len(chunk) == 1 or len(chunk) * lengths[chunk].max() <= budget for chunk in chunks)


@pytest.mark.parametrize("threshold", [0.9, 0.5, 0.0])
def test_labels_that_nobody_waits_for_are_scored_together(
    threshold: float, graph_parser: Parser, toy_features: list[Features]
) -> None:
    model, decode = graph_parser.model, DecodeConfig(reencode=threshold)
    recorded: list[Decisions] = []  # these have their labels at once
    at_once = greedy(model, toy_features, decode, decisions=recorded)
    with mock.patch.object(model, "label_scores", wraps=model.label_scores) as scored:
        later = greedy(model, toy_features, decode)
    assert later.heads.tolist() == at_once.heads.tolist()
    assert later.labels.tolist() == at_once.labels.tolist()
    n_steps = sum(len(step.arcs.positions) > 0 for step in recorded)
    assert scored.call_count < n_steps if threshold else scored.call_count == 1
