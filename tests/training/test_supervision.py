"""The decisions that encoded states supervise, and their weights."""

import numpy as np
import pytest

from graph2graph.parser.parser import Parser
from graph2graph.training.examples import Sample
from graph2graph.training.supervision import OWN_DECISIONS, Batch, GraphKind, StaleWeights, supervise, total_weight
from graph2graph.transition.state import NO_NODE
from toy_training import START, tiny_parser, toy_examples


def batch_of(parser: Parser, steps: list[int], stale: StaleWeights = OWN_DECISIONS) -> Batch:
    """These states of the first sentence."""
    return supervise([Sample(toy_examples(parser)[0], np.array(steps))], parser.config.model, stale)


def by_state_and_step(batch: Batch) -> dict[tuple[int, int], float]:
    decisions = batch.decisions
    return dict(zip(zip(decisions.encoded, decisions.steps, strict=True), decisions.weights, strict=True))


def test_a_decision_has_less_weight_for_each_arc_that_its_graph_lacks() -> None:
    parser = tiny_parser()
    batch = batch_of(
        parser, [0, 3], StaleWeights(0.5, 0.8)
    )  # the third action is an arc: step 3 is the first to see it
    [(example, _)] = batch.samples
    assert example.labels[2] != NO_NODE
    weights = by_state_and_step(batch)
    assert [weights[0, step] for step in range(6)] == [1, 1, 1, 0.5, 0.5, 0.5]
    next_arc = int((example.labels[3:] != NO_NODE).argmax()) + 3
    assert weights[1, 3] == weights[1, next_arc] == 1
    assert weights[1, next_arc + 1] == 0.8
    assert (1, 2) not in weights


def test_without_stale_weights_a_graph_supervises_the_decisions_up_to_the_next_arc() -> None:
    batch = batch_of(tiny_parser(), [0])
    assert batch.decisions.steps.tolist() == [0, 1, 2]
    assert set(batch.decisions.weights) == {1.0}


def test_a_state_supervises_later_transitions_too() -> None:
    parser = tiny_parser("state-g2g")
    weights = by_state_and_step(batch_of(parser, [0, 2], StaleWeights(0.0, 0.5)))
    assert [weights[0, step] for step in range(4)] == [1, 0.5, 0.25, 0.125]
    assert [weights[1, step] for step in range(2, 4)] == [1, 0.5]
    assert (1, 1) not in weights
    assert batch_of(parser, [0, 2]).decisions.steps.tolist() == [0, 2]  # as in the paper


def test_cls_supervises_its_own_decision_only() -> None:
    batch = batch_of(tiny_parser("state-g2cls"), [0, 2], StaleWeights(1.0, 1.0))
    assert batch.decisions.steps.tolist() == [0, 2]


def test_one_encoding_of_a_sentence_without_graph_supervises_all_decisions() -> None:
    batch = batch_of(tiny_parser("sent"), [0])
    assert batch.decisions.steps.tolist() == list(range(batch.samples[0].example.n_steps))
    assert set(batch.decisions.weights) == {1.0}
    assert set(batch.decisions.kinds) == {GraphKind.EXACT}


@pytest.mark.parametrize("variant", ["sent", "sent-g2g", "state-g2g"])
def test_decisions_know_their_sentence_and_their_encoded_state(variant: str) -> None:
    parser = tiny_parser(variant)
    samples = [Sample(example, START if variant == "sent" else np.array([0, 1])) for example in toy_examples(parser)]
    batch = supervise(samples, parser.config.model, StaleWeights(0.9, 0.9))
    owners = np.repeat(np.arange(len(samples)), [len(sample.steps) for sample in samples])
    assert (batch.decisions.sentences == owners[batch.decisions.encoded]).all()
    assert batch.n_encoded == len(owners)
    assert total_weight([batch]) == pytest.approx(
        sum(total_weight([supervise([one], parser.config.model, StaleWeights(0.9, 0.9))]) for one in samples)
    )
