"""The rows of tokens that the encoder reads: one for each parser state (StateTr), or the windows of a sentence (SentTr).

This is index work in numpy, for many states at once; `inputs.py` adds the graph and looks up the embeddings.

Shapes: B states, m nodes of the longest sentence, R rows (more than B if a sentence takes several), N tokens of all rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graph2graph.arrays import BoolArray, IntArray, padded
from graph2graph.config import ModelConfig
from graph2graph.models.features import OUTSIDE, Features, Words
from graph2graph.transition.state import NO_NODE
from graph2graph.transition.states import States

STACK, BUFFER, DELETED = range(3)  # segments
CLS, SEP = -1, -2  # in place of a node


@dataclass(frozen=True)
class SentenceRows:
    """The pieces of sentences, row after row: CLS, ROOT, pieces, SEP."""

    lengths: IntArray  # [R]
    starts: IntArray  # [R] the token of CLS, in N
    owners: IntArray  # [R] the state that each row belongs to
    columns: IntArray  # [R, m] the column of each node's first piece, OUTSIDE if it is not in the row
    tokens: IntArray  # [N] pieces
    tags: IntArray  # [N] of first pieces, else 0
    inner_rows: IntArray  # [P] of all further pieces
    inner: IntArray  # [P] their columns
    inner_heads: IntArray  # [P] the columns of their first pieces
    node_tokens: IntArray  # [B, m] the token that represents each node, in N; any token for a node without one
    cls_tokens: IntArray  # [B] the first CLS of each state


def sentence_rows(features: Sequence[Features], n_nodes: int) -> SentenceRows:
    """The rows of these sentences, one sentence for each state; m is n_nodes."""
    rows = [window for feature in features for window in feature.windows]
    lengths = np.array([len(row.tokens) for row in rows], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    n_rows = np.array([len(feature.windows) for feature in features], dtype=np.int64)
    first_rows = np.cumsum(n_rows) - n_rows
    columns = padded([row.columns for row in rows], OUTSIDE, n_nodes)
    node_rows = first_rows[:, None] + padded([feature.window_of for feature in features], 0, n_nodes)  # [B, m]
    return SentenceRows(
        lengths=lengths,
        starts=starts,
        owners=np.repeat(np.arange(len(features)), n_rows),
        columns=columns,
        tokens=np.concatenate([row.tokens for row in rows]),
        tags=np.concatenate([row.tags for row in rows]),
        inner_rows=np.repeat(np.arange(len(rows)), [len(row.inner) for row in rows]),
        inner=np.concatenate([row.inner for row in rows]),
        inner_heads=np.concatenate([row.inner_heads for row in rows]),
        node_tokens=np.maximum(starts[node_rows] + columns[node_rows, np.arange(n_nodes)], 0),
        cls_tokens=starts[first_rows],
    )


@dataclass(frozen=True)
class StateRows:
    """Parser states, row after row: CLS, stack, SEP, buffer, and with a graph SEP, deleted words."""

    lengths: IntArray  # [B]
    columns: IntArray  # [B, m] the column of each node, OUTSIDE if it is not in the row
    owners: IntArray  # [N] the state that each token belongs to
    nodes: IntArray  # [N] the node, CLS or SEP
    segments: IntArray  # [N]
    positions: IntArray  # [N]
    node_tokens: IntArray  # [B, m] the token of each node, in N; any token for a node that is not in the row
    cls_tokens: IntArray  # [B]


def state_rows(states: States, config: ModelConfig) -> StateRows:
    """The rows of these states; the deleted words are in them only with graph input."""
    graph = config.graph_input
    is_deleted = (states.heads != NO_NODE) & graph  # [B, m]
    n_stack, n_buffer, n_deleted = _n_kept(states, is_deleted, config.encoder.max_positions - (3 if graph else 2))
    lengths = 2 + n_stack + n_buffer + (1 + n_deleted if graph else 0)
    starts = np.cumsum(lengths) - lengths
    stack_end = 1 + n_stack  # the column of the first SEP
    buffer_end = stack_end + 1 + n_buffer  # the column of the second SEP, if there is one
    columns = _columns(states, n_stack, n_buffer, stack_end)
    if graph:
        is_kept = _nearest(is_deleted, n_deleted, states)
        columns = np.where(is_kept, buffer_end[:, None] + np.cumsum(is_kept, axis=1), columns)

    owners = np.repeat(np.arange(len(states)), lengths)
    position = np.arange(len(owners)) - starts[owners]
    nodes = np.full(len(owners), SEP, dtype=np.int64)
    nodes[starts] = CLS
    rows, present = (columns != OUTSIDE).nonzero()
    nodes[starts[rows] + columns[rows, present]] = present
    # a SEP belongs to the segment before it
    in_buffer, in_deleted = position > stack_end[owners], position > buffer_end[owners]
    segments = np.where(in_deleted, DELETED, np.where(in_buffer, BUFFER, STACK))
    if config.separate_positions:
        first = np.where(in_deleted, buffer_end[owners] + 1, np.where(in_buffer, stack_end[owners] + 1, 0))
        position = position - first
    node_tokens = np.maximum(starts[:, None] + columns, 0)
    return StateRows(lengths, columns, owners, nodes, segments, position, node_tokens, cls_tokens=starts)


def sentence_length(words: Words) -> int:
    """The length of a sentence's row, if the encoder has room for it."""
    return words.n_pieces + 3  # CLS, ROOT, SEP


