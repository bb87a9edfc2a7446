"""The input of the encoder: its graph (Algorithms 1 and 2) and its embeddings (Eq. 6, 7 and 9).

Relation ids: an arc from i to j gives r_ij = 1 and r_ji = 2; all other pairs have 0, no relation. With labelled relations, its
label l gives 1 + 2·l and 2 + 2·l. The further pieces of a word depend on its first piece; the label of these arcs comes after
those of the treebank.

Shapes: B states, R rows, N tokens of all rows, m nodes of the longest sentence, S sentences, E related pairs, A arcs,
w width of the input embeddings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from graph2graph.arrays import IntArray, padded
from graph2graph.encoder.encoder import GraphEncoder
from graph2graph.models.features import OUTSIDE, Features
from graph2graph.models.rows import CLS, SentenceRows, StateRows
from graph2graph.transition.state import NO_NODE
from graph2graph.transition.states import States


class RelatedTokens(NamedTuple):
    """The pairs of tokens that have a relation."""

    rows: IntArray  # [E]
    queries: IntArray  # [E] the column of i
    keys: IntArray  # [E] the column of j
    relations: IntArray  # [E] r_ij


@dataclass(frozen=True)
class GraphInput:
    """A partial tree as the encoder reads it."""

    related: RelatedTokens
    labels: IntArray  # [N] of the arc to each token: 0 none, else 1 + label


def n_relations(n_labels: int, *, labelled: bool) -> int:
    """k: how many relation ids there are, 0 included."""
    return 2 * (n_labels + 1) + 1 if labelled else 3


def state_graph(states: States, rows: StateRows, *, labelled: bool = False) -> GraphInput:
    """Algorithm 1: the graph input of StateTr+G2GTr, over the tokens of stack, buffer and deleted list (S, B, D).

    Every arc so far, i → j with label l, gives G[i, j] = 1 and G[j, i] = 2, and l is added to the input embedding of j.
    """
    related = _arcs(states.heads, rows.columns, states.labels if labelled else None)
    labels = np.zeros(len(rows.nodes), dtype=np.int64)
    attached = (states.heads != NO_NODE) & (rows.columns != OUTSIDE)  # [B, m]
    labels[rows.node_tokens[attached]] = 1 + states.labels[attached]
    return GraphInput(related, labels)


def sentence_graph(states: States, rows: SentenceRows, *, n_labels: int, labelled: bool = False) -> GraphInput:
    """Algorithm 2: the graph input of SentTr+G2GTr, over the initial tokens.

    Every arc so far, i → j with label l, gives G[i, j] = 1 and G[j, i] = 2 for the first pieces of i and j, and l is added to
    the input embedding of j. From the first step on, the further pieces of a word depend on its first piece (Section 4.3).
    """
    heads, arc_labels = states.heads[rows.owners], states.labels[rows.owners]  # [R, m]
    tree = _arcs(heads, rows.columns, arc_labels if labelled else None)
    inner_labels = np.full(len(rows.inner), n_labels) if labelled else None
    words = _both_ways(rows.inner_rows, rows.inner_heads, rows.inner, inner_labels)
    labels = np.zeros(len(rows.tokens), dtype=np.int64)
    row, node = ((heads != NO_NODE) & (rows.columns != OUTSIDE)).nonzero()
    labels[rows.starts[row] + rows.columns[row, node]] = 1 + arc_labels[row, node]
    labels[rows.starts[rows.inner_rows] + rows.inner] = 1 + n_labels
    return GraphInput(RelatedTokens(*(np.concatenate(pair) for pair in zip(tree, words, strict=True))), labels)


def _arcs(heads: IntArray, columns: IntArray, labels: IntArray | None) -> RelatedTokens:
    """Both directions of every arc whose two words are in the row; heads, columns and labels (if any) are [R, m]."""
    rows, dependents = ((heads != NO_NODE) & (columns != OUTSIDE)).nonzero()
    head_columns = columns[rows, heads[rows, dependents]]
    inside = head_columns != OUTSIDE
    rows, dependents, head_columns = rows[inside], dependents[inside], head_columns[inside]
    of_arcs = None if labels is None else labels[rows, dependents]
    return _both_ways(rows, head_columns, columns[rows, dependents], of_arcs)


def _both_ways(rows: IntArray, heads: IntArray, dependents: IntArray, labels: IntArray | None) -> RelatedTokens:
    """The relations of arcs between columns, [A] each: first all from head to dependent, then all back."""
    base = np.zeros_like(rows) if labels is None else 2 * labels
    return RelatedTokens(
        np.concatenate([rows, rows]),
        np.concatenate([heads, dependents]),
        np.concatenate([dependents, heads]),
        np.concatenate([base + 1, base + 2]),
    )


class InputTables(NamedTuple):
    """The parameters that input embeddings are looked up in."""

    encoder: GraphEncoder  # has those of pieces, positions and segments
    tags: nn.Embedding
    labels: nn.Embedding | None  # of arcs, if there is graph input
    root: Tensor  # [w] the vector of ROOT
    special: tuple[int, int]  # the pieces CLS and SEP

    def tensor(self, array: IntArray) -> Tensor:
        """An index array on the device of the tables."""
        return torch.from_numpy(array).to(self.root.device)


def token_embeddings(tables: InputTables, pieces: IntArray, tags: IntArray) -> Tensor:
    """Eq. 6: T = Emb(w) + Emb(α), the embeddings of piece and tag, for arrays of any shape."""
    vectors: Tensor = tables.encoder.words(tables.tensor(pieces)) + tables.tags(tables.tensor(tags))
    return vectors


def node_embeddings(tables: InputTables, features: Sequence[Features]) -> Tensor:
    """Eq. 6 for the first piece of every word, with ROOT's own vector before them: [S, m, w]."""
    pieces, tags = padded([one.pieces for one in features], 0), padded([one.tags for one in features], 0)
    vectors = token_embeddings(tables, pieces, tags)  # [S, m, w]
    root = tables.root.expand(len(features), 1, -1)  # [S, 1, w]
    return torch.cat([root, vectors[:, 1:]], dim=1)  # [S, m, w]


