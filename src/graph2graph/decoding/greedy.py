"""Greedy decoding (Eq. 10): at each step the best legal action and, for an arc, its best label.

Many sentences are decoded together, but each at its own pace: a sentence with a stale encoding waits until enough others wait
too, so that they share one batch of the encoder (see reencoding.py).

Shapes: D decisions in a step, A arcs among them, L labels, B sentences.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from graph2graph.arrays import BoolArray, FloatArray, IntArray, padded
from graph2graph.config import DecodeConfig
from graph2graph.decoding.one_subject import OneSubject
from graph2graph.decoding.reencoding import Reencoder, Scored, SentenceReencoder, StateReencoder, reencoder_of
from graph2graph.models.features import Features
from graph2graph.models.parser_model import ParserModel
from graph2graph.transition.constraints import Constraint
from graph2graph.transition.state import NO_NODE, ROOT, Action
from graph2graph.transition.states import Arcs, States, arcs_of, is_arc

DEFAULT = DecodeConfig()


class Given(NamedTuple):
    """The given part of a sentence's tree: heads (or NOT_ROOT) and labels of nodes 0..n, NO_NODE where none is given."""

    heads: IntArray
    labels: IntArray

    def mark(self, one_subject: OneSubject, row: int) -> None:
        """Count the given arcs among the arguments that heads have."""
        words = ((self.heads > ROOT) & (self.labels != NO_NODE)).nonzero()[0]
        one_subject.mark(np.full(len(words), row), self.heads[words], self.labels[words])


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


class Rules(NamedTuple):
    """What limits a decoder beyond the transition system."""

    given: GivenArcs | None = None
    one_subject: OneSubject | None = None

    def labels_of(self, scores: Tensor, rows: IntArray, arcs: Arcs) -> tuple[Tensor, IntArray]:
        """The scores of the labels of new arcs, [A, L], minus infinity where not legal, and the label that each arc gets."""
        if self.one_subject is not None:
            scores = self.one_subject.restrict(scores, rows, arcs.heads)
        labels: IntArray = scores.argmax(dim=1).cpu().numpy()
        if self.given is not None:
            labels = self.given.labels_of(rows, arcs.dependents, labels)
        if self.one_subject is not None:
            self.one_subject.mark(rows, arcs.heads, labels)
        return scores, labels


@dataclass(frozen=True)
class Decisions:
    """The decisions of one step."""

    rows: IntArray  # [D] of the states
    focus: IntArray  # [D, 3] s2, s1, b1 before the actions
    actions: IntArray  # [D]
    arcs: Arcs  # that they add
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
            positions = self.arcs.positions
            probabilities = self.label_scores.softmax(dim=1).cpu().numpy()
            found[positions] = probabilities[np.arange(len(positions)), self.labels[positions]]
        return found

    @property
    def log_p(self) -> FloatArray:
        """The log probability of each action and, for an arc, of its label, [D]."""
        actions = self.action_p[np.arange(len(self.actions)), self.actions]
        found: FloatArray = np.log(actions) + np.log(np.where(is_arc(self.actions), self.label_p, 1))
        return found


class TakenArc(NamedTuple):
    """An arc of a decoded tree and how probable it was."""

    row: int
    dependent: int
    arc_p: float
    label_p: float


@dataclass
class Tree:
    """A decoded tree."""

    heads: IntArray  # of nodes 0..n, and padding
    labels: IntArray
    score: float = 0.0  # if recorded: the log probability of the actions and labels that built it
    arcs: list[TakenArc] = field(default_factory=list)  # if recorded: with their probabilities


