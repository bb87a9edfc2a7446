"""The straightforward decoder: one padded batch in which all sentences advance together and are encoded at every transition.

It uses n × n × c relation tensors. `benchmarks/parse.py` compares the real decoder with it: same weights, same trees.
"""

from collections.abc import Sequence

import numpy as np
import torch

import naive
from graph2graph.arrays import IntArray, padded
from graph2graph.models.features import Features, Window
from graph2graph.models.parser_model import Encodings, ParserModel
from graph2graph.transition.state import NO_NODE, Action
from graph2graph.transition.states import States


@torch.inference_mode()
def parse(model: ParserModel, features: Sequence[Features]) -> States:
    """The final states of sentences that fit the encoder."""
    states = States([feature.n_words for feature in features])
    while not states.is_final.all():
        encodings = encode(model, states, features)
        focus, legal = torch.from_numpy(states.focus), torch.from_numpy(states.legal())
        everyone = torch.arange(len(states))
        legal[:, Action.SHIFT] |= ~legal.any(dim=1)  # complete rows need an action too; it is not taken
        actions = model.action_scores(encodings, everyone, focus, legal).argmax(dim=1)
        is_right = actions == Action.RIGHT_ARC
        labels = model.label_scores(encodings, everyone, focus, is_right).argmax(dim=1).numpy()
        rows = (~states.is_final).nonzero()[0]
        states.apply(rows, actions.numpy()[rows], labels[rows])
    return states


def encode(model: ParserModel, states: States, features: Sequence[Features]) -> Encodings:
    """All sentences in one batch, padded to the longest."""
    rows = [row for feature in features for row in feature.windows]
    tokens, tags = padded([row.tokens for row in rows], 0), padded([row.tags for row in rows], 0)  # [B, n]
    length = tokens.shape[1]
    is_real = np.arange(length) < np.array([[len(row.tokens)] for row in rows])  # [B, n]
    relations, labels = graph(rows, states, length, model.n_labels)
    x = model.encoder.words(torch.from_numpy(tokens)) + model.tags(torch.from_numpy(tags))
    assert model.labels is not None
    x = x + model.labels(torch.from_numpy(labels))
    x[:, 1] = model.root
    x = naive.encode(model.encoder, x, torch.from_numpy(relations), torch.from_numpy(is_real))  # [B, n, d]
    vectors = torch.cat([x.flatten(0, 1), model.empty[None]])  # [B·n + 1, d]
    starts = np.arange(len(rows)) * length
    nodes = starts[:, None] + padded([row.columns for row in rows], 0, states.heads.shape[1])
    empty = np.full((len(rows), 1), len(vectors) - 1)
    return Encodings(vectors, torch.from_numpy(np.concatenate([nodes, empty], axis=1)), torch.from_numpy(starts))


def graph(rows: Sequence[Window], states: States, length: int, n_labels: int) -> tuple[IntArray, IntArray]:
    """The relation ids, [B, n, n], and the labels of the arcs to the pieces, [B, n]."""
    relations = np.zeros((len(rows), length, length), dtype=np.int64)
    labels = np.zeros((len(rows), length), dtype=np.int64)
    for number, row in enumerate(rows):
        arcs = list(zip(row.inner_heads, row.inner, strict=True))
        labels[number, row.inner] = 1 + n_labels
        for dependent in (states.heads[number] != NO_NODE).nonzero()[0]:
            arcs.append((row.columns[states.heads[number, dependent]], row.columns[dependent]))
            labels[number, row.columns[dependent]] = 1 + states.labels[number, dependent]
        for head, dependent in arcs:
            relations[number, head, dependent], relations[number, dependent, head] = 1, 2
    return relations, labels
