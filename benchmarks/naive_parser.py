"""The straightforward decoder: one padded batch in lock-step, all encoded again at every transition, n × n × d relations.

What `benchmarks/parse.py` measures the real one against. Same weights, same trees.
"""

from collections.abc import Sequence

import numpy as np
import torch

import naive
from graph2graph.models.features import Features
from graph2graph.models.parser_model import Encodings, ParserModel
from graph2graph.transition.state import NO_NODE, Action
from graph2graph.transition.states import States


@torch.inference_mode()
def parse(model: ParserModel, features: Sequence[Features]) -> States:
    """The final states of short sentences."""
    states = States([feature.n_words for feature in features])
    while not states.is_final.all():
        encodings = encode(model, states, features)
        focus, legal = torch.from_numpy(states.focus), torch.from_numpy(states.legal())
        everyone = torch.arange(len(states))
        legal[:, Action.SHIFT] |= ~legal.any(dim=1)  # rows that are done wait for the others
        actions = model.action_scores(encodings, everyone, focus, legal).argmax(dim=1)
        is_right = actions == Action.RIGHT_ARC
        labels = model.label_scores(encodings, everyone, focus, is_right).argmax(dim=1).numpy()
        rows = (~states.is_final).nonzero()[0]
        states.apply(rows, actions.numpy()[rows], labels[rows])
    return states


def encode(model: ParserModel, states: States, features: Sequence[Features]) -> Encodings:
    """All rows, padded to the longest, with a matrix of relation ids for each."""
    length = max(feature.n_pieces for feature in features)
    n_rows, width = len(features), states.heads.shape[1]
    tokens = np.zeros((n_rows, length), dtype=np.int64)
    tags, labels = np.zeros_like(tokens), np.zeros_like(tokens)
    is_real = np.zeros((n_rows, length), dtype=np.bool_)
    relations = np.zeros((n_rows, length, length), dtype=np.int64)
    places = np.zeros((n_rows, width), dtype=np.int64)
    for number, feature in enumerate(features):
        [row] = feature.windows
        tokens[number, : len(row.tokens)], tags[number, : len(row.tags)] = row.tokens, row.tags
        is_real[number, : len(row.tokens)] = True
        places[number, : len(row.columns)] = row.columns
        arcs = [(row.columns[h], row.columns[d]) for d, h in enumerate(states.heads[number]) if h != NO_NODE]
        for head, dependent in [*arcs, *zip(row.inner_heads, row.inner, strict=True)]:
            relations[number, head, dependent], relations[number, dependent, head] = 1, 2
        for dependent, label in enumerate(states.labels[number]):
            if states.heads[number, dependent] != NO_NODE:
                labels[number, row.columns[dependent]] = 1 + label
        labels[number, row.inner] = 1 + model.n_labels
    x = model.encoder.words(torch.from_numpy(tokens)) + model.tags(torch.from_numpy(tags))
    assert model.labels is not None
    x = x + model.labels(torch.from_numpy(labels))
    x[:, 1] = model.root
    x = naive.encode(model.encoder, x, torch.from_numpy(relations), torch.from_numpy(is_real))
    flat = places + np.arange(n_rows)[:, None] * length
    empty = np.full((n_rows, 1), n_rows * length)
    vectors = torch.cat([x.flatten(0, 1), model.empty[None]])
    return Encodings(vectors, torch.from_numpy(np.concatenate([flat, empty], axis=1)), torch.from_numpy(flat[:, 0]))
