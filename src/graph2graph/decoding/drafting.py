"""Drafting: graphs that are likely to come next are encoded in the same batch as the one that is needed now.

Encoding one short sentence leaves a machine idle: encoding four versions of it at once takes far less than four times as long.
So if a batch has room, the parser continues on the stale encoding that it has, collects the graphs this would build, and
encodes them too. When decoding builds one of these very graphs, its encoding is there; if it builds another, the draft is
thrown away. Every decision is made on the true graph, so the trees are those of exact decoding.
"""

from collections.abc import Iterator

import numpy as np
from torch import Tensor

from graph2graph.arrays import IntArray
from graph2graph.models.parser_model import Encodings, ParserModel
from graph2graph.transition.state import Action
from graph2graph.transition.states import States, is_arc


class Drafts:
    """Encodings of graphs that may come, by row and graph."""

    def __init__(self) -> None:
        self._vectors: dict[tuple[int, bytes], Tensor] = {}

    def __bool__(self) -> bool:
        return bool(self._vectors)

    def put(self, rows: IntArray, states: States, encodings: Encodings) -> None:
        """Keep the encodings of these states; each belongs to one of the rows."""
        for position, row in enumerate(rows.tolist()):
            nodes = encodings.node_index[position, : int(states.n_words[position]) + 1]
            self._vectors[row, _graph(states, position)] = encodings.vectors[nodes]

    def pop(self, row: int, states: States) -> Tensor | None:
        """The encoding of the graph that a row has now; if it was not drafted, None, and the row's other drafts are dropped."""
        found = self._vectors.pop((row, _graph(states, row)), None)
        if found is None:
            self._vectors = {key: vectors for key, vectors in self._vectors.items() if key[0] != row}
        return found


def _graph(states: States, row: int) -> bytes:
    nodes = slice(int(states.n_words[row]) + 1)
    return states.heads[row, nodes].tobytes() + states.labels[row, nodes].tobytes()


def drafted(
    model: ParserModel, encodings: Encodings, states: States, rows: IntArray, n_arcs: int
) -> Iterator[tuple[IntArray, States]]:
    """Yield rows and their states after each of the next n_arcs arcs, as decoding on the stale encodings adds them."""
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
