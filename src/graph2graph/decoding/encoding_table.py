"""The newest encoding of each sentence of a batch, in one table that the classifiers read."""

import numpy as np
from torch import Tensor

from graph2graph.arrays import IntArray
from graph2graph.models.parser_model import Encodings, ParserModel
from graph2graph.transition.states import States


class EncodingTable:
    """The vectors of all nodes of B sentences; encoding a sentence again replaces them.

    With `is_projected`, the classifiers' first layer is applied to each vector when it is stored. This pays if many decisions
    use one encoding.
    """

    def __init__(self, model: ParserModel, states: States, *, is_projected: bool) -> None:
        self.model, self.is_projected = model, is_projected
        n_nodes = states.n_words + 1
        starts, total = np.cumsum(n_nodes) - n_nodes, int(n_nodes.sum())
        columns = np.arange(states.heads.shape[1] + 1)
        indices = np.where(columns < n_nodes[:, None], starts[:, None] + columns, total)  # the last is the empty slot
        vectors = model.empty.new_empty(total + 1, len(model.empty))
        self.encodings = Encodings(vectors, model.tensor(indices), model.tensor(starts))
        if is_projected:
            exist, relation = model.exist, model.relation
            self.encodings.exist = [vectors.new_empty(total + 1, len(exist.bias)) for _ in exist.slots]
            self.encodings.relation = [vectors.new_empty(total + 1, len(relation.bias)) for _ in relation.slots]

    def put(self, rows: IntArray, new: Encodings, n_words: IntArray) -> None:
        """Store the new vectors of some rows, which have so many words, and that of the empty slot."""
        columns = np.arange(new.node_index.shape[1])
        chosen = self.model.tensor((columns <= n_words[:, None]) | (columns == columns[-1]))  # [len(rows), m + 1]
        indices = self.encodings.node_index[self.model.tensor(rows)][chosen]
        self._put(indices, new.vectors[new.node_index[chosen]])

    def put_row(self, row: int, vectors: Tensor) -> None:
        """Store the vectors of all nodes of one row."""
        self._put(self.encodings.node_index[row, : len(vectors)], vectors)

    def _put(self, indices: Tensor, vectors: Tensor) -> None:
        encodings = self.encodings
        encodings.vectors[indices] = vectors
        for classifier, columns in ((self.model.exist, encodings.exist), (self.model.relation, encodings.relation)):
            if columns is not None:
                for column, projected in zip(columns, classifier.project(vectors), strict=True):
                    column[indices] = projected

    def take(self, rows: IntArray, states: States) -> "EncodingTable":
        """A table with copies of some rows, whose states are these."""
        taken = EncodingTable(self.model, states, is_projected=self.is_projected)
        old, new = self.encodings, taken.encodings
        is_node = new.node_index < len(new.vectors) - 1
        indices = old.node_index[self.model.tensor(rows)][is_node]
        for column, old_column in zip(_columns(new), _columns(old), strict=True):
            column[:-1], column[-1] = old_column[indices], old_column[-1]
        return taken


def _columns(encodings: Encodings) -> list[Tensor]:
    return [encodings.vectors, *(encodings.exist or []), *(encodings.relation or [])]
