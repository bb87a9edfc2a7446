"""Partial tree -> relation ids: the graph that the encoder sees (Section "Graph Inputs" and the paper's pseudo-code).

An arc from head i to dependent j gives r_ij = 1 and r_ji = 2; all else is 0, no relation. With labelled relations the ids
are 1 + 2·l and 2 + 2·l for label l. The further pieces of a word depend on its first piece, with a label of their own kind,
the one after the treebank's.
"""

from typing import NamedTuple

import numpy as np

from graph2graph.arrays import IntArray
from graph2graph.transition.state import NO_NODE


class Entries(NamedTuple):
    """The pairs of positions that are related, [E] each: row, query, key, relation id."""

    rows: IntArray
    queries: IntArray
    keys: IntArray
    relations: IntArray


def n_relations(n_labels: int, *, labelled: bool) -> int:
    """k: how many relation ids there are."""
    return 2 * (n_labels + 1) + 1 if labelled else 3


def arcs(heads: IntArray, columns: IntArray, labels: IntArray | None = None) -> Entries:
    """Both directions of every arc whose two words are in the row.

    heads: [R, m] head of each node, NO_NODE where it has none; columns: [R, m] where each node stands in its row, negative
    where it does not; labels: [R, m] for labelled relations.
    """
    attached = (heads != NO_NODE) & (columns >= 0)
    rows, nodes = attached.nonzero()
    dependents = columns[rows, nodes]
    head_columns = columns[rows, heads[rows, nodes]]
    inside = head_columns >= 0
    rows, nodes, dependents, head_columns = (array[inside] for array in (rows, nodes, dependents, head_columns))
    return both_ways(rows, head_columns, dependents, None if labels is None else labels[rows, nodes])


def both_ways(rows: IntArray, heads: IntArray, dependents: IntArray, labels: IntArray | None) -> Entries:
    """The entries of arcs given by the columns of head and dependent."""
    kind = np.zeros_like(rows) if labels is None else 2 * labels
    return Entries(
        np.concatenate([rows, rows]),
        np.concatenate([heads, dependents]),
        np.concatenate([dependents, heads]),
        np.concatenate([kind + 1, kind + 2]),
    )
