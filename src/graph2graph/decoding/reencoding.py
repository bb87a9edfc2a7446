"""What a decoder sees of its sentences: the encodings that decisions are taken on, and when they are made anew.

SentTr encodes a sentence once. In SentTr+G2GTr the input changes only when an arc is added, so a state is encoded again
after an arc and only then. The state models see stack and buffer, so they encode at every transition.

Exact decoding decides on the graph as it is. With a threshold, an encoding is used on while the best action has at least that
probability, and made anew only when it has not: at 0 each sentence is encoded once, and its graph is withheld.

Sentences do not keep step. One that needs an encoding waits, while the others go on until they need one too; then all that
wait are encoded together. So the encoder is called few times, with much to do.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from graph2graph.arrays import BoolArray, IntArray
from graph2graph.config import DecodeConfig
from graph2graph.decoding.drafting import Drafts, drafted
from graph2graph.decoding.options import EXACT
from graph2graph.models.classifiers import Classifier
from graph2graph.models.features import OUTSIDE, Features
from graph2graph.models.parser_model import Encodings, ParserModel
from graph2graph.models.step_state import Memory
from graph2graph.transition.state import Action
from graph2graph.transition.states import States, is_arc

ENOUGH = 1024  # pieces that wait are worth encoding, though others could still go on
PORTION, LIKE = 256, 0.75  # pieces that are worth a call of their own; the least share of the longest that is like it


class View(NamedTuple):
    """What a step's decisions are taken on."""

    encodings: Encodings
    encoded: Tensor  # [D] the encoded state of each
    past: Tensor | None  # [D, w] its history
    scores: Tensor  # [D, 4] of the actions
    is_fresh: BoolArray  # [D] whether the encoding was made for this step

    def take(self, places: IntArray) -> "View":
        """Some of the decisions."""
        index = torch.from_numpy(places).to(self.scores.device)
        past = None if self.past is None else self.past[index]
        return View(self.encodings, self.encoded[index], past, self.scores[index], self.is_fresh[places])


def sight_of(
    model: ParserModel, features: Sequence[Features], states: States, decode: DecodeConfig
) -> "StateSight | SentenceSight":
    """How a model sees these states, which it will be told of as they change."""
    kind = StateSight if model.config.input == "state" else SentenceSight
    return kind(model, features, states, decode)


class StateSight:
    """How a state model sees: everything anew at every transition."""

    def __init__(self, model: ParserModel, features: Sequence[Features], states: States, decode: DecodeConfig) -> None:
        self.model, self.states, self.decode, self.memory = model, states, decode, Memory(model, features)
        self.n_encoded = self.n_pieces = 0

    def ready(self, rows: IntArray) -> IntArray:
        """Which of these rows can be looked at now: all."""
        return rows

    def sure(self, rows: IntArray, _: View) -> IntArray:
        """Which of these decisions can be taken: all."""
        return np.arange(len(rows))

    def refresh(self, rows: IntArray) -> None:
        """Encode those that wait: none does."""

    def look(self, rows: IntArray, focus: IntArray, legal: BoolArray) -> View:
        """The scores of the actions in these rows."""
        model, past = self.model, self.memory.past
        encodings = model.encode(self.states.take(rows), [], vectors=self.memory.vectors, owners=rows)
        self.n_encoded += len(rows)
        self.n_pieces += encodings.n_tokens
        encoded = torch.arange(len(rows), device=model.device)
        past = None if past is None else past[model.tensor(rows)]
        scores = model.action_scores(encodings, encoded, model.tensor(focus), model.tensor(legal), past)
        return View(encodings, encoded, past, scores, np.ones(len(rows), dtype=np.bool_))

    def take(self, rows: IntArray, states: States) -> None:
        """Go on with copies of some rows, whose states are these."""
        self.states = states
        self.memory.take(rows)

    def acted(self, rows: IntArray, focus: IntArray, actions: IntArray, labels: IntArray) -> None:
        """Take note of the actions."""
        self.memory.advance(self.states, rows, actions, labels, focus)


