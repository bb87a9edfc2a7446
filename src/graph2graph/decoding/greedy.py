"""Greedy decoding, many sentences at a time: the best legal action at every step, with its best label.

SentTr encodes a sentence once. In SentTr+G2GTr the input changes only when an arc is added, so a state is encoded again
after an arc and only then. The state models see stack and buffer, so they encode at every transition.

Exact decoding decides on the graph as it is. With a threshold, an encoding is used on while the best action has at least that
probability, and made anew only when it has not: at 0 each sentence is encoded once, and its graph is withheld.
"""

import math
from collections.abc import Iterator, Sequence
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


@dataclass(frozen=True)
class Options:
    """How to decode."""

    reencode: float = EXACT
    batch_tokens: int = 4096  # pieces encoded at once, padding counted


DEFAULT = Options()


@dataclass
class Work:
    """What decoding has done."""

    n_encoded: int = 0  # states
    n_pieces: int = 0  # in them
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
    model: ParserModel, features: Sequence[Features], options: Options = DEFAULT, *, work: Work | None = None
) -> States:
    """The final states of these sentences; `work` is filled with what was done."""
    states = States([feature.n_words for feature in features])
    sight = (_States if model.config.input == "state" else _Sentences)(model, features, states, options)
    rows = (~states.is_final).nonzero()[0]
    while len(rows):
        focus = states.focus_of(rows)
        view = sight.look(rows, focus, states.legal_in(rows, focus))
        actions = view.scores.argmax(dim=1).cpu().numpy()
        decided = Decisions(rows, focus, actions, _labels(model, view, actions, focus))
        states.apply(rows, actions, decided.labels)
        sight.acted(decided)
        if work is not None:
            work.decisions.append(decided)
        rows = rows[~states.is_final[rows]]
    if work is not None:
        work.n_encoded += sight.n_encoded
        work.n_pieces += sight.n_pieces
    return states


class _States:
    """How a state model sees: everything anew at every transition."""

    def __init__(self, model: ParserModel, features: Sequence[Features], states: States, options: Options) -> None:
        self.model, self.states, self.options, self.memory = model, states, options, Memory(model, features)
        self.n_encoded = self.n_pieces = 0

    def look(self, rows: IntArray, focus: IntArray, legal: BoolArray) -> View:
        """The scores of the actions in these rows."""
        model, past = self.model, self.memory.past
        encodings = model.encode(self.states.take(rows), [], vectors=self.memory.vectors, owners=rows)
        self.n_encoded += len(rows)
        self.n_pieces += len(encodings.vectors) - 1
        encoded = torch.arange(len(rows), device=model.device)
        past = None if past is None else past[model.tensor(rows)]
        scores = model.action_scores(encodings, encoded, model.tensor(focus), model.tensor(legal), past)
        return View(encodings, encoded, past, scores)

    def acted(self, decided: Decisions) -> None:
        """Take note of the actions."""
        self.memory.advance(self.states, decided.rows, decided.actions, decided.labels, decided.focus)


class _Sentences:
    """How a sentence model sees: with the encoding of each row, which falls behind when an arc is added."""

    def __init__(self, model: ParserModel, features: Sequence[Features], states: States, options: Options) -> None:
        self.model, self.features, self.states, self.options = model, features, states, options
        self.n_missing = np.zeros(len(features), dtype=np.int64)  # arcs that the encoding of each row lacks
        self.last = np.zeros(len(features), dtype=np.int64)  # the dependent of the last of them
        self.lengths = np.array([feature.n_pieces for feature in features])
        self.encodings = self._room()
        self.n_encoded = self.n_pieces = 0
        self._encode(np.arange(len(features)))
        if not model.config.graph_input or options.reencode == 0:
            self.encodings = model.project(self.encodings)  # nothing will be encoded again

    def _room(self) -> Encodings:
        """Place for the vectors of all nodes, packed, and of the empty slot."""
        n_nodes = self.states.n_words + 1
        starts = np.cumsum(n_nodes) - n_nodes
        total, width = int(n_nodes.sum()), self.states.heads.shape[1]
        columns = np.arange(width + 1)
        places = np.where(columns < n_nodes[:, None], starts[:, None] + columns, total)
        vectors = torch.empty(total + 1, self.model.config.encoder.width, device=self.model.device)
        vectors[-1] = self.model.empty
        return Encodings(vectors, self.model.tensor(places), self.model.tensor(starts))

    def look(self, rows: IntArray, focus: IntArray, legal: BoolArray) -> View:
        """The scores of the actions in these rows, on a fresh encoding where the old one is not good enough."""
        is_stale = self.n_missing[rows] > 0
        if self.options.reencode == EXACT:
            self._encode(rows[is_stale])
            return self._view(rows, focus, legal)
        view = self._view(rows, focus, legal)
        if is_stale.any() and self.options.reencode > 0:
            unsure = is_stale & (view.scores.softmax(dim=1).amax(dim=1) < self.options.reencode).cpu().numpy()
            if unsure.any():
                self._encode(rows[unsure])
                again = self._view(rows[unsure], focus[unsure], legal[unsure])
                view.scores[self.model.tensor(unsure)] = again.scores
        return view

    def _view(self, rows: IntArray, focus: IntArray, legal: BoolArray) -> View:
        encoded = self.model.tensor(rows)
        scores = self.model.action_scores(self.encodings, encoded, self.model.tensor(focus), self.model.tensor(legal))
        return View(self.encodings, encoded, None, scores)

    def _encode(self, rows: IntArray) -> None:
        """Encode these rows anew, as many at a time as the budget has room for."""
        for some in _portions(rows, self.lengths[rows], self.options.batch_tokens):
            self._encode_together(some)
        self.n_missing[rows] = 0

    def _encode_together(self, rows: IntArray) -> None:
        """Encode these rows; of a long sentence that lacks one arc, only the windows which that arc has changed."""
        parts = [self.features[row] for row in rows.tolist()]
        is_new = np.arange(self.states.heads.shape[1]) <= self.states.n_words[rows, None]
        for place, row in enumerate(rows.tolist()):
            if parts[place].is_long and self.n_missing[row] == 1:
                parts[place] = parts[place].around(self.last[row])
                is_new[place, : len(parts[place].row_of)] = parts[place].row_of != OUTSIDE
        new = self.model.encode(self.states.take(rows), parts)
        chosen = self.model.tensor(is_new)
        to, come_from = self.encodings.places[self.model.tensor(rows), :-1][chosen], new.places[:, :-1][chosen]
        self.encodings.vectors[to] = new.vectors[come_from]
        self.n_encoded += len(rows)
        self.n_pieces += sum(part.n_pieces for part in parts)

    def acted(self, decided: Decisions) -> None:
        """Take note of the arcs among the actions."""
        if self.model.config.graph_input:
            is_left = decided.actions == Action.LEFT_ARC
            is_arc = is_left | (decided.actions == Action.RIGHT_ARC)
            self.n_missing[decided.rows] += is_arc
            dependents = np.where(is_left, decided.focus[:, 0], decided.focus[:, 1])
            self.last[decided.rows[is_arc]] = dependents[is_arc]


def _portions(rows: IntArray, lengths: IntArray, budget: int) -> Iterator[IntArray]:
    """Rows of like length together, so that each portion, padded, keeps to the budget of pieces."""
    if not len(rows):
        return
    order = np.argsort(lengths, kind="stable")[::-1]
    first = 0
    while first < len(order):
        n_rows = max(1, budget // int(lengths[order[first]]))
        yield np.sort(rows[order[first : first + n_rows]])
        first += n_rows


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
