"""Training examples: the gold transitions and the states along them."""

import numpy as np
import pytest

from graph2graph.transition.state import Action
from graph2graph.transition.states import States
from graph2graph.treebank import conllu
from toy_training import TOY, tiny_parser, toy_examples


@pytest.mark.parametrize("variant", ["sent", "state"])
def test_an_example_is_the_way_to_its_tree(variant: str) -> None:
    parser = tiny_parser(variant)
    for sentence, example in zip(conllu.read(TOY), toy_examples(parser), strict=True):
        assert example.heads[1:].tolist() == sentence.tree
        assert [parser.vocabulary.labels[label] for label in example.deprels[1:]] == sentence.deprels
        states = States([len(sentence)])
        for step in range(example.n_steps):
            at = example.states_at(np.array([step]))
            assert (states.heads == at.heads).all()
            assert (states.labels == at.labels).all()
            assert (states.focus == example.focus[step]).all()
            assert (states.legal() == example.legal[step]).all()
            if variant == "state":
                assert (at.focus == example.focus[step]).all()
            states.apply(np.array([0]), example.actions[[step]], example.labels[[step]])
        assert states.is_final.all()


def test_missing_arcs_are_counted_from_the_encoded_state() -> None:
    [example, *_] = toy_examples(tiny_parser())
    is_arc = [action in (Action.LEFT_ARC, Action.RIGHT_ARC) for action in example.actions]
    for first in range(example.n_steps):
        [arcs] = example.missing_arcs(np.array([first]))
        for step in range(first, example.n_steps):
            assert arcs[step] == sum(is_arc[first:step])
        assert example.is_empty_at(np.array([first])) == (not any(is_arc[:first]))


def test_only_state_models_keep_stack_and_buffer() -> None:
    assert all(example.states is None for example in toy_examples(tiny_parser("sent-g2g")))
    assert all(example.states is not None for example in toy_examples(tiny_parser("state-g2g")))
