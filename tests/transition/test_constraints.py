"""Constraints: any sequence of allowed actions ends with the given arcs, and there is always one."""

import sys
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph2graph.errors import DataError
from graph2graph.transition import constraints
from graph2graph.transition.constraints import NOT_ROOT, Constraint
from graph2graph.transition.state import NO_NODE, ROOT, Action
from strategies import trees


@pytest.mark.slow
@given(st.data(), trees(max_size=9))
@settings(max_examples=200)
def test_whatever_is_allowed_leads_to_the_given_arcs(data: st.DataObject, heads: list[int]) -> None:
    """Some action is always allowed, and any choice among them ends with all given arcs, and no root that was ruled out."""
    kept = data.draw(st.lists(st.sampled_from(["head", "label", "nothing"]), min_size=len(heads), max_size=len(heads)))
    wanted = [NO_NODE]
    for head, keep in zip(heads, kept, strict=True):
        by_label = NOT_ROOT if keep == "label" and head != ROOT else NO_NODE
        wanted.append(head if keep == "head" else by_label)
    constraints.check(wanted)
    constraint = Constraint(wanted)
    while not constraint.state.is_final:
        allowed = [action for action in Action if constraint.allowed[action]]
        assert allowed
        constraint.take(data.draw(st.sampled_from(allowed)))
    for word, head in enumerate(wanted):
        found = constraint.state.heads[word]
        assert head in (NO_NODE, found) or (head == NOT_ROOT and found != ROOT)


@given(trees(max_size=8))
def test_without_given_arcs_only_swaps_are_ever_forbidden(heads: list[int]) -> None:
    """From the start, with nothing given, only SHIFT is legal, and then no arc or shift is ever forbidden."""
    constraint = Constraint([NO_NODE] * (len(heads) + 1))
    while not constraint.state.is_final:
        legal = constraint.state.legal()
        assert all(constraint.allowed[action] for action in legal if action != Action.SWAP)
        constraint.take(legal[len(constraint.state.stack) % len(legal)] if Action.SWAP not in legal else legal[0])


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([-1, 0, 0], "both given as root"),
        ([-1, 2, 1], "circle"),
        ([-1, 2, 3, 1, 0], "circle"),
        ([-1, 1], "circle"),
        ([-1, 2, NOT_ROOT], "no word can be the root"),
    ],
)
def test_given_arcs_of_no_tree_are_refused(heads: list[int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        constraints.check(heads)


@given(st.data(), st.integers(1, 12))
def test_imposed_arcs_are_in_a_tree_that_keeps_the_others(data: st.DataObject, n_words: int) -> None:
    def tree() -> list[int]:
        """Heads of nodes 0..n: every word hangs on an earlier one in a random order."""
        order = data.draw(st.permutations(range(1, n_words + 1)))
        heads = [NO_NODE] * (n_words + 1)
        for index, word in enumerate(order):
            heads[word] = data.draw(st.sampled_from(order[:index])) if index else 0
        return heads

    heads, other = tree(), tree()
    kept = [NO_NODE] + [data.draw(st.sampled_from([head, head, NO_NODE, NOT_ROOT])) for head in other[1:]]
    kept = [NO_NODE if head == NOT_ROOT and other[word] == 0 else head for word, head in enumerate(kept)]
    if 0 not in kept and NO_NODE not in kept[1:]:
        kept[other.index(0)] = 0
    found = constraints.imposed(kept, heads)
    assert all(wanted in (NO_NODE, NOT_ROOT, head) for wanted, head in zip(kept, found, strict=True))
    assert all(head != 0 for wanted, head in zip(kept, found, strict=True) if wanted == NOT_ROOT)
    constraints.check(found)
    assert found.count(0) == 1
    if all(wanted == NO_NODE for wanted in kept):
        assert found == heads


def test_given_heads_are_checked_and_imposed_in_linear_time() -> None:
    """Both looked at every ancestor of every word; a chain of 200,000 words took hours."""
    chain = [NO_NODE, *range(2, 200_001), 0]
    constraints.check(chain)
    assert constraints.imposed(chain, [NO_NODE, 0, *range(1, 200_000)]) == chain


def n_calls(n_words: int) -> int:
    """Calls of functions while one of these words has a given head and 20 actions are taken."""
    found, constraint = 0, Constraint([NO_NODE] * n_words + [3])

    def count(frame: FrameType, event: str, arg: object) -> None:
        nonlocal found
        found += event == "call"

    sys.setprofile(count)
    try:
        for _ in range(20):
            constraint.take(next(action for action in Action if constraint.allowed[action]))
    finally:
        sys.setprofile(None)
    return found


def test_a_step_takes_time_linear_in_the_length_of_the_sentence() -> None:
    assert n_calls(400) < 3 * n_calls(200)
