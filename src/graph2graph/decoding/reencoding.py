"""Re-encoding: when a decoder encodes a sentence again, and which encoding each decision uses.

| model | its input changes | encoded again |
|---|---|---|
| SentTr | never | never |
| SentTr+G2GTr | when an arc is added | when an arc is added, or later: see below |
| StateTr and its relatives | at every transition | at every transition |

Exact decoding never uses a stale encoding. With a threshold (`reencode`), a stale encoding is used while the best action has
at least this probability; below it, the sentence is encoded again. At 0 each sentence is encoded once and the model never sees
an arc.

Sentences advance independently. Those that need an encoding wait until enough of them do, so that they share one batch.

Shapes: B sentences, D decisions in a step, w the width of the history.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from graph2graph.arrays import BoolArray, IntArray
from graph2graph.config import DecodeConfig
from graph2graph.decoding.drafting import Drafts, drafted
from graph2graph.decoding.encoding_table import EncodingTable
from graph2graph.decoding.options import EXACT
from graph2graph.models.features import Features
from graph2graph.models.parser_model import Encodings, ParserModel
from graph2graph.models.step_state import StepState
from graph2graph.transition.states import Arcs, States

ENOUGH = 1024  # waiting pieces that fill a batch: they are encoded even if other sentences can still advance
CHUNK_PIECES = 256  # pieces that make a batch large enough to be efficient
MIN_LENGTH_RATIO = 0.75  # of the shortest to the longest sentence in a batch that is large enough


class Scored(NamedTuple):
    """The action scores of D decisions, and the encodings they were computed from."""

    encodings: Encodings
    owners: Tensor  # [D] the encoded state of each decision
    past: Tensor | None  # [D, w] its history
    actions: Tensor  # [D, 4] the scores
    is_fresh: BoolArray  # [D] whether the encoding was made for this step
    is_sure: BoolArray  # [D] whether the decision may use this encoding

    def take(self, decisions: IntArray) -> "Scored":
        """Some of the decisions."""
        index = torch.from_numpy(decisions).to(self.actions.device)
        past = None if self.past is None else self.past[index]
        owners, actions = self.owners[index], self.actions[index]
        return Scored(self.encodings, owners, past, actions, self.is_fresh[decisions], self.is_sure[decisions])

    def label_scores(self, model: ParserModel, decisions: IntArray, focus: IntArray, is_right: Tensor) -> Tensor:
        """The label scores of some decisions, which add arcs: [len(decisions), L]; focus is [D, 3]."""
        some = self.take(decisions)
        return model.label_scores(some.encodings, some.owners, model.tensor(focus[decisions]), is_right, some.past)


class StateReencoder:
    """Encodes the states at every step: they are the input of a state model. Methods as in `SentenceReencoder`."""

    def __init__(self, model: ParserModel, features: Sequence[Features], states: States) -> None:
        self.model, self.states, self.step_state = model, states, StepState(model, features)
        self.n_encoded = self.n_pieces = 0  # states, and the pieces in them

    def encode_waiting(self, rows: IntArray, *, at_once: bool = False) -> IntArray:  # noqa: ARG002
        """Return all rows: `score` encodes them."""
        return rows

    def score(self, rows: IntArray, focus: IntArray, legal: BoolArray) -> Scored:
        """Encode these rows and score their actions."""
        model, past = self.model, self.step_state.past
        encodings = model.encode_states(self.states.take(rows), self.step_state.vectors, rows)
        self.n_encoded += len(rows)
        self.n_pieces += encodings.n_tokens
        owners = torch.arange(len(rows), device=model.device)
        past = None if past is None else past[model.tensor(rows)]
        scores = model.action_scores(encodings, owners, model.tensor(focus), model.tensor(legal), past)
        yes = np.ones(len(rows), dtype=np.bool_)
        return Scored(encodings, owners, past, scores, is_fresh=yes, is_sure=yes)

    def postpone(self, rows: IntArray) -> None:
        """Never called: every encoding is fresh."""

    def advance(self, rows: IntArray, focus: IntArray, actions: IntArray, labels: IntArray, arcs: Arcs) -> None:  # noqa: ARG002
        """Update history and composed vectors."""
        self.step_state.advance(self.states, rows, actions, labels, focus)

    def take(self, rows: IntArray, states: States) -> None:
        """Continue with copies of some rows."""
        self.states = states
        self.step_state.take(rows)


class SentenceReencoder:
    """Keeps the encoding of each sentence until an arc makes it stale, or longer with a threshold."""

    def __init__(
        self,
        model: ParserModel,
        features: Sequence[Features],
        states: States,
        decode: DecodeConfig,
        most_encodings: int | None = None,
    ) -> None:
        self.model, self.features, self.states, self.decode = model, features, states, decode
        # of each row: how often it may still be encoded because the parser is unsure; None: as often as it is
        self.n_left = None if most_encodings is None else np.full(len(features), most_encodings)
        self.lengths = np.array([feature.n_pieces for feature in features])
        # of each row: was an arc added since it was encoded? was no action taken since? does it wait to be encoded?
        self.is_stale, self.is_fresh, self.is_waiting = np.zeros((3, len(features)), dtype=np.bool_)
        # whether many decisions use one encoding: without a graph, or with a threshold
        self.is_lasting = not model.config.graph_input or decode.reencode < EXACT
        self.table, self.drafts = EncodingTable(model, states, is_projected=self.is_lasting), Drafts()
        self.unlabelled: list[tuple[IntArray, IntArray, IntArray]] = []  # rows, focus and dependents of arcs
        self.n_encoded = self.n_pieces = 0  # states, and the pieces in them
        self._encode(np.arange(len(features)))

    def encode_waiting(self, rows: IntArray, *, at_once: bool = False) -> IntArray:
        """Encode the waiting rows if all wait or they fill a batch, or `at_once`; return the rows that do not wait now."""
        if not self.is_waiting[rows].any():
            return rows
        self._use_drafts(rows[self.is_waiting[rows]])
        waiting = rows[self.is_waiting[rows]]
        if at_once or len(waiting) == len(rows) or self.lengths[waiting].sum() >= ENOUGH:
            self._encode(waiting)
        return rows[~self.is_waiting[rows]]

    def score(self, rows: IntArray, focus: IntArray, legal: BoolArray) -> Scored:
        """The scores of the actions in these rows, computed from the encodings they have."""
        model, owners, threshold = self.model, self.model.tensor(rows), self.decode.reencode
        scores = model.action_scores(self.table.encodings, owners, model.tensor(focus), model.tensor(legal))
        is_sure = np.ones(len(rows), dtype=np.bool_)
        if 0 < threshold < EXACT and self.is_stale[rows].any():
            is_improbable = (scores.softmax(dim=1).amax(dim=1) < threshold).cpu().numpy()
            is_sure = ~(is_improbable & self.is_stale[rows])
            if self.n_left is not None:
                is_sure |= self.n_left[rows] == 0
        return Scored(self.table.encodings, owners, None, scores, self.is_fresh[rows], is_sure)

    def postpone(self, rows: IntArray) -> None:
        """Make these rows wait for an encoding."""
        self.is_waiting[rows] = True

    def advance(self, rows: IntArray, focus: IntArray, actions: IntArray, labels: IntArray, arcs: Arcs) -> None:  # noqa: ARG002
        """Mark what the actions, just applied to these rows, have made stale; focus is s2, s1, b1 before them."""
        self.is_fresh[rows] = False
        if self.model.config.graph_input and len(arcs.positions):
            stale = rows[arcs.positions]
            self.is_stale[stale] = True
            self.is_waiting[stale] = self.decode.reencode == EXACT

    def label_later(self, rows: IntArray, focus: IntArray, arcs: Arcs) -> None:
        """Let `label` find the best labels of these arcs: scoring many at once takes little longer than one."""
        if len(arcs.positions):
            self.unlabelled.append((rows[arcs.positions], focus[arcs.positions], arcs.dependents))

    def label(self) -> None:
        """Give the arcs that have no label yet their best ones, from the encodings on which the arcs were decided."""
        if self.unlabelled:
            rows, focus, dependents = map(np.concatenate, zip(*self.unlabelled, strict=True))
            self.unlabelled.clear()
            model, is_right = self.model, dependents == focus[:, 1]
            scores = model.label_scores(
                self.table.encodings, model.tensor(rows), model.tensor(focus), model.tensor(is_right)
            )
            self.states.labels[rows, dependents] = scores.argmax(dim=1).cpu().numpy()

    def take(self, rows: IntArray, states: States) -> None:
        """Continue with copies of some rows."""
        self.table = self.table.take(rows, states)
        self.states, self.features, self.drafts = states, [self.features[row] for row in rows.tolist()], Drafts()
        self.lengths, self.is_stale = self.lengths[rows], self.is_stale[rows]
        self.is_fresh, self.is_waiting = self.is_fresh[rows], self.is_waiting[rows]

    def _use_drafts(self, rows: IntArray) -> None:
        """Give each of these rows the encoding of its graph, if that was drafted."""
        if self.drafts:
            for row in rows.tolist():
                if (vectors := self.drafts.pop(row, self.states)) is not None:
                    self.table.put_row(row, vectors)
                    self._mark_fresh(np.array([row]))

    def _encode(self, rows: IntArray) -> None:
        """Encode these rows, as many at a time as the budget allows; if there is room, encode drafts too."""
        self.label()
        n_ahead = 0
        if self.decode.reencode == EXACT and self.is_waiting[rows].any():
            n_ahead = self.decode.draft_tokens // int(self.lengths[rows].sum()) - 1
        if n_ahead > 0:
            self._encode_ahead(rows, n_ahead)
        else:
            for chunk in _chunks(rows, self.lengths[rows], self.decode.batch_tokens):
                self._encode_together(chunk)
        self._mark_fresh(rows)

    def _mark_fresh(self, rows: IntArray) -> None:
        if self.n_left is not None:
            self.n_left[rows] -= 1
        self.is_stale[rows] = self.is_waiting[rows] = False
        self.is_fresh[rows] = True

    def _encode_ahead(self, rows: IntArray, n_arcs: int) -> None:
        """Encode these rows, and in the same batch the graphs they will probably have after the next arcs."""
        drafts = [(rows, self.states.take(rows)), *drafted(self.model, self.table.encodings, self.states, rows, n_arcs)]
        owners = np.concatenate([of for of, _ in drafts])
        states = States.joined([some for _, some in drafts])
        new = self.model.encode_sentences(states, [self.features[row] for row in owners.tolist()])
        self.drafts.put(owners, states, new)
        self._use_drafts(rows)
        self.n_encoded += len(owners)
        self.n_pieces += int(self.lengths[owners].sum())

    def _encode_together(self, rows: IntArray) -> None:
        """Encode these rows in one batch."""
        features = [self.features[row] for row in rows.tolist()]
        self.table.put(rows, self.model.encode_sentences(self.states.take(rows), features), self.states.n_words[rows])
        self.n_encoded += len(rows)
        self.n_pieces += int(self.lengths[rows].sum())


Reencoder = StateReencoder | SentenceReencoder


def reencoder_of(
    model: ParserModel,
    features: Sequence[Features],
    states: States,
    decode: DecodeConfig,
    most_encodings: int | None = None,
) -> Reencoder:
    """The re-encoder that a model needs; the decoder changes these states."""
    if model.config.input == "state":
        return StateReencoder(model, features, states)
    return SentenceReencoder(model, features, states, decode, most_encodings)


def _chunks(rows: IntArray, lengths: IntArray, budget: int) -> Iterator[IntArray]:
    """Yield rows of similar length together; a chunk, padded to its longest row, keeps to the budget of pieces.

    A chunk of at least CHUNK_PIECES ends before a row that is much shorter than its longest.
    """
    order = np.argsort(lengths, kind="stable")[::-1]
    first = 0
    while first < len(order):
        sizes = lengths[order[first:]]
        sizes = sizes[: max(1, budget // int(sizes[0]))]
        is_end = (np.cumsum(sizes) - sizes >= CHUNK_PIECES) & (sizes < MIN_LENGTH_RATIO * sizes[0])
        n_rows = int(is_end.argmax()) if is_end.any() else len(sizes)
        yield np.sort(rows[order[first : first + n_rows]])
        first += n_rows
