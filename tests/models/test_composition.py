"""Eq. 11 and 12: composition in training and in decoding is that of the paper's list of cases, written out by position."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from graph2graph.models.composition import Composition
from graph2graph.training.examples import Sample
from graph2graph.training.loss import _composed
from graph2graph.transition.state import Action
from state_parsers import CLOSE, decoded, gold, state_parser
from strategies import trees

pytestmark = pytest.mark.usefixtures("one_thread")


class Slot(NamedTuple):
    """One position of the stack or the buffer: C, ω and l of the appendix."""

    node: int
    c: Tensor
    omega: Tensor
    l: Tensor  # noqa: E741 - the paper's letter


def literally(comp: Composition, vectors: Tensor, actions: Sequence[int], labels: Sequence[int]) -> list[Tensor]:
    """C of every node before each step, by the appendix's list of cases; S and B are counted from 1 there, from 0 here."""
    null, l_null = comp.no_dependent, comp.labels.weight[0]
    S = [Slot(0, vectors[0], null, l_null)]  # S[0] is the top
    B = [Slot(node, vectors[node], null, l_null) for node in range(1, len(vectors))]
    last = list(vectors)
    history = [torch.stack(last)]
    for action, label in zip(actions, labels, strict=True):
        # ψ, ω and l of each position after the step
        if action == Action.RIGHT_ARC:
            l_right = comp.labels.weight[2 + 2 * label]
            psi_S = [Slot(S[1].node, S[1].c, S[0].c, l_right)]
            psi_S += [Slot(*S[i + 1]) for i in range(1, len(S) - 1)]
            psi_B = [Slot(*B[i]) for i in range(len(B))]
        elif action == Action.LEFT_ARC:
            l_left = comp.labels.weight[1 + 2 * label]
            psi_S = [Slot(S[0].node, S[0].c, S[1].c, l_left)]
            psi_S += [Slot(*S[i + 1]) for i in range(1, len(S) - 1)]
            psi_B = [Slot(*B[i]) for i in range(len(B))]
        elif action == Action.SHIFT:
            psi_S = [Slot(*B[0])]
            psi_S += [Slot(*S[i - 1]) for i in range(1, len(S) + 1)]
            psi_B = [Slot(*B[i + 1]) for i in range(len(B) - 1)]
        else:  # SWAP
            psi_S = [Slot(*S[0])]
            psi_S += [Slot(*S[i + 1]) for i in range(1, len(S) - 1)]
            psi_B = [Slot(*S[1])]
            psi_B += [Slot(*B[i - 1]) for i in range(1, len(B) + 1)]
        S, B = ([composed(comp, slot) for slot in part] for part in (psi_S, psi_B))
        for slot in S + B:
            last[slot.node] = slot.c
        history.append(torch.stack(last))
    return history[:-1]


def composed(comp: Composition, slot: Slot) -> Slot:
    """C = Comp(ψ, ω, l) + ψ."""
    out = comp.out.weight @ torch.tanh(
        comp.hidden.weight @ torch.cat([slot.c, slot.omega, slot.l]) + comp.hidden.bias
    ) + (comp.out.bias + (slot.c if comp.skip else 0))
    return slot._replace(c=out)


@pytest.mark.slow
@pytest.mark.parametrize("skip", [True, False], ids=["skip", "no skip"])
@given(forest=st.lists(trees(max_size=6), min_size=1, max_size=3), seed=st.integers(0, 10**6))
@settings(max_examples=15)
@torch.no_grad()
def test_composition_follows_the_list_of_cases(skip: bool, forest: list[list[int]], seed: int) -> None:
    parser = state_parser(skip=skip)
    comp = parser.model.composition
    assert comp is not None
    rng = np.random.default_rng(seed)
    examples = [gold(parser, heads, rng) for heads in forest]
    vectors = parser.model.node_vectors([one.features for one in examples])
    wanted = [
        literally(comp, row[: one.features.n_words + 1], one.actions.tolist(), one.labels.tolist())
        for row, one in zip(vectors, examples, strict=True)
    ]

    every_step = [Sample(one, np.arange(one.n_steps)) for one in examples]
    trained = iter(_composed(parser.model, every_step, vectors))
    in_decoding, _ = decoded(parser, examples)
    for one, by_step, step_by_step in zip(examples, wanted, in_decoding, strict=True):
        for step, by_hand in enumerate(by_step):
            torch.testing.assert_close(next(trained)[: one.features.n_words + 1], by_hand, **CLOSE)
            torch.testing.assert_close(step_by_step[step], by_hand, **CLOSE)

    # a few steps of each sentence, in any order, are the same as all of them
    some = [Sample(one, rng.permutation(one.n_steps)[: 1 + rng.integers(3)]) for one in examples]
    chosen = iter(_composed(parser.model, some, vectors))
    for (one, steps), by_step in zip(some, wanted, strict=True):
        for step in steps:
            torch.testing.assert_close(next(chosen)[: one.features.n_words + 1], by_step[step], **CLOSE)


@torch.no_grad()
def test_deleted_words_keep_their_last_vector() -> None:
    """1 and 3 hang on 2: SHIFT SHIFT LEFT-ARC SHIFT RIGHT-ARC RIGHT-ARC."""
    parser = state_parser(skip=True)
    one = gold(parser, [2, 0, 2], np.random.default_rng(1))
    vectors = parser.model.node_vectors([one.features])
    steps = _composed(parser.model, [Sample(one, np.arange(6))], vectors)
    assert torch.equal(steps[0], vectors[0])
    changed = [(steps[step] != steps[step - 1]).any(dim=1).tolist() for step in range(1, 6)]
    assert changed == [
        [True, True, True, True],  # SHIFT
        [True, True, True, True],  # SHIFT
        [True, False, True, True],  # LEFT-ARC: 1 is gone
        [True, False, True, True],  # SHIFT
        [True, False, True, False],  # RIGHT-ARC: 3 is gone
    ]
