"""Exact greedy decoding, many sentences at a time.

SentTr encodes a sentence once. In SentTr+G2GTr the input changes only when an arc is added, so a state is encoded again
after an arc and only then. The state models see stack and buffer, so they encode at every transition.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from graph2graph.models.features import OUTSIDE, Features
from graph2graph.models.memory import Memory
from graph2graph.models.model import Encodings, ParserModel
from graph2graph.transitions import Action, IntArray, States


@torch.inference_mode()
def greedy(model: ParserModel, features: Sequence[Features]) -> States:
    """The final states of these sentences: the best legal action at every step, with its best label."""
    states = States([feature.n_words for feature in features])
    memory = Memory(model, features) if model.config.input == "state" else None
    encodings: Encodings | None = None
    stale = np.ones(len(states), dtype=np.bool_)
    parts = list(features)  # what of each sentence is to be encoded next: all of it, then what the last arc has changed
    while len(rows := (~states.is_final).nonzero()[0]):
        if memory is not None:
            encodings = model.encode(states.take(rows), [], vectors=memory.vectors, owners=rows)
            encoded = np.arange(len(rows))
        else:
            if len(wanted := rows[stale[rows]]):
                encodings = _refresh(model, states, [parts[row] for row in wanted], wanted, encodings)
                stale[wanted] = False
            encoded = rows
        assert encodings is not None
        focus = states.focus[rows]
        past = None if memory is None or memory.past is None else memory.past[model.tensor(rows)]
        index = model.tensor(encoded)
        scores = model.action_scores(encodings, index, model.tensor(focus), model.tensor(states.legal()[rows]), past)
        actions = scores.argmax(dim=1).cpu().numpy()
        labels = _labels(model, encodings, index, actions, focus, past)
        states.apply(rows, actions, labels)
        if memory is not None:
            memory.advance(states, rows, actions, labels, focus)
        elif model.config.graph_input:
            stale[rows] = (actions == Action.LEFT_ARC) | (actions == Action.RIGHT_ARC)
            dependents = np.where(actions == Action.LEFT_ARC, focus[:, 0], focus[:, 1])
            for row, dependent in zip(rows.tolist(), dependents.tolist(), strict=True):
                if stale[row] and features[row].is_long:
                    parts[row] = features[row].around(dependent)
    return states


def _labels(
    model: ParserModel, encodings: Encodings, index: Tensor, actions: IntArray, focus: IntArray, past: Tensor | None
) -> IntArray:
    """The best label of each arc; for the other actions it means nothing."""
    arcs = ((actions == Action.LEFT_ARC) | (actions == Action.RIGHT_ARC)).nonzero()[0]
    labels = np.zeros(len(actions), dtype=np.int64)
    if len(arcs):
        chosen = model.tensor(arcs)
        is_right = model.tensor(actions[arcs] == Action.RIGHT_ARC)
        past = None if past is None else past[chosen]
        scores = model.label_scores(encodings, index[chosen], model.tensor(focus[arcs]), is_right, past)
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
