"""Greedy decoding, many sentences at a time: the best legal action at every step, with its best label.

SentTr encodes a sentence once. In SentTr+G2GTr the input changes only when an arc is added, so a state is encoded again
after an arc and only then. The state models see stack and buffer, so they encode at every transition.

Exact decoding decides on the graph as it is. With a threshold, an encoding is used on while the best action has at least that
probability, and made anew only when it has not: at 0 each sentence is encoded once, and its graph is withheld.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from graph2graph.models.features import OUTSIDE, Features
from graph2graph.models.memory import Memory
from graph2graph.models.model import Encodings, ParserModel
from graph2graph.transitions import Action, BoolArray, IntArray, States

EXACT = math.inf


@dataclass
class Work:
    """What decoding has done."""

    n_encoded: int = 0  # states
    decisions: list["Decisions"] = field(default_factory=list)  # by step


@dataclass(frozen=True)
class Decisions:
    """The decisions of one step, D of them: where they are taken, what is seen, and what is done."""

    rows: IntArray  # [D] of the states
    focus: IntArray  # [D, 3] s2, s1, b1 before
    actions: IntArray
    labels: IntArray  # of the arcs; for the other actions it means nothing


class View(NamedTuple):
    """What a step's decisions are taken on."""

    encodings: Encodings
    encoded: Tensor  # [D] the encoded state of each
    past: Tensor | None  # [D, w] its history
    scores: Tensor  # [D, 4] of the actions


@torch.inference_mode()
def greedy(
    model: ParserModel, features: Sequence[Features], *, reencode: float = EXACT, work: Work | None = None
) -> States:
    """The final states of these sentences; `work` is filled with what was done."""
    states = States([feature.n_words for feature in features])
    sight: _States | _Sentences
    sight = (
        _States(model, features, states)
        if model.config.input == "state"
        else _Sentences(model, features, states, reencode)
    )
    while len(rows := (~states.is_final).nonzero()[0]):
        focus = states.focus[rows]
        view = sight.look(rows, focus, states.legal()[rows])
        actions = view.scores.argmax(dim=1).cpu().numpy()
        decided = Decisions(rows, focus, actions, _labels(model, view, actions, focus))
        states.apply(rows, actions, decided.labels)
        sight.acted(decided)
        if work is not None:
            work.decisions.append(decided)
    if work is not None:
        work.n_encoded += sight.n_encoded
    return states


class _States:
    """How a state model sees: everything anew at every transition."""

    def __init__(self, model: ParserModel, features: Sequence[Features], states: States) -> None:
        self.model, self.states, self.memory, self.n_encoded = model, states, Memory(model, features), 0

    def look(self, rows: IntArray, focus: IntArray, legal: BoolArray) -> View:
        """The scores of the actions in these rows."""
        model, past = self.model, self.memory.past
        encodings = model.encode(self.states.take(rows), [], vectors=self.memory.vectors, owners=rows)
        self.n_encoded += len(rows)
        index = torch.arange(len(rows), device=model.device)
        past = None if past is None else past[model.tensor(rows)]
        scores = model.action_scores(encodings, index, model.tensor(focus), model.tensor(legal), past)
        return View(encodings, index, past, scores)

    def acted(self, decided: Decisions) -> None:
        """Take note of the actions."""
        self.memory.advance(self.states, decided.rows, decided.actions, decided.labels, decided.focus)


