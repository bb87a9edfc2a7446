"""Greedy decoding (Eq. 10): at each step the best legal action and, for an arc, its best label.

Many sentences are decoded together, but each at its own pace: a sentence with a stale encoding waits until enough others wait
too, so that they share one batch of the encoder (see reencoding.py).

Shapes: D decisions in a step, A arcs among them, L labels, B sentences.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from graph2graph.arrays import BoolArray, FloatArray, IntArray, padded
from graph2graph.config import DecodeConfig
from graph2graph.decoding.reencoding import Reencoder, Scored, reencoder_of
from graph2graph.models.features import Features
from graph2graph.models.parser_model import ParserModel
from graph2graph.transition.constraints import Constraint
from graph2graph.transition.state import NO_NODE, Action
from graph2graph.transition.states import States, arcs_of, is_arc

DEFAULT = DecodeConfig()


class Given(NamedTuple):
    """The given part of a sentence's tree: heads (or NOT_ROOT) and labels of nodes 0..n, NO_NODE where none is given."""

    heads: IntArray
    labels: IntArray


class GivenArcs:
    """The given arcs and labels of a batch, and the constraints of the rows that have given arcs."""

    def __init__(self, given: Sequence[Given]) -> None:
        self.constraints = {
            row: Constraint(one.heads.tolist()) for row, one in enumerate(given) if (one.heads != NO_NODE).any()
        }
        self.labels = padded([one.labels for one in given], NO_NODE)  # [B, m]

    def restrict(self, legal: BoolArray, rows: IntArray) -> None:
        """Remove the actions that would make a given arc impossible."""
        for position, row in enumerate(rows.tolist()):
            if row in self.constraints:
                legal[position] &= self.constraints[row].allowed

    def labels_of(self, rows: IntArray, dependents: IntArray, best: IntArray) -> IntArray:
        """The label of each arc, [A]: the given one or else the best."""
        labels = self.labels[rows, dependents]
        return np.where(labels == NO_NODE, best, labels)

    def advance(self, rows: IntArray, actions: IntArray) -> None:
        """Update the constraints with the actions taken."""
        for row, action in zip(rows.tolist(), actions.tolist(), strict=True):
            if row in self.constraints:
                self.constraints[row].take(Action(action))


@dataclass(frozen=True)
class Decisions:
    """The decisions of one step."""

    rows: IntArray  # [D] of the states
    focus: IntArray  # [D, 3] s2, s1, b1 before the actions
    actions: IntArray  # [D]
    labels: IntArray  # [D] of the arcs; meaningless for SHIFT and SWAP
    action_scores: Tensor  # [D, 4] minus infinity where an action is not legal
    label_scores: Tensor | None  # [A, L] None if there is no arc
    is_fresh: BoolArray  # [D] whether the state was encoded for this step

    @property
    def action_p(self) -> FloatArray:
        """The probability of each action, [D, 4]; 0 where it is not legal."""
        probabilities: FloatArray = self.action_scores.softmax(dim=1).cpu().numpy()
        return probabilities

    @property
    def label_p(self) -> FloatArray:
        """The probability of the label of each arc, [D]; 0 for SHIFT and SWAP."""
        found = np.zeros(len(self.labels))
        if self.label_scores is not None:
            arcs = is_arc(self.actions).nonzero()[0]
            probabilities = self.label_scores.softmax(dim=1).cpu().numpy()
            found[arcs] = probabilities[np.arange(len(arcs)), self.labels[arcs]]
        return found


@dataclass
class Work:
    """How much a decoder encoded, and a function that sees each of its steps."""

    n_encoded: int = 0  # states
    n_pieces: int = 0  # in them
    observer: Callable[[States, Scored, Decisions], None] | None = None  # called before each step's actions are taken

    def add(self, other: "Work | Reencoder") -> None:
        """Add the numbers of other work."""
        self.n_encoded += other.n_encoded
        self.n_pieces += other.n_pieces


@torch.inference_mode()
def greedy(
    model: ParserModel,
    features: Sequence[Features],
    decode: DecodeConfig = DEFAULT,
    *,
    given: Sequence[Given] | None = None,
    work: Work | None = None,
    decisions: list[Decisions] | None = None,
) -> States:
    """Decode sentences to their final states, which have the given arcs and labels.

    `work` is updated, and the decisions of each step are appended to `decisions`.
    """
    work = work or Work()
    if given:  # drafts ignore given arcs, so they would seldom be used
        decode = decode.model_copy(update={"draft_tokens": 0})
    states = States([feature.n_words for feature in features])
    reencoder = reencoder_of(model, features, states, decode)
    given_arcs = GivenArcs(given) if given else None
    active = (~states.is_final).nonzero()[0]
    while len(active):
        decided = step(states, active, reencoder, given_arcs, work)
        if decided is not None and decisions is not None:
            decisions.append(decided)
        active = active[~states.is_final[active]]
    work.add(reencoder)
    return states


def step(states: States, rows: IntArray, reencoder: Reencoder, given: GivenArcs | None, work: Work) -> Decisions | None:
    """Take one step of Eq. 10 in those of these rows whose encoding can be used; None if there are none.

        Z^t = Gin(X, G^t)                         encode the sentence with the graph built so far
        G^{t+1} = G^t ∪ Gout(Select(Z^t, P^t))    decide on the vectors of s2, s1 and b1, and add the arc

    A sentence is encoded again only if its encoding is stale and, with a threshold, leaves the parser unsure.
    """
    rows = reencoder.encode_waiting(rows)  # Z^t
    focus = states.focus_of(rows)
    legal = states.legal_in(rows, focus)
    if given is not None:
        given.restrict(legal, rows)
    scored = reencoder.score(rows, focus, legal)
    if not scored.is_sure.all():
        reencoder.postpone(rows[~scored.is_sure])
        sure = scored.is_sure.nonzero()[0]
        rows, focus, scored = rows[sure], focus[sure], scored.take(sure)
    if not len(rows):
        return None
    decided = _decide(reencoder.model, scored, rows, focus, given)  # Gout(Select(Z^t, P^t))
    if work.observer is not None:
        work.observer(states, scored, decided)
    states.apply(rows, decided.actions, decided.labels)  # G^{t+1}
    reencoder.advance(rows, focus, decided.actions, decided.labels)
    if given is not None:
        given.advance(rows, decided.actions)
    return decided


def _decide(model: ParserModel, scored: Scored, rows: IntArray, focus: IntArray, given: GivenArcs | None) -> Decisions:
    """The best action in each row, and the label of each arc: the given one or else the best."""
    actions = scored.actions.argmax(dim=1).cpu().numpy()
    arcs = arcs_of(actions, focus)
    labels = np.zeros(len(actions), dtype=np.int64)
    label_scores = None
    if len(arcs.positions):
        is_right = model.tensor(actions[arcs.positions] == Action.RIGHT_ARC)
        label_scores = scored.label_scores(model, arcs.positions, focus, is_right)
        best = label_scores.argmax(dim=1).cpu().numpy()
        labels[arcs.positions] = best if given is None else given.labels_of(rows[arcs.positions], arcs.dependents, best)
    return Decisions(rows, focus, actions, labels, scored.actions, label_scores, scored.is_fresh)
