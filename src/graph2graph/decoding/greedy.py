"""Greedy decoding, many sentences at a time: the best legal action at every step, with its best label."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from graph2graph.arrays import BoolArray, FloatArray, IntArray
from graph2graph.config import DecodeConfig
from graph2graph.decoding.reencoding import View, sight_of
from graph2graph.models.features import Features
from graph2graph.models.parser_model import ParserModel
from graph2graph.transition.constraints import Constraint
from graph2graph.transition.state import NO_NODE, Action
from graph2graph.transition.states import States, is_arc

DEFAULT = DecodeConfig()


@dataclass
class Work:
    """What decoding has done."""

    n_encoded: int = 0  # states
    n_pieces: int = 0  # in them
    decisions: list["Decisions"] | None = None  # by step, if they are wanted: give an empty list
    watch: Callable[[States, "View", "Decisions"], None] | None = None  # is called at each step, before it is taken

    @property
    def is_watched(self) -> bool:
        """Whether anybody wants to know the decisions."""
        return self.decisions is not None or self.watch is not None

    def note(self, states: States, view: "View", decided: "Decisions") -> None:
        """Pass on the decisions of a step to whoever wants them."""
        if self.decisions is not None:
            self.decisions.append(decided)
        if self.watch is not None:
            self.watch(states, view, decided)

    def add(self, other: "Work") -> None:
        """Count in what was done elsewhere."""
        self.n_encoded += other.n_encoded
        self.n_pieces += other.n_pieces


@dataclass(frozen=True)
class Decisions:
    """The decisions of one step, D of them: where they are taken, what is seen, and what is done."""

    rows: IntArray  # [D] of the states
    focus: IntArray  # [D, 3] s2, s1, b1 before
    actions: IntArray
    labels: IntArray  # of the arcs; for the other actions it means nothing
    action_p: FloatArray  # [D, 4] probability of each action, 0 where it is not legal
    label_p: FloatArray  # [D] probability of the label, of the arcs
    is_fresh: BoolArray  # [D] whether the state was encoded for this step


class Given(NamedTuple):
    """What of a sentence's tree is given: heads and labels of nodes 0..n, NO_NODE where any will do, or NOT_ROOT."""

    heads: IntArray
    labels: IntArray


@torch.inference_mode()
def greedy(
    model: ParserModel,
    features: Sequence[Features],
    decode: DecodeConfig = DEFAULT,
    *,
    given: Sequence[Given] | None = None,
    work: Work | None = None,
) -> States:
    """The final states of these sentences, with the given arcs and labels in them; `work` is filled with what was done."""
    if given is not None or (work is not None and work.watch is not None):
        # drafts know nothing of given arcs; and who watches wants to see each encoding when it is used
        decode = decode.model_copy(update={"draft_tokens": 0})
    states = States([feature.n_words for feature in features])
    sight = sight_of(model, features, states, decode)
    kept = None if given is None else _Kept(given)
    left = (~states.is_final).nonzero()[0]
    while len(left):
        rows = sight.ready(left)
        focus = states.focus_of(rows)
        legal = states.legal_in(rows, focus)
        if kept is not None:
            kept.narrow(legal, rows)
        view = sight.look(rows, focus, legal)
        sure = sight.sure(rows, view)
        if len(sure) < len(rows):
            rows, focus, view = rows[sure], focus[sure], view.take(sure)
            if not len(rows):
                continue
        actions = view.scores.argmax(dim=1).cpu().numpy()
        labels, label_scores = _labels(model, view, actions, focus)
        if kept is not None:
            labels = kept.labelled(labels, rows, actions, focus)
        if work is not None and work.is_watched:
            action_p = view.scores.softmax(dim=1).cpu().numpy()
            label_p = _label_p(labels, label_scores, actions)
            work.note(states, view, Decisions(rows, focus, actions, labels, action_p, label_p, view.is_fresh))
        states.apply(rows, actions, labels)
        sight.acted(rows, focus, actions, labels)
        left = left[~states.is_final[left]]
    if work is not None:
        work.n_encoded += sight.n_encoded
        work.n_pieces += sight.n_pieces
    return states


class _Kept:
    """The arcs and labels that are given, and the rows that have any."""

    def __init__(self, given: Sequence[Given]) -> None:
        some = {row: one for row, one in enumerate(given) if (one.heads != NO_NODE).any()}
        self.constraints = {row: Constraint(one.heads.tolist()) for row, one in some.items()}
        self.given = given

    def narrow(self, legal: BoolArray, rows: IntArray) -> None:
        """Leave only the actions that are allowed."""
        for place, row in enumerate(rows.tolist()):
            if row in self.constraints:
                legal[place] &= self.constraints[row].allowed

    def labelled(self, labels: IntArray, rows: IntArray, actions: IntArray, focus: IntArray) -> IntArray:
        """The given label in place of the best one; and the constraints are told of the actions."""
        labels = labels.copy()
        for place, (row, action) in enumerate(zip(rows.tolist(), actions.tolist(), strict=True)):
            if action in (Action.LEFT_ARC, Action.RIGHT_ARC):
                label = self.given[row].labels[focus[place, 0 if action == Action.LEFT_ARC else 1]]
                labels[place] = labels[place] if label == NO_NODE else label
            if row in self.constraints:
                self.constraints[row].take(Action(action))
        return labels


def _labels(model: ParserModel, view: View, actions: IntArray, focus: IntArray) -> tuple[IntArray, Tensor | None]:
    """The best label of each arc, and the scores of its labels; for the other actions it means nothing."""
    arcs = is_arc(actions).nonzero()[0]
    labels = np.zeros(len(actions), dtype=np.int64)
    if not len(arcs):
        return labels, None
    chosen = model.tensor(arcs)
    is_right = model.tensor(actions[arcs] == Action.RIGHT_ARC)
    past = None if view.past is None else view.past[chosen]
    scores = model.label_scores(view.encodings, view.encoded[chosen], model.tensor(focus[arcs]), is_right, past)
    labels[arcs] = scores.argmax(dim=1).cpu().numpy()
    return labels, scores


def _label_p(labels: IntArray, scores: Tensor | None, actions: IntArray) -> FloatArray:
    """The probability of the label of each arc."""
    found = np.zeros(len(labels))
    if scores is not None:
        arcs = is_arc(actions).nonzero()[0]
        found[arcs] = scores.softmax(dim=1).cpu().numpy()[np.arange(len(arcs)), labels[arcs]]
    return found
