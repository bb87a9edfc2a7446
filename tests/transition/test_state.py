"""Laws of the transition system: any legal sequence ends in a single-rooted tree."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph2graph.transition.state import NO_NODE, ROOT, Action, State
from graph2graph.treebank.sentence import cycles

SHIFT, LEFT_ARC, RIGHT_ARC, SWAP = Action

# A policy is a list of numbers: the choice among the legal actions, modulo how many there are, over and over again.
policies = st.lists(st.integers(0, 11), min_size=1, max_size=60)


def play(n_words: int, policy: list[int]) -> tuple[State, list[Action]]:
    state, actions = State(n_words), []
    while not state.is_final:
        legal = state.legal()
        assert legal, "a state that is not the end has a legal action"
        actions.append(legal[policy[len(actions) % len(policy)] % len(legal)])
        state.apply(actions[-1], label=f"label {len(actions)}")
    return state, actions


def is_single_rooted_tree(heads: list[int]) -> bool:
    """Whether every word comes to ROOT by its heads, and just one at once."""
    n_words = len(heads)
    return (
        heads.count(ROOT) == 1 and all(ROOT <= head <= n_words for head in heads) and next(cycles(heads), None) is None
    )


@pytest.mark.slow
@given(st.integers(1, 12), policies)
@settings(max_examples=400)
def test_any_legal_sequence_ends_in_one_single_rooted_tree(n_words: int, policy: list[int]) -> None:
    state, actions = play(n_words, policy)
    assert is_single_rooted_tree(state.heads[1:])
    assert state.heads[ROOT] == NO_NODE
    assert state.labels[ROOT] is None
    assert None not in state.labels[1:]
    assert len(set(state.labels)) == n_words + 1
    n_swaps = actions.count(SWAP)
    assert len(actions) == 2 * n_words + 2 * n_swaps
    assert n_swaps <= n_words * (n_words - 1) // 2
    assert actions[-1] == RIGHT_ARC
    assert state.legal() == []


@given(st.integers(1, 8))
def test_swapping_whenever_possible_ends(n_words: int) -> None:
    """The longest sequence: every two words are swapped, once."""
    state, n_swaps = State(n_words), 0
    while not state.is_final:
        action = next(action for action in (SWAP, SHIFT, LEFT_ARC, RIGHT_ARC) if state.is_legal(action))
        n_swaps += action == SWAP
        state.apply(action)
    assert n_swaps == n_words * (n_words - 1) // 2


@pytest.mark.parametrize("n_words", [1, 2, 3, 4, 5])
def test_every_state_that_can_be_reached(n_words: int) -> None:
    """All of them, by brute force: none without a legal action, each end a single-rooted tree, each tree reached."""
    waiting: list[tuple[Action, ...]] = [()]
    seen, trees = set(), set()
    while waiting:
        actions = waiting.pop()
        state = State(n_words)
        for action in actions:
            state.apply(action)
        key = (tuple(state.stack), tuple(state.buffer), tuple(state.heads))
        if key in seen:
            continue
        seen.add(key)
        if state.is_final:
            assert is_single_rooted_tree(state.heads[1:])
            trees.add(tuple(state.heads[1:]))
        else:
            assert state.legal()
        waiting += [(*actions, action) for action in state.legal()]
    assert len(trees) == n_words ** (n_words - 1)  # Cayley: every rooted tree over n words


def test_rules_of_each_action() -> None:
    state = State(3)
    assert state.focus == (NO_NODE, ROOT, 1)
    assert state.legal() == [SHIFT]  # ROOT alone: no arc, no swap
    state.apply(SHIFT)
    assert state.legal() == [SHIFT]  # s2 is ROOT and the buffer is not empty: no arc from ROOT yet
    state.apply(SHIFT)
    assert state.focus == (1, 2, 3)
    assert state.legal() == [SHIFT, LEFT_ARC, RIGHT_ARC, SWAP]
    state.apply(SWAP)
    assert (state.stack, state.buffer) == ([ROOT, 2], [3, 1])
    state.apply(SHIFT)
    assert state.legal() == [SHIFT, LEFT_ARC, RIGHT_ARC]  # 2 and 1 have been swapped once
    state.apply(RIGHT_ARC, "a")
    assert state.heads == [-1, 2, -1, -1]
    state.apply(SHIFT)
    assert state.legal() == [LEFT_ARC, RIGHT_ARC, SWAP]
    state.apply(LEFT_ARC, "b")
    assert state.legal() == [RIGHT_ARC]
    state.apply(RIGHT_ARC, "root")
    assert state.is_final
    assert (state.heads, state.labels) == ([-1, 2, 3, 0], [None, "a", "b", "root"])
    assert state.focus == (NO_NODE, ROOT, NO_NODE)


def test_titles() -> None:
    assert [action.title for action in Action] == ["SHIFT", "LEFT-ARC", "RIGHT-ARC", "SWAP"]
