"""Laws of the batched states: each row is what `State` is for one sentence; arcs are derived in one place."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph2graph.transition.state import NO_NODE, Action, State, arc_of
from graph2graph.transition.states import States, arcs_of, is_arc

SHIFT, _, RIGHT_ARC, _ = Action
policies = st.lists(st.integers(0, 11), min_size=1, max_size=60)  # choices among the legal actions, over and over again


def test_arcs_are_those_of_the_scalar_form() -> None:
    rng = np.random.default_rng(1)
    actions, focus = rng.integers(len(Action), size=50), rng.integers(100, size=(50, 3))
    found = arcs_of(actions, focus)
    wanted = [arc_of(action, tuple(words)) for action, words in zip(actions.tolist(), focus.tolist(), strict=True)]
    assert is_arc(actions).tolist() == [arc is not None for arc in wanted]
    assert found.positions.tolist() == [position for position, arc in enumerate(wanted) if arc]
    assert list(zip(found.heads.tolist(), found.dependents.tolist(), strict=True)) == [arc for arc in wanted if arc]


@given(st.integers(0, 6), policies, st.integers(0, 30))
def test_an_illegal_action_raises_and_changes_nothing(n_words: int, policy: list[int], n_steps: int) -> None:
    state = State(n_words)
    batch = States([n_words])
    for step in range(n_steps):
        legal = state.legal()
        for action in set(Action) - set(legal):
            before = [state.stack.copy(), state.buffer.copy(), state.heads.copy(), state.labels.copy()]
            with pytest.raises(ValueError, match=f"{action.title} is not legal in stack"):
                state.apply(action)
            assert [state.stack, state.buffer, state.heads, state.labels] == before
            with pytest.raises(ValueError, match=f"{action.title} is not legal in row 0"):
                batch.apply(np.array([0]), np.array([action]))
            assert_equal(batch, 0, state)
        if not legal:
            break
        action = legal[policy[step % len(policy)] % len(legal)]
        state.apply(action)
        batch.apply(np.array([0]), np.array([action]))


def assert_equal(batch: States, row: int, state: State) -> None:
    """That a row of the batch is in this state, in every respect."""
    n_words = len(state.heads) - 1
    assert batch.n_words[row] == n_words
    assert batch.stack[row, : batch.stack_size[row]].tolist() == state.stack
    assert batch.buffer[row, : batch.buffer_size[row]].tolist() == state.buffer
    assert tuple(batch.focus[row].tolist()) == state.focus
    assert batch.is_final[row] == state.is_final
    assert [Action(number) for number in np.flatnonzero(batch.legal()[row])] == state.legal()
    assert batch.heads[row, : n_words + 1].tolist() == state.heads
    labels = [NO_NODE if label is None else int(label) for label in state.labels]
    assert batch.labels[row, : n_words + 1].tolist() == labels
    assert (batch.heads[row, n_words + 1 :] == NO_NODE).all()
    assert (batch.labels[row, n_words + 1 :] == NO_NODE).all()


@pytest.mark.slow
@given(st.lists(st.integers(0, 7), max_size=5), st.randoms(use_true_random=False))
@settings(max_examples=150)
def test_the_batched_form_equals_the_plain_one(lengths: list[int], rng: random.Random) -> None:
    """Step by step, rows of any length, some moving on while others wait or are at their end."""
    batch, states = States(lengths), [State(n_words) for n_words in lengths]
    assert len(batch) == len(lengths)
    while not all(state.is_final for state in states):
        moving = [row for row, state in enumerate(states) if not state.is_final and rng.random() < 0.7]
        rng.shuffle(moving)
        actions = [rng.choice(states[row].legal()) for row in moving]
        labels = [rng.randrange(50) for _ in moving]
        batch.apply(*(np.array(values, dtype=np.int64) for values in (moving, actions, labels)))
        for row, action, label in zip(moving, actions, labels):
            states[row].apply(action, str(label))
        for row, state in enumerate(states):
            assert_equal(batch, row, state)
    assert batch.is_final.all()
    assert not batch.legal().any()


def test_batched_labels_may_be_left_out() -> None:
    batch = States([1, 1])
    both = np.array([0, 1])
    batch.apply(both, np.array([SHIFT, SHIFT]))
    batch.apply(both, np.array([RIGHT_ARC, RIGHT_ARC]))
    assert batch.is_final.all()
    assert batch.heads.tolist() == [[-1, 0], [-1, 0]]
    assert batch.labels.tolist() == [[-1, -1], [-1, -1]]
