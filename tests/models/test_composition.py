"""The composition and the history of the state models, against slow and literal forms of the paper's equations."""

import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from graph2graph.config import Config, EncoderConfig, ModelConfig
from graph2graph.models.composition import Composition
from graph2graph.models.history import START
from graph2graph.models.step_state import StepState
from graph2graph.parser.parser import Parser
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.training.examples import Example, Sample, training_examples
from graph2graph.training.loss import _composed
from graph2graph.transition.state import Action
from graph2graph.transition.states import States
from graph2graph.treebank import conllu
from graph2graph.variants import VARIANTS
from strategies import trees

pytestmark = pytest.mark.usefixtures("one_thread")
LABELS = ["det", "nsubj", "obj", "root"]
FORMS = ["a", "cat", "saw", "the", "dog"]
CLOSE = {"atol": 1e-9, "rtol": 1e-9}


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


def random_parser(skip: bool) -> Parser:
    torch.manual_seed(3)
    sizes = {"width": 8, "heads": 2, "layers": 1, "inner_width": 8, "max_positions": 32}
    model = ModelConfig(
        **VARIANTS["state-g2g-c"].model,
        composition_skip=skip,
        composition_hidden=11,
        history_width=6,
        encoder=EncoderConfig(vocab_size=50, dropout=0.0, attention_dropout=0.0, **sizes),
    )
    parser = Parser.create(Config(model=model), Vocabulary(LABELS, ["NOUN", "VERB"], "root"), forms=FORMS)
    with torch.no_grad():
        for parameter in parser.model.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
    parser.model.double()  # so that rounding does not hide a difference
    return parser


PARSERS = {skip: random_parser(skip) for skip in (True, False)}


def gold(parser: Parser, heads: list[int], rng: np.random.Generator) -> Example:
    """The transitions of a tree whose words, tags and labels are drawn at random."""
    lines = []
    for word, head in enumerate(heads, 1):
        label = "root" if head == 0 else LABELS[rng.integers(len(LABELS) - 1)]
        tag = ("NOUN", "VERB", "_")[rng.integers(3)]
        lines.append(f"{word}\t{FORMS[rng.integers(len(FORMS))]}\t_\t{tag}\t_\t_\t{head}\t{label}\t_\t_\n")
    [sentence] = conllu.read(io.StringIO("".join(lines) + "\n"))
    [example] = training_examples(parser, [sentence])
    return example


def decoded(parser: Parser, examples: list[Example]) -> tuple[list[list[Tensor]], list[list[Tensor]]]:
    """The vectors of the nodes, and the history, before each gold step as the decoder comes by them."""
    step_state = StepState(parser.model, [one.features for one in examples])
    states = States([one.features.n_words for one in examples])
    vectors: list[list[Tensor]] = [[] for _ in examples]
    past: list[list[Tensor]] = [[] for _ in examples]
    assert step_state.past is not None
    for step in range(max(one.n_steps for one in examples)):
        rows = np.array([row for row, one in enumerate(examples) if one.n_steps > step])
        for row in rows:
            vectors[row].append(step_state.vectors[row, : examples[row].features.n_words + 1].clone())
            past[row].append(step_state.past[row].clone())
        actions = np.array([examples[row].actions[step] for row in rows])
        labels = np.array(
            [max(examples[row].labels[step], 0) for row in rows]
        )  # what SHIFT and SWAP come with is unused
        focus = np.array([examples[row].focus[step] for row in rows])
        states.apply(rows, actions, labels)
        step_state.advance(states, rows, actions, labels, focus)
    return vectors, past


@pytest.mark.parametrize("skip", [True, False], ids=["skip", "no skip"])
@given(forest=st.lists(trees(max_size=6), min_size=1, max_size=3), seed=st.integers(0, 10**6))
@settings(max_examples=15)
@torch.no_grad()
def test_composition_follows_the_list_of_cases(skip: bool, forest: list[list[int]], seed: int) -> None:
    parser = PARSERS[skip]
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
    parser = PARSERS[True]
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


@given(forest=st.lists(trees(max_size=6), min_size=1, max_size=3), seed=st.integers(0, 10**6))
@settings(max_examples=10)
@torch.no_grad()
def test_history_step_by_step_equals_all_at_once(forest: list[list[int]], seed: int) -> None:
    parser = PARSERS[True]
    history = parser.model.history
    assert history is not None
    rng = np.random.default_rng(seed)
    examples = [gold(parser, heads, rng) for heads in forest]
    _, past = decoded(parser, examples)
    for one, step_by_step in zip(examples, past, strict=True):
        actions, labels = torch.tensor(one.actions)[None], torch.tensor(one.labels)[None] + 1
        before = history.before_each(actions, labels)[0]
        torch.testing.assert_close(torch.stack(step_by_step), before, **CLOSE)


@torch.no_grad()
def test_history_is_an_lstm_over_action_plus_label() -> None:
    parser = PARSERS[True]
    history = parser.model.history
    assert history is not None
    one = gold(parser, [2, 0, 2], np.random.default_rng(1))
    inputs = [history.actions.weight[START] + history.labels.weight[0]]
    for action, label in zip(one.actions, one.labels, strict=True):
        inputs.append(history.actions.weight[action] + history.labels.weight[1 + label if label >= 0 else 0])
    wanted, _ = history.lstm(torch.stack(inputs[:-1])[None])
    before = history.before_each(torch.tensor(one.actions)[None], torch.tensor(one.labels)[None] + 1)
    torch.testing.assert_close(before, wanted)
