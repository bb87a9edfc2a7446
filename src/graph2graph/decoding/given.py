"""Given arcs and labels: greedy decoding keeps them and chooses the rest."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graph2graph.arrays import BoolArray, IntArray, padded
from graph2graph.transition.constraints import Constraint
from graph2graph.transition.state import NO_NODE, Action


class Given(NamedTuple):
    """The given part of a sentence's tree: heads (or NOT_ROOT) and labels of nodes 0..n, NO_NODE where none is given."""

    heads: IntArray
    labels: IntArray


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