class SentenceSight:
    """How a sentence model sees: with the encoding of each row, which falls behind when an arc is added."""

    def __init__(self, model: ParserModel, features: Sequence[Features], states: States, decode: DecodeConfig) -> None:
        self.model, self.features, self.states, self.decode = model, features, states, decode
        self.n_missing = np.zeros(len(features), dtype=np.int64)  # arcs that the encoding of each row lacks
        self.changed: dict[int, list[int]] = {  # the dependents of these arcs, in sentences of several windows
            row: [] for row, feature in enumerate(features) if feature.is_long
        }
        self.is_waiting = np.zeros(len(features), dtype=np.bool_)  # for an encoding
        self.is_fresh = np.zeros(len(features), dtype=np.bool_)  # encoded since the last action
        self.lengths = np.array([feature.n_pieces for feature in features])
        self.encodings = self._room()
        self.drafts = Drafts()
        self.n_encoded = self.n_pieces = 0
        self._encode(np.arange(len(features)))

    def _room(self) -> Encodings:
        """Place for the vectors of all nodes, packed, and of the empty slot."""
        n_nodes = self.states.n_words + 1
        starts = np.cumsum(n_nodes) - n_nodes
        total, width = int(n_nodes.sum()), self.states.heads.shape[1]
        columns = np.arange(width + 1)
        places = np.where(columns < n_nodes[:, None], starts[:, None] + columns, total)
        vectors = torch.empty(total + 1, self.model.config.encoder.width, device=self.model.device)
        vectors[-1] = self.model.empty
        room = Encodings(vectors, self.model.tensor(places), self.model.tensor(starts))
        if not self.model.config.graph_input or self.decode.reencode < EXACT:
            # each encoding serves many decisions: the first layer of the classifiers is applied to all nodes at once
            for name, classifier in self._classifiers:
                ends = classifier.project(vectors[-1:])
                setattr(room, name, [torch.empty(total + 1, end.shape[1], device=end.device) for end in ends])
                for table, end in zip(getattr(room, name), ends, strict=True):
                    table[-1:] = end
        return room

    @property
    def _classifiers(self) -> tuple[tuple[str, Classifier], ...]:
        return (("exist", self.model.exist), ("relation", self.model.relation))

    def _fill(self, places: Tensor, vectors: Tensor) -> None:
        """Put vectors where they belong, and what the classifiers make of them."""
        self.encodings.vectors[places] = vectors
        for name, classifier in self._classifiers:
            if (tables := getattr(self.encodings, name)) is not None:
                for table, projected in zip(tables, classifier.project(vectors), strict=True):
                    table[places] = projected

    def take(self, rows: IntArray, states: States) -> None:
        """Go on with copies of some rows, whose states are these."""
        old = self.encodings
        self.states, self.features, self.drafts = states, [self.features[row] for row in rows.tolist()], Drafts()
        for name in ("n_missing", "is_waiting", "is_fresh", "lengths"):
            setattr(self, name, getattr(self, name)[rows])
        self.changed = {new: list(self.changed[row]) for new, row in enumerate(rows.tolist()) if row in self.changed}
        self.encodings = self._room()
        is_node = self.encodings.places < len(self.encodings.vectors) - 1
        come_from = old.places[self.model.tensor(rows)][is_node]
        self.encodings.vectors[:-1] = old.vectors[come_from]
        for name, _ in self._classifiers:
            for new_table, table in zip(getattr(self.encodings, name) or [], getattr(old, name) or [], strict=True):
                new_table[:-1] = table[come_from]

    def ready(self, rows: IntArray) -> IntArray:
        """Which of these rows can be looked at now; those that wait are encoded when they are enough, or all wait."""
        waiting = self._foreseen(rows[self.is_waiting[rows]])
        if len(waiting) == len(rows) or self.lengths[waiting].sum() >= ENOUGH:
            self._encode(waiting)
        return rows[~self.is_waiting[rows]]

    def refresh(self, rows: IntArray) -> None:
        """Encode those of these rows that wait."""
        self._encode(self._foreseen(rows[self.is_waiting[rows]]))

    def look(self, rows: IntArray, focus: IntArray, legal: BoolArray) -> View:
        """The scores of the actions in these rows, on the encodings they have."""
        encoded = self.model.tensor(rows)
        scores = self.model.action_scores(self.encodings, encoded, self.model.tensor(focus), self.model.tensor(legal))
        return View(self.encodings, encoded, None, scores, self.is_fresh[rows])

    def sure(self, rows: IntArray, view: View) -> IntArray:
        """Which of these decisions can be taken: on the graph as it is, or where the best action is probable enough.

        The other rows wait for an encoding from now on.
        """
        threshold = self.decode.reencode
        if 0 < threshold < EXACT and self.n_missing[rows].any():
            unsure = (view.scores.softmax(dim=1).amax(dim=1) < threshold).cpu().numpy()
            self.is_waiting[rows] = unsure & (self.n_missing[rows] > 0)
        return (~self.is_waiting[rows]).nonzero()[0]

    def _foreseen(self, rows: IntArray) -> IntArray:
        """Give the rows whose graph was drafted its encoding; the others are left."""
        if not self.drafts:
            return rows
        left = []
        for row in rows.tolist():
            vectors = self.drafts.take(row, self.states)
            if vectors is None:
                left.append(row)
            else:
                self._fill(self.encodings.places[row, : len(vectors)], vectors)
                self._seen_anew(np.array([row]))
        return np.array(left, dtype=np.int64)

    def _encode(self, rows: IntArray) -> None:
        """Encode these rows anew, as many at a time as the budget has room for."""
        n_ahead = 0
        if self.decode.reencode == EXACT and self.is_waiting[rows].any():
            n_ahead = self.decode.draft_tokens // int(self.lengths[rows].sum()) - 1
        if n_ahead > 0 and not any(self.features[row].is_long for row in rows.tolist()):
            self._encode_ahead(rows, n_ahead)
        else:
            for some in _portions(rows, self.lengths[rows], self.decode.batch_tokens):
                self._encode_together(some)
        self._seen_anew(rows)

    def _seen_anew(self, rows: IntArray) -> None:
        self.n_missing[rows] = 0
        self.is_waiting[rows] = False
        self.is_fresh[rows] = True
        for row in self.changed.keys() & set(rows.tolist()):
            self.changed[row] = []

    def _encode_ahead(self, rows: IntArray, n_arcs: int) -> None:
        """Encode these rows, which are few, and along with them the graphs that they may soon have."""
        drafts = [(rows, self.states.take(rows)), *drafted(self.model, self.encodings, self.states, rows, n_arcs)]
        owners = np.concatenate([of for of, _ in drafts])
        states = States.joined([some for _, some in drafts])
        new = self.model.encode(states, [self.features[row] for row in owners.tolist()])
        self.drafts.put(owners, states, new)
        self._foreseen(rows)
        self.n_encoded += len(owners)
        self.n_pieces += int(self.lengths[owners].sum())

    def _encode_together(self, rows: IntArray) -> None:
        """Encode these rows; of a long sentence that lacks arcs, only the windows which these have changed."""
        parts = [self.features[row] for row in rows.tolist()]
        is_new = np.arange(self.states.heads.shape[1]) <= self.states.n_words[rows, None]
        for place, row in enumerate(rows.tolist()):
            if changed := self.changed.get(row):
                parts[place] = parts[place].around(changed)
                is_new[place, : len(parts[place].row_of)] = parts[place].row_of != OUTSIDE
        new = self.model.encode(self.states.take(rows), parts)
        chosen = self.model.tensor(is_new)
        to, come_from = self.encodings.places[self.model.tensor(rows), :-1][chosen], new.places[:, :-1][chosen]
        self._fill(to, new.vectors[come_from])
        self.n_encoded += len(rows)
        self.n_pieces += sum(part.n_pieces for part in parts)

    def acted(self, rows: IntArray, focus: IntArray, actions: IntArray, _: IntArray) -> None:
        """Take note of the arcs among the actions."""
        self.is_fresh[rows] = False
        if self.model.config.graph_input:
            adds = is_arc(actions)
            self.n_missing[rows] += adds
            self.is_waiting[rows] = adds & (self.decode.reencode == EXACT)
            for place in adds.nonzero()[0] if self.changed else ():
                if (row := int(rows[place])) in self.changed:
                    self.changed[row].append(int(focus[place, 0 if actions[place] == Action.LEFT_ARC else 1]))


def _portions(rows: IntArray, lengths: IntArray, budget: int) -> Iterator[IntArray]:
    """Rows of like length together, so that each portion, padded, keeps to the budget of pieces.

    A portion that is worth a call of the encoder ends where the next row is much shorter than its longest.
    """
    order = np.argsort(lengths, kind="stable")[::-1]
    first = 0
    while first < len(order):
        sizes = lengths[order[first:]]
        sizes = sizes[: max(1, budget // int(sizes[0]))]
        is_end = (np.cumsum(sizes) - sizes >= PORTION) & (sizes < LIKE * sizes[0])
        n_rows = int(is_end.argmax()) if is_end.any() else len(sizes)
        yield np.sort(rows[order[first : first + n_rows]])
        first += n_rows
