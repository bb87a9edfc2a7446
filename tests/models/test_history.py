"""Eq. 8: the history is an LSTM over the transitions, step by step as all at once."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graph2graph.models.history import START
from state_parsers import CLOSE, decoded, gold, state_parser
from strategies import trees

pytestmark = pytest.mark.usefixtures("one_thread")


@torch.no_grad()
def test_history_is_an_lstm_over_action_plus_label() -> None:
    parser = state_parser(skip=True)
    history = parser.model.history
    assert history is not None
    one = gold(parser, [2, 0, 2], np.random.default_rng(1))
    inputs = [history.actions.weight[START] + history.labels.weight[0]]
    for action, label in zip(one.actions, one.labels, strict=True):
        inputs.append(history.actions.weight[action] + history.labels.weight[1 + label if label >= 0 else 0])
    wanted, _ = history.lstm(torch.stack(inputs[:-1])[None])
    before = history.before_each(torch.tensor(one.actions)[None], torch.tensor(one.labels)[None] + 1)
    torch.testing.assert_close(before, wanted)


@given(forest=st.lists(trees(max_size=6), min_size=1, max_size=3), seed=st.integers(0, 10**6))
@settings(max_examples=10)
@torch.no_grad()
def test_history_step_by_step_equals_all_at_once(forest: list[list[int]], seed: int) -> None:
    parser = state_parser(skip=True)
    history = parser.model.history
    assert history is not None
    rng = np.random.default_rng(seed)
    examples = [gold(parser, heads, rng) for heads in forest]
    _, past = decoded(parser, examples)
    for one, step_by_step in zip(examples, past, strict=True):
        actions, labels = torch.tensor(one.actions)[None], torch.tensor(one.labels)[None] + 1
        before = history.before_each(actions, labels)[0]
        torch.testing.assert_close(torch.stack(step_by_step), before, **CLOSE)
