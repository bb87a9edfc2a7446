"""Beam search: the best trees of each sentence and their scores.

The score of a tree is the log probability of the actions and labels that built it. At each step a sentence keeps its best
hypotheses, and always the one that greedy decoding would build. So the best tree never scores below the greedy one, and a beam
of one is greedy decoding.

Shapes: D hypotheses that are not complete, C candidates for the next step.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from graph2graph.arrays import BoolArray, FloatArray, IntArray
from graph2graph.config import DecodeConfig
from graph2graph.decoding.greedy import DEFAULT, Work
from graph2graph.decoding.one_subject import OneSubject
from graph2graph.decoding.reencoding import Reencoder, Scored, reencoder_of
from graph2graph.models.features import Features
from graph2graph.models.parser_model import ParserModel
from graph2graph.transition.state import Action
from graph2graph.transition.states import States, arcs_of

N_LABELS = 3  # tried for each arc
DONE = -1  # in place of an action: the hypothesis is complete


class Hypothesis(NamedTuple):
    """A tree that was found for a sentence."""

    heads: IntArray  # of nodes 0..n
    labels: IntArray
    score: float  # the log probability of the actions and labels that built it
    share: float  # its share of the probability of all trees found for the sentence


class _Beam(NamedTuple):
    """The hypotheses of all sentences, each a row of the states."""

    states: States
    sentences: IntArray  # of each row
    scores: FloatArray
    is_greedy: BoolArray  # whether greedy decoding would build this


class _Candidates(NamedTuple):
    """The hypotheses that could come next."""

    parents: IntArray  # [C] the row that each continues
    actions: IntArray
    labels: IntArray
    scores: FloatArray
    is_greedy: BoolArray

    def take(self, chosen: IntArray | BoolArray) -> "_Candidates":
        """Some of the candidates."""
        return _Candidates._make(column[chosen] for column in self)


@torch.inference_mode()
def beam_search(
    model: ParserModel,
    features: Sequence[Features],
    beam: int,
    decode: DecodeConfig = DEFAULT,
    *,
    work: Work | None = None,
    one_subject: OneSubject | None = None,
) -> list[list[Hypothesis]]:
    """The trees found for each sentence, the best first; at most `beam` trees."""
    decode = decode.model_copy(update={"draft_tokens": 0})  # the hypotheses change at every step, which wastes drafts
    states, n = States([feature.n_words for feature in features]), len(features)
    kept = _Beam(states, np.arange(n), np.zeros(n), np.ones(n, dtype=np.bool_))
    reencoder = reencoder_of(model, features, states, decode)
    while not kept.states.is_final.all():
        candidates = _expand(kept, reencoder, one_subject)
        best = _best(candidates, kept.sentences[candidates.parents], beam)
        kept = _advance(kept, candidates.take(best), reencoder, one_subject)
    if work is not None:
        work.add(reencoder)
    return [_ranked(kept, (kept.sentences == number).nonzero()[0]) for number in range(n)]


def _advance(kept: _Beam, chosen: _Candidates, reencoder: Reencoder, one_subject: OneSubject | None) -> _Beam:
    """The beam after the chosen continuations."""
    states = kept.states.take(chosen.parents)
    reencoder.take(chosen.parents, states)
    rows = (chosen.actions != DONE).nonzero()[0]
    focus, actions, labels = states.focus_of(rows), chosen.actions[rows], chosen.labels[rows]
    arcs = arcs_of(actions, focus)
    states.take_legal(rows, actions, arcs, labels)
    reencoder.advance(rows, focus, actions, labels, arcs)
    if one_subject is not None:
        one_subject.take(chosen.parents)
        one_subject.mark(rows[arcs.positions], arcs.heads, labels[arcs.positions])
    return _Beam(states, kept.sentences[chosen.parents], chosen.scores, chosen.is_greedy)


def _expand(kept: _Beam, reencoder: Reencoder, one_subject: OneSubject | None) -> _Candidates:
    """The continuations of all hypotheses: complete ones as they are, the others with each legal action."""
    is_final = kept.states.is_final
    rows, done = (~is_final).nonzero()[0], is_final.nonzero()[0]
    focus = kept.states.focus_of(rows)
    legal = kept.states.legal_in(rows, focus)
    scored = _score(reencoder, rows, focus, legal)
    log_p = scored.actions.double().log_softmax(dim=1).cpu().numpy()  # [D, 4]
    best = log_p.argmax(axis=1)
    nothing = np.zeros_like(done)
    parts = [_Candidates(done, nothing + DONE, nothing, kept.scores[done], kept.is_greedy[done])]
    for action in Action:
        decisions = legal[:, action].nonzero()[0]
        parents = rows[decisions]
        scores = kept.scores[parents] + log_p[decisions, action]
        is_greedy = kept.is_greedy[parents] & (best[decisions] == action)
        actions = np.full(len(decisions), int(action))
        one = _Candidates(parents, actions, np.zeros_like(decisions), scores, is_greedy)
        if action.is_arc:
            label_scores = _label_scores(one, scored, decisions, focus, reencoder.model, one_subject)
            parts += _with_labels(one, label_scores)
        else:
            parts.append(one)
    return _Candidates(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _score(reencoder: Reencoder, rows: IntArray, focus: IntArray, legal: BoolArray) -> Scored:
    """The scores of the actions of all hypotheses, each computed from an encoding that it may use."""
    scored = reencoder.score(reencoder.encode_waiting(rows, at_once=True), focus, legal)
    if not scored.is_sure.all():
        reencoder.postpone(rows[~scored.is_sure])
        scored = reencoder.score(reencoder.encode_waiting(rows, at_once=True), focus, legal)
    return scored


def _label_scores(
    arcs: _Candidates,
    scored: Scored,
    decisions: IntArray,
    focus: IntArray,
    model: ParserModel,
    one_subject: OneSubject | None,
) -> Tensor:
    """The scores of the labels of these candidates, which all add an arc."""
    is_right = model.tensor(arcs.actions == Action.RIGHT_ARC)
    scores = scored.label_scores(model, decisions, focus, is_right)
    if one_subject is not None:
        scores = one_subject.restrict(scores, arcs.parents, arcs_of(arcs.actions, focus[decisions]).heads)
    return scores


def _with_labels(arcs: _Candidates, label_scores: Tensor) -> Iterator[_Candidates]:
    """These candidates with their best labels, then with the second best, and so on."""
    scores = label_scores.double().log_softmax(dim=1)
    top_p, top = scores.topk(min(N_LABELS, scores.shape[1]), dim=1)
    for rank, (log_p, labels) in enumerate(zip(top_p.T.cpu().numpy(), top.T.cpu().numpy(), strict=True)):
        labelled = arcs._replace(labels=labels, scores=arcs.scores + log_p, is_greedy=arcs.is_greedy & (rank == 0))
        yield labelled.take(np.isfinite(log_p))  # an arc from ROOT can only have the root label, no other arc can


def _best(found: _Candidates, sentences: IntArray, beam: int) -> IntArray:
    """The best candidates of each sentence, the greedy one first."""
    order = np.lexsort((-found.scores, ~found.is_greedy, sentences))
    in_order = sentences[order]
    starts = np.searchsorted(in_order, in_order)
    chosen: IntArray = order[np.arange(len(order)) - starts < beam]
    return chosen


def _ranked(kept: _Beam, rows: IntArray) -> list[Hypothesis]:
    """The different trees in some rows, the best first."""
    states, scores = kept.states, kept.scores
    trees: dict[bytes, int] = {}
    for row in rows[np.argsort(-scores[rows], kind="stable")].tolist():
        trees.setdefault(states.graph_key(row), row)
    different = list(trees.values())
    weights = np.exp(scores[different] - scores[different[0]])
    nodes = slice(int(states.n_words[different[0]]) + 1)
    return [
        Hypothesis(states.heads[row, nodes], states.labels[row, nodes], float(scores[row]), float(share))
        for row, share in zip(different, weights / weights.sum(), strict=True)
    ]
