"""The parser states of many sentences in arrays; a row corresponds to the `State` of one sentence.

Shapes: B rows, m nodes of the longest sentence (its words and ROOT), D decisions, A of which add an arc.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graph2graph.arrays import BoolArray, IntArray
from graph2graph.transition.state import NO_NODE, ROOT, Action

# plain integers and look-ups: each step of a single sentence compares them, and a member of an Enum is slow to get
SHIFT, LEFT_ARC, RIGHT_ARC, SWAP = map(int, Action)
IS_ARC: BoolArray = np.array([action.is_arc for action in Action])


class States:
    """The parser states of many sentences; top of the stack and front of the buffer are the last used column of a row."""

    __slots__ = ("buffer", "buffer_size", "heads", "labels", "n_words", "stack", "stack_size")

    def __init__(self, n_words: Sequence[int] | IntArray) -> None:
        self.n_words: IntArray = np.asarray(n_words, dtype=np.int64)  # [B]
        n_rows, longest = len(self.n_words), int(self.n_words.max(initial=0))
        self.stack: IntArray = np.zeros((n_rows, longest + 1), dtype=np.int64)  # [B, m]
        self.stack_size: IntArray = np.ones(n_rows, dtype=np.int64)  # [B]
        self.buffer: IntArray = np.maximum(
            self.n_words[:, None] - np.arange(longest), 0
        )  # [B, m - 1]: n..1, then unused
        self.buffer_size: IntArray = self.n_words.copy()  # [B]
        self.heads: IntArray = np.full((n_rows, longest + 1), NO_NODE, dtype=np.int64)  # [B, m]
        self.labels: IntArray = np.full((n_rows, longest + 1), NO_NODE, dtype=np.int64)  # [B, m]

    def take(self, rows: IntArray) -> "States":
        """A copy of some rows."""
        taken = type(self).__new__(type(self))
        for name in self._columns():
            setattr(taken, name, getattr(self, name)[rows])
        return taken

    @classmethod
    def _columns(cls) -> tuple[str, ...]:
        """The names of the arrays, which have a row for each sentence."""
        return States.__slots__

    @classmethod
    def joined(cls, parts: Sequence["States"]) -> "States":
        """The rows of all parts, one after another, as wide as the longest sentence needs."""
        whole = cls(np.concatenate([part.n_words for part in parts]))
        first = 0
        for part in parts:
            last = first + len(part)
            for name in cls.__slots__:
                target, source = getattr(whole, name)[first:last], getattr(part, name)
                if source.ndim == 1:
                    target[:] = source
                else:  # a part may have columns that none of its sentences uses
                    width = min(target.shape[1], source.shape[1])
                    target[:, :width] = source[:, :width]
            first = last
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
        """s2, s1 and b1 of each row, [B, 3]; NO_NODE for an empty slot."""
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
        """Which actions are legal in each row, [B, 4]."""
        return self.legal_in(np.arange(len(self)), self.focus)

    def legal_in(self, rows: IntArray, focus: IntArray) -> BoolArray:  # noqa: ARG002 PartialStates needs the rows
        """Which actions are legal in some rows, given their s2, s1 and b1: [D, 4]."""
        s2, s1, b1 = focus.T
        is_word = s2 > ROOT
        legal = np.empty((len(focus), len(IS_ARC)), dtype=np.bool_)
        legal[:, SHIFT] = b1 != NO_NODE
        legal[:, LEFT_ARC] = is_word
        legal[:, RIGHT_ARC] = is_word | ((s2 == ROOT) & (b1 == NO_NODE))
        legal[:, SWAP] = is_word & (s2 < s1)
        return legal

    def graph_key(self, row: int) -> bytes:
        """A key for the arcs and labels of a row: states with equal keys have the same graph."""
        nodes = slice(int(self.n_words[row]) + 1)
        return self.heads[row, nodes].tobytes() + self.labels[row, nodes].tobytes()

    def apply(self, rows: IntArray, actions: IntArray, labels: IntArray | None = None) -> None:
        """Take one legal action in each of these rows; only the labels of arcs matter."""
        focus = self.focus_of(rows)
        is_legal = self.legal_in(rows, focus)[np.arange(len(rows)), actions]
        if not is_legal.all():
            wrong = int(np.argmin(is_legal))
            raise ValueError(f"{Action(int(actions[wrong])).title} is not legal in row {rows[wrong]}")
        self.take_legal(rows, actions, arcs_of(actions, focus), labels)

    def take_legal(self, rows: IntArray, actions: IntArray, arcs: "Arcs", labels: IntArray | None = None) -> None:
        """The same, where the actions are known to be legal, and so are the arcs that they add."""
        # indexing no rows costs as much as indexing a few, and a single sentence takes only one kind of action
        if len(shifted := rows[actions == SHIFT]):
            self._shift(shifted)
        if len(swapped := rows[actions == SWAP]):
            self._swap(swapped)
        if len(arcs.positions):
            self._attach(rows[arcs.positions], arcs, None if labels is None else labels[arcs.positions])

    def _shift(self, rows: IntArray) -> None:
        stack_size, buffer_size = self.stack_size[rows], self.buffer_size[rows] - 1
        self.stack[rows, stack_size] = self.buffer[rows, buffer_size]
        self.stack_size[rows], self.buffer_size[rows] = stack_size + 1, buffer_size

    def _swap(self, rows: IntArray) -> None:
        top = self.stack_size[rows] - 1
        self.buffer[rows, self.buffer_size[rows]] = self.stack[rows, top - 1]
        self.stack[rows, top - 1] = self.stack[rows, top]
        self.buffer_size[rows] += 1
        self.stack_size[rows] -= 1

    def _attach(self, rows: IntArray, arcs: "Arcs", labels: IntArray | None) -> None:
        """LEFT-ARC or RIGHT-ARC: of s2 and s1 only the head stays on the stack."""
        self.heads[rows, arcs.dependents] = arcs.heads
        self.labels[rows, arcs.dependents] = NO_NODE if labels is None else labels
        top = self.stack_size[rows] - 1
        self.stack[rows, top - 1] = arcs.heads
        self.stack_size[rows] = top


class PartialStates(States):
    """The states of a part of each sentence: below its stack and behind its buffer there may be more words.

    A row is complete as soon as its next decision would need one of those: s2, or a buffer longer than `shortest`.
    """

    __slots__ = ("has_more_below", "may_swap", "shortest")

    def __init__(self, n_words: Sequence[int] | IntArray) -> None:
        super().__init__(n_words)
        self.has_more_below: BoolArray = np.zeros(len(self), dtype=np.bool_)  # [B]
        self.may_swap: BoolArray = np.ones(len(self), dtype=np.bool_)  # [B]
        self.shortest: IntArray = np.full(len(self), -1, dtype=np.int64)  # [B] -1: no more words behind the buffer

    @classmethod
    def _columns(cls) -> tuple[str, ...]:
        return States.__slots__ + PartialStates.__slots__

    @property
    def is_final(self) -> BoolArray:
        """Which rows are complete."""
        ends_below = self.has_more_below & (self.stack_size <= 2)
        is_final: BoolArray = super().is_final | ends_below | (self.buffer_size <= self.shortest)
        return is_final

    def legal_in(self, rows: IntArray, focus: IntArray) -> BoolArray:
        """Which actions are legal in some rows, given their s2, s1 and b1: [D, 4]."""
        legal = super().legal_in(rows, focus)
        legal[:, SWAP] &= self.may_swap[rows]
        return legal


class Arcs(NamedTuple):
    """The arcs that the actions of a step add."""

    positions: IntArray  # [A] in the actions, of those that add one
    heads: IntArray  # [A]
    dependents: IntArray  # [A]


def arcs_of(actions: IntArray, focus: IntArray) -> Arcs:
    """The arcs that actions [D] add, given s2, s1 and b1 of each [D, 3]: `arc_of` for many at once.

    LEFT-ARC makes s1 the head of s2, RIGHT-ARC makes s2 the head of s1.
    """
    positions = is_arc(actions).nonzero()[0]
    is_left = actions[positions] == LEFT_ARC  # as a slot: 0 is s2, 1 is s1
    return Arcs(positions, focus[positions, is_left.astype(np.int64)], focus[positions, (~is_left).astype(np.int64)])


def is_arc(actions: IntArray) -> BoolArray:
    """Which actions add an arc."""
    found: BoolArray = IS_ARC[actions]
    return found