class _Sentences:
    """How a sentence model sees: with the encoding of each row, which falls behind when an arc is added."""

    def __init__(self, model: ParserModel, features: Sequence[Features], states: States, reencode: float) -> None:
        self.model, self.features, self.states, self.reencode = model, features, states, reencode
        self.n_missing = np.zeros(len(features), dtype=np.int64)  # arcs that the encoding of each row lacks
        self.last = np.zeros(len(features), dtype=np.int64)  # the dependent of the last of them
        self.encodings: Encodings | None = None
        self.n_encoded = 0

    def look(self, rows: IntArray, focus: IntArray, legal: BoolArray) -> View:
        """The scores of the actions in these rows, on a fresh encoding where the old one is not good enough."""
        if self.encodings is None:
            self._encode(rows)
        is_stale = self.n_missing[rows] > 0
        if self.reencode == EXACT:
            self._encode(rows[is_stale])
            return self._view(rows, focus, legal)
        view = self._view(rows, focus, legal)
        unsure = is_stale & (view.scores.softmax(dim=1).amax(dim=1) < self.reencode).cpu().numpy()
        if unsure.any():
            self._encode(rows[unsure])
            view.scores[self.model.tensor(unsure)] = self._view(rows[unsure], focus[unsure], legal[unsure]).scores
        return view

    def _view(self, rows: IntArray, focus: IntArray, legal: BoolArray) -> View:
        assert self.encodings is not None
        index = self.model.tensor(rows)
        scores = self.model.action_scores(self.encodings, index, self.model.tensor(focus), self.model.tensor(legal))
        return View(self.encodings, index, None, scores)

    def _encode(self, rows: IntArray) -> None:
        """Encode these rows; of a long sentence that lacks one arc, only the windows which that arc has changed."""
        if not len(rows):
            return
        parts = [self.features[row] for row in rows.tolist()]
        for place, row in enumerate(rows.tolist()):
            if parts[place].is_long and self.n_missing[row] == 1:
                parts[place] = parts[place].around(self.last[row])
        self.encodings = _refresh(self.model, self.states, parts, rows, self.encodings)
        self.n_missing[rows] = 0
        self.n_encoded += len(rows)

    def acted(self, decided: Decisions) -> None:
        """Take note of the arcs among the actions."""
        if self.model.config.graph_input:
            is_left = decided.actions == Action.LEFT_ARC
            is_arc = is_left | (decided.actions == Action.RIGHT_ARC)
            self.n_missing[decided.rows] += is_arc
            dependents = np.where(is_left, decided.focus[:, 0], decided.focus[:, 1])
            self.last[decided.rows[is_arc]] = dependents[is_arc]


def _labels(model: ParserModel, view: View, actions: IntArray, focus: IntArray) -> IntArray:
    """The best label of each arc; for the other actions it means nothing."""
    arcs = ((actions == Action.LEFT_ARC) | (actions == Action.RIGHT_ARC)).nonzero()[0]
    labels = np.zeros(len(actions), dtype=np.int64)
    if len(arcs):
        chosen = model.tensor(arcs)
        is_right = model.tensor(actions[arcs] == Action.RIGHT_ARC)
        past = None if view.past is None else view.past[chosen]
        scores = model.label_scores(view.encodings, view.encoded[chosen], model.tensor(focus[arcs]), is_right, past)
        labels[arcs] = scores.argmax(dim=1).cpu().numpy()
    return labels


def _refresh(
    model: ParserModel, states: States, features: Sequence[Features], rows: IntArray, old: Encodings | None
) -> Encodings:
    """Encode some rows of a sentence model again, or parts of them; all else keeps the vectors it has."""
    new = model.encode(states.take(rows), features)
    if not model.config.graph_input:
        return model.project(new)  # the one and only encoding
    n_states, width = len(states), new.places.shape[1]
    if old is None:
        vectors = new.vectors.new_empty(n_states * width + 1, new.vectors.shape[1])
        vectors[-1] = new.vectors[-1]
        places = torch.arange(n_states * width, device=model.device).view(n_states, width)
        places[:, -1] = n_states * width
        old = Encodings(vectors, places, places[:, 0])
    is_new = np.zeros((len(rows), width), dtype=np.bool_)
    for row, feature in enumerate(features):
        is_new[row, : len(feature.row_of)] = feature.row_of != OUTSIDE
    chosen = model.tensor(is_new)
    old.vectors[old.places[model.tensor(rows)][chosen]] = new.vectors[new.places[chosen]]
    return old
