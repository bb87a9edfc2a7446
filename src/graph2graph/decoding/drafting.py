"""Drafting: encoding the graphs that are about to come together with the one that is needed.

One short sentence at a time leaves a machine idle: encoding it four times at once takes far less than four times as long. So
where there is room in a batch, the parser goes on with the encoding it has, which lacks the newest arcs, notes the graphs that
it would build, and has them encoded along. When decoding comes to one of these very graphs, its encoding is there; when it does
not, the draft is thrown away. What is decided is decided on the true graph, always: the trees are those of exact decoding.
"""

from collections.abc import Iterator

import numpy as np
import torch

from graph2graph.arrays import IntArray
from graph2graph.models.parser_model import Encodings, ParserModel
from graph2graph.transition.state import Action
from graph2graph.transition.states import States


class Drafts:
    """Encodings of graphs that may come, by row and graph."""

    def __init__(self) -> None:
        self._vectors: dict[tuple[int, bytes], torch.Tensor] = {}

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._vectors)

    def put(self, rows: IntArray, states: States, encodings: Encodings) -> None:
        """Keep the encodings of these states, each of one of the rows."""
        for place, row in enumerate(rows.tolist()):
            nodes = encodings.places[place, : int(states.n_words[place]) + 1]
            self._vectors[row, _graph(states, place)] = encodings.vectors[nodes]

    def take(self, row: int, states: States) -> torch.Tensor | None:
        """The encoding of the graph that a row has now, if it was drafted; if not, the row's other drafts are no use."""
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
    """What would come of these rows, decided on encodings that fall behind: the rows, and their states, at each next arc."""
    ahead = states.take(rows)
    n_made, places = np.zeros_like(rows), np.arange(len(rows))
    while len(places):
        focus = ahead.focus_of(places)
        encoded, seen = model.tensor(rows[places]), model.tensor(focus)
        legal = model.tensor(ahead.legal_in(places, focus))
        actions = model.action_scores(encodings, encoded, seen, legal).argmax(dim=1)
        labels = model.label_scores(encodings, encoded, seen, actions == Action.RIGHT_ARC).argmax(dim=1)
        chosen = actions.cpu().numpy()
        ahead.apply(places, chosen, labels.cpu().numpy())
        arcs = places[(chosen == Action.LEFT_ARC) | (chosen == Action.RIGHT_ARC)]
        n_made[arcs] += 1
        arcs = arcs[~ahead.is_final[arcs]]  # nothing is decided on a whole tree
        if len(arcs):
            yield rows[arcs], ahead.take(arcs)
        places = places[~ahead.is_final[places] & (n_made[places] < n_arcs)]
