"""One subject and one object: labels that would give a head a second one are not legal.

`treebank.core_arguments` says which labels these are. Only labels are restricted, not arcs: the word is attached where the
model wants it, with its best label among the others. If no label were left, all stay legal. Given labels are never changed.

Shapes: B sentences, m nodes of the longest, A arcs, L labels, K kinds of arguments.
"""

import math
from collections.abc import Sequence
from copy import copy

import numpy as np
import torch
from torch import Tensor

from graph2graph.arrays import BoolArray, IntArray
from graph2graph.treebank.core_arguments import CoreArgument, core_argument


class OneSubject:
    """Which nodes of a batch have a subject or an object already."""

    def __init__(self, labels: Sequence[str], n_rows: int, n_nodes: int) -> None:
        kinds = [core_argument(label) for label in labels]
        self.is_kind: BoolArray = np.array([[kind == one for one in CoreArgument] for kind in kinds])  # [L, K]
        self.has: BoolArray = np.zeros((n_rows, n_nodes, len(CoreArgument)), dtype=np.bool_)  # [B, m, K]

    def mark(self, rows: IntArray, heads: IntArray, labels: IntArray) -> None:
        """Count these arcs, [A] each; another arc of the same step may have the same head."""
        np.logical_or.at(self.has, (rows, heads), self.is_kind[labels])

    def restrict(self, scores: Tensor, rows: IntArray, heads: IntArray) -> Tensor:
        """The scores of labels, [A, L], with minus infinity where the label would be the second of its kind."""
        is_second = self.has[rows, heads] @ self.is_kind.T  # [A, L]
        restricted = scores.masked_fill(torch.from_numpy(is_second).to(scores.device), -math.inf)
        is_possible = (restricted > -math.inf).any(dim=1, keepdim=True)
        return torch.where(is_possible, restricted, scores)

    def take(self, rows: IntArray) -> None:
        """Continue with copies of some rows."""
        self.has = self.has[rows]

    def of_parts(self, parts: Sequence[tuple[int, IntArray]]) -> "OneSubject":
        """The same for some nodes of some rows, each of which becomes a row."""
        found = copy(self)
        width = max(len(nodes) for _, nodes in parts)
        found.has = np.zeros((len(parts), width, self.has.shape[2]), dtype=np.bool_)
        for new, (row, nodes) in enumerate(parts):
            found.has[new, : len(nodes)] = self.has[row, nodes]
        return found
