"""The parser states of many sentences in arrays, for decoding: each row is what `State` is for one sentence."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graph2graph.arrays import BoolArray, IntArray
from graph2graph.transition.state import NO_NODE, ROOT, Action


class States:
    """The parser states of many sentences, each row one `State`.

    Stack and buffer are both arrays whose top (or front) is the last used column.
    """

    __slots__ = ("buffer", "buffer_size", "heads", "labels", "n_words", "stack", "stack_size")

    def __init__(self, n_words: Sequence[int] | IntArray) -> None:
        self.n_words: IntArray = np.asarray(n_words, dtype=np.int64)  # [B]
        n_rows, longest = len(self.n_words), int(self.n_words.max(initial=0))
        self.stack: IntArray = np.zeros((n_rows, longest + 1), dtype=np.int64)
        self.stack_size: IntArray = np.ones(n_rows, dtype=np.int64)
        self.buffer: IntArray = np.maximum(self.n_words[:, None] - np.arange(longest), 0)  # n..1, then unused
        self.buffer_size: IntArray = self.n_words.copy()
        self.heads: IntArray = np.full((n_rows, longest + 1), NO_NODE, dtype=np.int64)
        self.labels: IntArray = np.full((n_rows, longest + 1), NO_NODE, dtype=np.int64)

    def take(self, rows: IntArray) -> "States":
        """A copy of some rows."""
        some = States.__new__(States)
        for name in States.__slots__:
            setattr(some, name, getattr(self, name)[rows])
        return some

    @classmethod
    def joined(cls, parts: Sequence["States"]) -> "States":
        """The rows of several, one after another, all as wide as the longest sentence needs."""
        whole = cls(np.concatenate([part.n_words for part in parts]))
        row = 0
        for part in parts:
            last = row + len(part)
            for name in cls.__slots__:
                target, array = getattr(whole, name)[row:last], getattr(part, name)
                if array.ndim == 1:
                    target[:] = array
                else:  # columns that no sentence of the part uses may be too many
                    width = min(target.shape[1], array.shape[1])
                    target[:, :width] = array[:, :width]
            row = last
        return whole

    def __len__(self) -> int:
        return len(self.n_words)

    @property
    def is_final(self) -> BoolArray:
        """Which rows are complete."""
        is_final: BoolArray = (self.buffer_size == 0) & (self.stack_size == 1)
        return is_final

    @property
    def focus(self) -> IntArray:
        """s2, s1 and b1 of each row; NO_NODE where there is none."""
        return self.focus_of(np.arange(len(self)))

    def focus_of(self, rows: IntArray) -> IntArray:
        """s2, s1 and b1 of some rows, [D, 3]."""
        focus = np.full((len(rows), 3), NO_NODE, dtype=np.int64)
        stack_size, buffer_size = self.stack_size[rows], self.buffer_size[rows]
        focus[:, 1] = self.stack[rows, stack_size - 1]
        focus[:, 0] = np.where(stack_size > 1, self.stack[rows, stack_size - 2], NO_NODE)
        if self.buffer.shape[1]:
            focus[:, 2] = np.where(buffer_size > 0, self.buffer[rows, buffer_size - 1], NO_NODE)
        return focus

    def legal(self) -> BoolArray:
        """Which actions are legal in each row, by the number of the action."""
        return self.legal_in(np.arange(len(self)), self.focus)

    def legal_in(self, rows: IntArray, focus: IntArray) -> BoolArray:
        """The same for some rows, whose s2, s1 and b1 are known, [D, 4]."""
        s2, s1 = focus[:, 0], focus[:, 1]
        has_buffer = self.buffer_size[rows] > 0
        legal = np.empty((len(rows), len(Action)), dtype=np.bool_)
        legal[:, Action.SHIFT] = has_buffer
        legal[:, Action.LEFT_ARC] = s2 > ROOT
        legal[:, Action.RIGHT_ARC] = (s2 > ROOT) | ((s2 == ROOT) & ~has_buffer)
        legal[:, Action.SWAP] = (s2 > ROOT) & (s2 < s1)
        return legal

    def apply(self, rows: IntArray, actions: IntArray, labels: IntArray | None = None) -> None:
        """Take one legal action in each of these rows; labels matter for the arcs only."""
        is_legal = self.legal_in(rows, self.focus_of(rows))[np.arange(len(rows)), actions]
        if not is_legal.all():
            row = int(rows[np.argmin(is_legal)])
            raise ValueError(f"{Action(int(actions[np.argmin(is_legal)])).title} is not legal in row {row}")
        if labels is None:
            labels = np.full(len(rows), NO_NODE)
        shift = rows[actions == Action.SHIFT]
        self.buffer_size[shift] -= 1
        self.stack[shift, self.stack_size[shift]] = self.buffer[shift, self.buffer_size[shift]]
        self.stack_size[shift] += 1

        swap = rows[actions == Action.SWAP]
        top = self.stack_size[swap] - 1
        self.buffer[swap, self.buffer_size[swap]] = self.stack[swap, top - 1]
        self.stack[swap, top - 1] = self.stack[swap, top]
        self.buffer_size[swap] += 1
        self.stack_size[swap] -= 1

        is_arc = (actions == Action.LEFT_ARC) | (actions == Action.RIGHT_ARC)
        arc, label, is_left = rows[is_arc], labels[is_arc], actions[is_arc] == Action.LEFT_ARC
        top = self.stack_size[arc] - 1
        s1, s2 = self.stack[arc, top], self.stack[arc, top - 1]
        head, dependent = np.where(is_left, s1, s2), np.where(is_left, s2, s1)
        self.heads[arc, dependent] = head
        self.labels[arc, dependent] = label
        self.stack[arc, top - 1] = head
        self.stack_size[arc] -= 1


class Arcs(NamedTuple):
    """The arcs that a step adds, A of them."""

    positions: IntArray  # [A] in the actions, of those that add one
    heads: IntArray  # [A]
    dependents: IntArray  # [A]


def arcs_of(actions: IntArray, focus: IntArray) -> Arcs:
    """The arcs that actions [D] add, taken on these focus words s2, s1, b1 [D, 3].

    LEFT-ARC makes s1 the head of s2, RIGHT-ARC makes s2 the head of s1.
    """
    positions = is_arc(actions).nonzero()[0]
    is_left = actions[positions] == Action.LEFT_ARC
    s2, s1 = focus[positions, 0], focus[positions, 1]
    return Arcs(positions, np.where(is_left, s1, s2), np.where(is_left, s2, s1))


def is_arc(actions: IntArray) -> BoolArray:
    """Which of these actions add an arc."""
    found: BoolArray = (actions == Action.LEFT_ARC) | (actions == Action.RIGHT_ARC)
    return found
