"""What the encoder reads: the parser state (StateTr) or the sentence (SentTr), and the graph over it.

Everything here is index work in numpy, for many rows at once. A row of a batch is one parser state to be encoded; `heads`
and `labels` of a state are its graph. The vectors themselves are looked up by the model.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graph2graph.arrays import IntArray
from graph2graph.models import relations
from graph2graph.models.features import OUTSIDE, Features
from graph2graph.models.relations import Entries
from graph2graph.transition.state import NO_NODE
from graph2graph.transition.states import States

STACK, BUFFER, DELETED = range(3)  # segments
CLS, SEP = -1, -2  # in place of a node


@dataclass(frozen=True)
class SentenceInput:
    """Rows of pieces, packed; R ≥ B rows, since a long sentence takes several."""

    lengths: IntArray  # [R]
    tokens: IntArray  # [N]
    tags: IntArray  # [N]
    labels: IntArray  # [N] 0 none, else 1 + label
    roots: IntArray  # [R] where ROOT stands, in N
    places: IntArray  # [B, m] where each node stands, in N; any number for one that no row represents
    cls_places: IntArray  # [B]
    graph: Entries | None


@dataclass(frozen=True)
class StateInput:
    """Rows of nodes, packed: CLS stack SEP buffer, and with a graph SEP deleted words."""

    lengths: IntArray  # [B]
    owners: IntArray  # [N] the row
    nodes: IntArray  # [N] the node, CLS or SEP
    segments: IntArray  # [N]
    positions: IntArray  # [N]
    labels: IntArray  # [N] 0 none, else 1 + label
    places: IntArray  # [B, m] where each node stands, in N
    cls_places: IntArray  # [B]
    graph: Entries | None


def sentence_input(
    features: Sequence[Features], states: States, *, graph: bool, n_labels: int, labelled: bool = False
) -> SentenceInput:
    """The rows of a sentence model for these states."""
    rows = [row for feature in features for row in feature.rows]
    lengths = np.array([len(row.tokens) for row in rows], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    n_rows = np.array([len(feature.rows) for feature in features], dtype=np.int64)
    first_rows = np.cumsum(n_rows) - n_rows
    owners = np.repeat(np.arange(len(features)), n_rows)  # [R] the state that each row belongs to

    width = states.heads.shape[1]
    columns = np.full((len(rows), width), OUTSIDE, dtype=np.int64)
    row_of = np.zeros((len(features), width), dtype=np.int64)
    for number, row in enumerate(rows):
        columns[number, : len(row.columns)] = row.columns
    for number, feature in enumerate(features):
        row_of[number, : len(feature.row_of)] = feature.row_of
    own_rows = first_rows[:, None] + row_of  # [B, m]
    places = np.maximum(starts[own_rows] + columns[own_rows, np.arange(width)], 0)

    token_labels = np.zeros(int(lengths.sum()), dtype=np.int64)
    entries = None
    if graph:
        arc_labels = states.labels[owners]
        tree = relations.arcs(states.heads[owners], columns, arc_labels if labelled else None)
        inner_rows = np.repeat(np.arange(len(rows)), [len(row.inner) for row in rows])
        inner = np.concatenate([row.inner for row in rows])
        heads = np.concatenate([row.inner_heads for row in rows])
        kinds = np.full(len(inner), n_labels) if labelled else None
        within = relations.both_ways(inner_rows, heads, inner, kinds)
        entries = Entries(*(np.concatenate(pair) for pair in zip(tree, within, strict=True)))
        attached_rows, attached = ((states.heads[owners] != NO_NODE) & (columns != OUTSIDE)).nonzero()
        token_labels[starts[attached_rows] + columns[attached_rows, attached]] = 1 + arc_labels[attached_rows, attached]
        token_labels[starts[inner_rows] + inner] = 1 + n_labels
    return SentenceInput(
        lengths=lengths,
        tokens=np.concatenate([row.tokens for row in rows]),
        tags=np.concatenate([row.tags for row in rows]),
        labels=token_labels,
        roots=starts + 1,
        places=places,
        cls_places=starts[first_rows],
        graph=entries,
    )


def state_input(
    states: States, *, graph: bool, max_positions: int, separate_positions: bool = False, labelled: bool = False
) -> StateInput:
    """The rows of a state model for these states."""
    is_deleted = (states.heads != NO_NODE) & graph  # [B, m]
    n_stack, n_buffer, n_deleted = _kept(states, is_deleted, max_positions - (3 if graph else 2))
    lengths = 2 + n_stack + n_buffer + (1 + n_deleted if graph else 0)
    starts = np.cumsum(lengths) - lengths
    owners = np.repeat(np.arange(len(states)), lengths)
    sep = 1 + n_stack  # the column of the first SEP; the buffer stands behind it
    buffer_end = sep + 1 + n_buffer

    # the column of each node; from the top of the stack down, from the front of the buffer on, deleted words by number
    columns = np.full(states.heads.shape, OUTSIDE, dtype=np.int64)
    depth = states.stack_size[:, None] - 1 - np.arange(states.stack.shape[1])  # 0 for s1
    rows, slots = ((depth >= 0) & (depth < n_stack[:, None])).nonzero()
    columns[rows, states.stack[rows, slots]] = sep[rows] - 1 - depth[rows, slots]
    depth = states.buffer_size[:, None] - 1 - np.arange(states.buffer.shape[1])  # 0 for b1
    rows, slots = ((depth >= 0) & (depth < n_buffer[:, None])).nonzero()
    columns[rows, states.buffer[rows, slots]] = sep[rows] + 1 + depth[rows, slots]
    if graph:
        _drop_far(is_deleted, n_deleted, states)
        rank = np.cumsum(is_deleted, axis=1) - 1
        columns = np.where(is_deleted, buffer_end[:, None] + 1 + rank, columns)

    rows, present = (columns != OUTSIDE).nonzero()
    column = columns[rows, present]
    places = starts[rows] + column
    nodes = np.full(len(owners), SEP, dtype=np.int64)
    nodes[starts] = CLS
    nodes[places] = present
    position = np.arange(len(owners)) - starts[owners]
    # a SEP closes the segment before it
    in_buffer, in_deleted = position > sep[owners], position > buffer_end[owners]
    segments = np.where(in_deleted, DELETED, np.where(in_buffer, BUFFER, STACK))
    if separate_positions:
        begin = np.where(in_deleted, buffer_end[owners] + 1, np.where(in_buffer, sep[owners] + 1, 0))
        position = position - begin
    labels = np.zeros(len(owners), dtype=np.int64)
    entries = None
    if graph:
        attached = states.heads[rows, present] != NO_NODE
        labels[places[attached]] = 1 + states.labels[rows, present][attached]
        entries = relations.arcs(states.heads, columns, states.labels if labelled else None)
    return StateInput(
        lengths=lengths,
        owners=owners,
        nodes=nodes,
        segments=segments,
        positions=position,
        labels=labels,
        places=np.maximum(starts[:, None] + columns, 0),
        cls_places=starts,
        graph=entries,
    )


def state_length(n_words: int, *, graph: bool) -> int:
    """How long the row of a state is, if the encoder has room for it."""
    return n_words + (4 if graph else 3)  # ROOT, CLS, SEP; and SEP


def _kept(states: States, is_deleted: IntArray, room: int) -> tuple[IntArray, IntArray, IntArray]:
    """How many of stack, buffer and deleted words a row holds: all, unless the encoder is too short for them.

    Then the parts nearest to the decision stay: each may have a third of the room, and what one leaves the next may take.
    """
    stack, buffer, deleted = states.stack_size, states.buffer_size, is_deleted.sum(axis=1)
    third = room // 3
    deleted_kept = np.minimum(deleted, np.maximum(third, room - stack - buffer))
    buffer_kept = np.minimum(buffer, np.maximum(third, room - stack - deleted_kept))
    return np.minimum(stack, room - buffer_kept - deleted_kept), buffer_kept, deleted_kept


def _drop_far(is_deleted: IntArray, n_kept: IntArray, states: States) -> None:
    """Unmark the deleted words furthest from the top of the stack where not all are kept."""
    for row in (is_deleted.sum(axis=1) > n_kept).nonzero()[0]:
        words = is_deleted[row].nonzero()[0]
        top = states.stack[row, states.stack_size[row] - 1]
        order = np.argsort(np.abs(words - top), kind="stable")
        is_deleted[row, words[order[n_kept[row] :]]] = False