def state_length(n_words: int, *, graph: bool) -> int:
    """The length of a state's row, if the encoder has room for it."""
    return n_words + (4 if graph else 3)  # ROOT, CLS, SEP; and another SEP


def _columns(states: States, n_stack: IntArray, n_buffer: IntArray, stack_end: IntArray) -> IntArray:
    """The column of each node on stack and buffer, [B, m]: the top of the stack is before the SEP, b1 after it."""
    columns = np.full(states.heads.shape, OUTSIDE, dtype=np.int64)
    depth = states.stack_size[:, None] - 1 - np.arange(states.stack.shape[1])  # [B, m], 0 for s1
    rows, slots = ((depth >= 0) & (depth < n_stack[:, None])).nonzero()
    columns[rows, states.stack[rows, slots]] = stack_end[rows] - 1 - depth[rows, slots]
    depth = states.buffer_size[:, None] - 1 - np.arange(states.buffer.shape[1])  # [B, m - 1], 0 for b1
    rows, slots = ((depth >= 0) & (depth < n_buffer[:, None])).nonzero()
    columns[rows, states.buffer[rows, slots]] = stack_end[rows] + 1 + depth[rows, slots]
    return columns


def _n_kept(states: States, is_deleted: BoolArray, room: int) -> tuple[IntArray, IntArray, IntArray]:
    """How many words of stack, buffer and deleted list a row holds: all, unless the encoder has too few positions.

    Then each of the three may take a third of the room, and more if the others leave some.
    """
    stack, buffer, deleted = states.stack_size, states.buffer_size, is_deleted.sum(axis=1)
    third = room // 3
    deleted_kept = np.minimum(deleted, np.maximum(third, room - stack - buffer))
    buffer_kept = np.minimum(buffer, np.maximum(third, room - stack - deleted_kept))
    return np.minimum(stack, room - buffer_kept - deleted_kept), buffer_kept, deleted_kept


def _nearest(is_deleted: BoolArray, n_kept: IntArray, states: States) -> BoolArray:
    """The deleted words that a row keeps: those nearest to the top of the stack, [B, m]."""
    is_kept = is_deleted.copy()
    for row in (is_deleted.sum(axis=1) > n_kept).nonzero()[0]:
        words = is_deleted[row].nonzero()[0]
        top = states.stack[row, states.stack_size[row] - 1]
        by_distance = np.argsort(np.abs(words - top), kind="stable")
        is_kept[row, words[by_distance[n_kept[row] :]]] = False
    return is_kept
