"""Greedy decoding: Eq. 10 word for word, and the probabilities of what it decides."""

from collections.abc import Callable

import pytest
import torch

import naive_parser
from graph2graph.decoding.greedy import Decisions, Work, greedy
from graph2graph.models.features import Features
from graph2graph.models.step_state import StepState
from graph2graph.parser.parser import Parser
from graph2graph.transition.state import Action
from graph2graph.transition.states import States
from graph2graph.treebank.sentence import MISC, Sentence

pytestmark = pytest.mark.usefixtures("one_thread")


@torch.inference_mode()
def integrated(parser: Parser, features: Features) -> States:
    """Eq. 10 for one sentence: at every step, encode the graph so far, decide, add the arc."""
    model, states = parser.model, States([features.n_words])
    step_state = StepState(model, [features]) if model.config.input == "state" else None
    one = torch.zeros(1, dtype=torch.long)
    while not states.is_final.all():
        past = step_state.past if step_state else None
        if step_state:
            z = model.encode_states(states, step_state.vectors, one.numpy())
        else:
            z = model.encode_sentences(states, [features])
        focus = states.focus
        seen = torch.from_numpy(focus)
        action = model.action_scores(z, one, seen, torch.from_numpy(states.legal()), past).argmax(dim=1)
        label = model.label_scores(z, one, seen, action == Action.RIGHT_ARC, past).argmax(dim=1)
        states.apply(one.numpy(), action.numpy(), label.numpy())
        if step_state:
            step_state.advance(states, one.numpy(), action.numpy(), label.numpy(), focus)
    return states


def test_the_trees_are_those_of_equation_10(any_parser: Parser, toy_features: list[Features]) -> None:
    found = greedy(any_parser.model, toy_features)
    for row, one in enumerate(toy_features):
        expected, nodes = integrated(any_parser, one), slice(one.n_words + 1)
        assert found.heads[row, nodes].tolist() == expected.heads[0].tolist()
        assert found.labels[row, nodes].tolist() == expected.labels[0].tolist()


def test_the_naive_decoder_builds_the_same_trees(graph_parser: Parser, toy_features: list[Features]) -> None:
    """It shares nothing with this one but the weights and the classifiers."""
    expected = naive_parser.parse(graph_parser.model, toy_features)
    found = greedy(graph_parser.model, toy_features)
    assert found.heads.tolist() == expected.heads.tolist()
    assert found.labels.tolist() == expected.labels.tolist()


def test_probabilities_are_those_of_the_decisions(any_parser: Parser, toy: list[Sentence]) -> None:
    for sentence in toy[:5]:
        decisions: list[Decisions] = []
        greedy(any_parser.model, [any_parser.featurizer(sentence)], decisions=decisions)
        expected = {}
        for decided in decisions:
            [probabilities], [action] = decided.action_p, decided.actions
            assert probabilities.sum() == pytest.approx(1)
            assert probabilities.argmax() == action
            s2, s1, _ = decided.focus[0].tolist()
            if Action(action).is_arc:
                expected[s2 if action == Action.LEFT_ARC else s1] = (probabilities.max(), decided.label_p[0])
            else:
                assert decided.label_p[0] == 0
        [parsed] = any_parser.parse([sentence], probabilities=True)
        for word, row in enumerate(parsed.rows, 1):
            values = dict(item.split("=") for item in row[MISC].split("|"))
            assert float(values["ArcP"]) == pytest.approx(expected[word][0], abs=1e-3)
            assert float(values["LabelP"]) == pytest.approx(expected[word][1], abs=1e-3)
        [plain] = any_parser.parse([sentence])
        assert (parsed.heads, parsed.deprels) == (plain.heads, plain.deprels)


def test_the_observer_sees_every_state_before_its_action(
    parser_of: Callable[..., Parser], toy_features: list[Features]
) -> None:
    seen = list[tuple[list[int], int]]()
    work = Work(observer=lambda states, _, decided: seen.append((states.focus[0].tolist(), int(decided.actions[0]))))
    final = greedy(parser_of("sent").model, toy_features[:1], work=work)
    states = States([toy_features[0].n_words])
    for focus, action in seen:
        assert states.focus[0].tolist() == focus
        states.apply(torch.zeros(1, dtype=torch.long).numpy(), torch.tensor([action]).numpy())
    assert states.is_final.all()
    assert states.heads.tolist() == final.heads.tolist()