def taken_arcs(decisions: Sequence[Decisions]) -> Iterator[TakenArc]:
    """Yield the arcs that these decisions added."""
    for step in decisions:
        positions, _, dependents = step.arcs
        arc_p = step.action_p[positions, step.actions[positions]]
        found = (step.rows[positions], dependents, arc_p, step.label_p[positions])
        yield from map(TakenArc._make, zip(*(column.tolist() for column in found), strict=True))


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
    one_subject: OneSubject | None = None,
    start: States | None = None,
    most_encodings: int | None = None,
) -> States:
    """Decode sentences to their final states, which have the given arcs and labels.

    `work` is updated, and the decisions of each step are appended to `decisions`. Decoding begins with the states `start`,
    which it changes, instead of initial ones. With a threshold, each sentence is encoded at most `most_encodings` times.
    """
    work = work or Work()
    if given:  # drafts ignore given arcs, so they would seldom be used
        decode = decode.model_copy(update={"draft_tokens": 0})
    states = States([feature.n_words for feature in features]) if start is None else start
    reencoder = reencoder_of(model, features, states, decode, most_encodings)
    rules = Rules(GivenArcs(given) if given else None, one_subject)
    # labels are needed before the next encoding; at once only if something depends on them or sees them
    at_once = given or one_subject or work.observer or decisions is not None
    later = None if at_once or isinstance(reencoder, StateReencoder) or not reencoder.is_lasting else reencoder
    active = (~states.is_final).nonzero()[0]
    while len(active):
        decided = step(states, active, reencoder, rules, work, later)
        if decided is not None and decisions is not None:
            decisions.append(decided)
        active = active[~states.is_final[active]]
    if later is not None:
        later.label()
    work.add(reencoder)
    return states


def step(
    states: States,
    rows: IntArray,
    reencoder: Reencoder,
    rules: Rules,
    work: Work,
    later: SentenceReencoder | None = None,
) -> Decisions | None:
    """Take one step of Eq. 10 in those of these rows whose encoding can be used; None if there are none.

        Z^t = Gin(X, G^t)                         encode the sentence with the graph built so far
        G^{t+1} = G^t ∪ Gout(Select(Z^t, P^t))    decide on the vectors of s2, s1 and b1, and add the arc

    A sentence is encoded again only if its encoding is stale and, with a threshold, leaves the parser unsure. With `later`,
    that re-encoder labels the arcs later.
    """
    rows = reencoder.encode_waiting(rows)  # Z^t
    focus = states.focus_of(rows)
    legal = states.legal_in(rows, focus)
    if rules.given is not None:
        rules.given.restrict(legal, rows)
    scored = reencoder.score(rows, focus, legal)
    if not scored.is_sure.all():
        reencoder.postpone(rows[~scored.is_sure])
        sure = scored.is_sure.nonzero()[0]
        rows, focus, scored = rows[sure], focus[sure], scored.take(sure)
    if not len(rows):
        return None
    decided = _decide(reencoder.model, scored, rows, focus, rules, later)  # Gout(Select(Z^t, P^t))
    if work.observer is not None:
        work.observer(states, scored, decided)
    states.take_legal(rows, decided.actions, decided.arcs, decided.labels)  # G^{t+1}
    reencoder.advance(rows, focus, decided.actions, decided.labels, decided.arcs)
    if rules.given is not None:
        rules.given.advance(rows, decided.actions)
    return decided


def _decide(
    model: ParserModel, scored: Scored, rows: IntArray, focus: IntArray, rules: Rules, later: SentenceReencoder | None
) -> Decisions:
    """The best action in each row, and the label of each arc: the given one or else the best legal one, perhaps later."""
    actions = scored.actions.argmax(dim=1).cpu().numpy()
    arcs = arcs_of(actions, focus)
    labels = np.zeros(len(actions), dtype=np.int64)
    label_scores = None
    if later is not None:
        later.label_later(rows, focus, arcs)
    elif len(arcs.positions):
        is_right = model.tensor(actions[arcs.positions] == Action.RIGHT_ARC)
        label_scores = scored.label_scores(model, arcs.positions, focus, is_right)
        label_scores, labels[arcs.positions] = rules.labels_of(label_scores, rows[arcs.positions], arcs)
    return Decisions(rows, focus, actions, arcs, labels, scored.actions, label_scores, scored.is_fresh)
