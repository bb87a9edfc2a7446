"""Beam search: the best trees of each sentence and their scores.

The score of a tree is the log probability of the actions and labels that made it. Of the hypotheses of a sentence the best B
go on at each step, and always the one that greedy decoding would follow: so the best tree never scores below the greedy one,
and a beam of one is greedy decoding.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from graph2graph.arrays import BoolArray, FloatArray, IntArray
from graph2graph.config import DecodeConfig
from graph2graph.decoding.greedy import DEFAULT, Work
from graph2graph.decoding.reencoding import SentenceSight, StateSight, View, sight_of
from graph2graph.models.features import Features
from graph2graph.models.parser_model import ParserModel
from graph2graph.transition.state import Action
from graph2graph.transition.states import States

N_LABELS = 3  # of each arc that are tried
DONE = -1  # in place of an action: the hypothesis is complete


@dataclass(frozen=True)
class Hypothesis:
    """A tree, the log probability of the way to it, and its share among the trees that were found."""

    heads: IntArray  # of nodes 0..n
    labels: IntArray
    score: float
    share: float


@dataclass(frozen=True)
class _Candidates:
    """What could come next, C of them."""

    parents: IntArray  # the row that each comes from
    actions: IntArray
    labels: IntArray
    totals: FloatArray
    is_greedy: BoolArray  # whether greedy decoding would go there


@torch.inference_mode()
def beam_search(
    model: ParserModel,
    features: Sequence[Features],
    beam: int,
    decode: DecodeConfig = DEFAULT,
    *,
    work: Work | None = None,
) -> list[list[Hypothesis]]:
    """The trees found for each sentence, at most as many as the beam is wide, the best first."""
    states = States([feature.n_words for feature in features])
    decode = decode.model_copy(update={"draft_tokens": 0})  # other hypotheses come up at every step
    sight = sight_of(model, features, states, decode)
    owners, totals = np.arange(len(features)), np.zeros(len(features))
    is_greedy: BoolArray = np.ones(len(features), dtype=np.bool_)
    while not states.is_final.all():
        found = _expand(model, sight, states, totals, is_greedy)
        chosen = _best(found, owners[found.parents], beam)
        parents, actions, labels = found.parents[chosen], found.actions[chosen], found.labels[chosen]
        owners, totals, is_greedy = owners[parents], found.totals[chosen], found.is_greedy[chosen]
        states = states.take(parents)
        sight.take(parents, states)
        rows = (actions != DONE).nonzero()[0]
        focus = states.focus_of(rows)
        states.apply(rows, actions[rows], labels[rows])
        sight.acted(rows, focus, actions[rows], labels[rows])
    if work is not None:
        work.n_encoded += sight.n_encoded
        work.n_pieces += sight.n_pieces
    return [_ranked(states, (owners == number).nonzero()[0], totals) for number in range(len(features))]


def _expand(
    model: ParserModel, sight: StateSight | SentenceSight, states: States, totals: FloatArray, is_greedy: BoolArray
) -> _Candidates:
    """Every hypothesis with each legal action, the arcs with their best labels; complete ones as they are."""
    is_final = states.is_final
    rows, done = (~is_final).nonzero()[0], is_final.nonzero()[0]
    focus = states.focus_of(rows)
    legal = states.legal_in(rows, focus)
    sight.refresh(rows)
    view = sight.look(rows, focus, legal)
    if len(sight.sure(rows, view)) < len(rows):
        sight.refresh(rows)
        view = sight.look(rows, focus, legal)
    action_p = view.scores.double().log_softmax(dim=1).cpu().numpy()
    best = action_p.argmax(axis=1)
    parts = [(done, np.full(len(done), DONE), np.zeros_like(done), totals[done], is_greedy[done])]
    for action in Action:
        places = legal[:, action].nonzero()[0]
        parents, score = rows[places], totals[rows[places]] + action_p[places, action]
        first = is_greedy[parents] & (best[places] == action)
        if action in (Action.SHIFT, Action.SWAP):
            parts.append((parents, np.full(len(places), int(action)), np.zeros_like(places), score, first))
            continue
        labels, label_p = _labels(model, view, places, focus, is_right=action == Action.RIGHT_ARC)
        for rank in range(labels.shape[1]):
            some = np.isfinite(label_p[:, rank])  # fewer labels than that may be possible
            total, taken = score + label_p[:, rank], np.full(len(places), int(action))
            parts.append((parents[some], taken[some], labels[some, rank], total[some], (first & (rank == 0))[some]))
    return _Candidates(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _labels(
    model: ParserModel, view: View, places: IntArray, focus: IntArray, *, is_right: bool
) -> tuple[IntArray, FloatArray]:
    """The best labels of an arc in each of these decisions, and their log probabilities, [D, N_LABELS]."""
    index = model.tensor(places)
    direction = torch.full((len(places),), is_right, device=model.device)
    past = None if view.past is None else view.past[index]
    scores = model.label_scores(view.encodings, view.encoded[index], model.tensor(focus[places]), direction, past)
    label_p, labels = scores.double().log_softmax(dim=1).topk(min(N_LABELS, scores.shape[1]), dim=1)
    return labels.cpu().numpy(), label_p.cpu().numpy()


def _best(found: _Candidates, owners: IntArray, beam: int) -> IntArray:
    """The best candidates of each sentence, and the greedy one, which comes first."""
    order = np.lexsort((-found.totals, ~found.is_greedy, owners))
    sorted_owners = owners[order]
    begins = np.searchsorted(sorted_owners, sorted_owners)
    chosen: IntArray = order[np.arange(len(order)) - begins < beam]
    return chosen


def _ranked(states: States, rows: IntArray, totals: FloatArray) -> list[Hypothesis]:
    """The different trees among some rows, the best first."""
    trees: dict[bytes, int] = {}
    for row in rows[np.argsort(-totals[rows], kind="stable")].tolist():
        trees.setdefault(states.heads[row].tobytes() + states.labels[row].tobytes(), row)
    kept = list(trees.values())
    weights = np.exp(totals[kept] - totals[kept[0]])
    nodes = slice(int(states.n_words[kept[0]]) + 1)
    return [
        Hypothesis(states.heads[row, nodes], states.labels[row, nodes], float(totals[row]), float(share))
        for row, share in zip(kept, weights / weights.sum(), strict=True)
    ]
