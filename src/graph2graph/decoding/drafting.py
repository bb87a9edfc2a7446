"""Drafting: graphs that are likely to come next are encoded in the same batch as the one that is needed now.

Encoding one short sentence leaves a machine idle: four versions of it together take far less than four times as long. So if a
batch has room, the parser goes on with the stale encoding, collects the graphs that this builds, and encodes them too. When
decoding builds one of these graphs, its encoding is there; when it builds another, the sentence's drafts are dropped. Every
decision is made on the true graph, so the trees are those of exact decoding.
"""

from collections.abc import Iterator

import numpy as np
from torch import Tensor

from graph2graph.arrays import IntArray
from graph2graph.models.parser_model import Encodings, ParserModel
from graph2graph.transition.state import Action
from graph2graph.transition.states import States, is_arc


class Drafts:
    """Encodings of graphs that may come next, by row and graph."""

    def __init__(self) -> None:
        self._vectors: dict[tuple[int, bytes], Tensor] = {}

    def __bool__(self) -> bool:
        return bool(self._vectors)

    def put(self, rows: IntArray, states: States, encodings: Encodings) -> None:
        """Keep the encoding of each of these states for its row."""
        for position, row in enumerate(rows.tolist()):
            nodes = encodings.node_index[position, : int(states.n_words[position]) + 1]
            self._vectors[row, states.graph_key(position)] = encodings.vectors[nodes]

    def pop(self, row: int, states: States) -> Tensor | None:
        """The encoding of the row's present graph; if it was not drafted, drop the row's drafts and return None."""
        found = self._vectors.pop((row, states.graph_key(row)), None)
        if found is None:
            self._vectors = {key: vectors for key, vectors in self._vectors.items() if key[0] != row}
        return found


def drafted(
    model: ParserModel, encodings: Encodings, states: States, rows: IntArray, n_arcs: int
) -> Iterator[tuple[IntArray, States]]:
    """Yield rows and their states after each of the next n_arcs arcs, as the stale encodings predict them."""
    ahead = states.take(rows)
    n_made, running = np.zeros_like(rows), np.arange(len(rows))
    while len(running):
        focus = ahead.focus_of(running)
        legal = model.tensor(ahead.legal_in(running, focus))
        owners, seen = model.tensor(rows[running]), model.tensor(focus)
        best = model.action_scores(encodings, owners, seen, legal).argmax(dim=1)
        labels = model.label_scores(encodings, owners, seen, best == Action.RIGHT_ARC).argmax(dim=1)
        actions = best.cpu().numpy()
        ahead.apply(running, actions, labels.cpu().numpy())
        attached = running[is_arc(actions)]
        n_made[attached] += 1
        attached = attached[~ahead.is_final[attached]]  # a complete tree needs no more decisions
        if len(attached):
            yield rows[attached], ahead.take(attached)
        running = running[~ahead.is_final[running] & (n_made[running] < n_arcs)]