def state_input_embeddings(
    tables: InputTables, nodes: Tensor, owners: IntArray, rows: StateRows, graph: GraphInput | None
) -> Tensor:
    """Eq. 7: x = C + γ + β, the vector of each token plus its segment and position embeddings, [N, w].

    `nodes`, [S, m, w], has the C of each node: its token embedding (Eq. 6) or its composed vector (Eq. 11). State i belongs to
    sentence owners[i]. With graph input, the label of a node's arc is added (Algorithm 1).
    """
    n_sentences, n_nodes = nodes.shape[:2]
    table = torch.cat([nodes.flatten(0, 1), tables.encoder.words.weight[list(tables.special)]])  # [S·m + 2, w]
    special = np.where(rows.nodes == CLS, n_sentences * n_nodes, n_sentences * n_nodes + 1)
    index = np.where(rows.nodes >= 0, owners[rows.owners] * n_nodes + rows.nodes, special)  # [N]
    c = _with_labels(tables, F.embedding(tables.tensor(index), table), graph)
    return tables.encoder.embed(c, tables.tensor(rows.positions), tables.tensor(rows.segments))


def sentence_input_embeddings(tables: InputTables, rows: SentenceRows, graph: GraphInput | None) -> Tensor:
    """Eq. 9: x = Emb(w) + Emb(α) + β, the token embedding of each piece plus that of its position, [N, w].

    With graph input, the label of a piece's arc is added (Algorithm 2). ROOT has its own vector in place of Emb(w) + Emb(α).
    """
    x = _with_labels(tables, token_embeddings(tables, rows.tokens, rows.tags), graph)
    is_root = torch.zeros(len(x), 1, dtype=torch.bool, device=x.device)
    is_root[tables.tensor(rows.starts + 1)] = True
    x = torch.where(is_root, tables.root, x)
    positions = np.arange(len(rows.tokens)) - np.repeat(rows.starts, rows.lengths)
    return tables.encoder.embed(x, tables.tensor(positions))


def _with_labels(tables: InputTables, vectors: Tensor, graph: GraphInput | None) -> Tensor:
    if graph is None or tables.labels is None:
        return vectors
    labelled: Tensor = vectors + tables.labels(tables.tensor(graph.labels))
    return labelled
