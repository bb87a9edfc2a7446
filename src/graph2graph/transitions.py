"""Arc-standard with SWAP: the parser state, which actions are legal in it, and what they do.

Nodes are numbered 0 for ROOT and 1..n for the words in sentence order. The stack starts as [ROOT], the buffer as the
words; the end is reached when the stack is [ROOT] and the buffer is empty. s1 is the top of the stack, s2 the item
below it, b1 the front of the buffer.

SHIFT      Legal when the buffer is not empty.
           b1 moves to the top of the stack.
           No arc.
           Every word is shifted once, and once more for each time it was swapped.
LEFT-ARC   Legal when s2 is a word, not ROOT.
           s2 leaves the stack.
           s1 heads s2.
           ROOT never gets a head.
RIGHT-ARC  Legal when s2 is a word; and when s2 is ROOT, the buffer is empty and the stack is [ROOT, s1].
           s1 leaves the stack.
           s2 heads s1.
           An arc from ROOT ends the sentence, so there is exactly one, by construction.
SWAP       Legal when s2 is a word that precedes s1 in the sentence.
           s2 moves to the front of the buffer.
           No arc.
           Two words are swapped at most once, so the end is always reached.

In any state that is not the end some action is legal: SHIFT while the buffer has words, then LEFT-ARC while the stack
has two words, then RIGHT-ARC from ROOT. `State` is the plain form, for one sentence; `States` is the same for many
sentences at once, in arrays, for decoding.
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]

ROOT = 0
NO_NODE = -1  # no head yet; or, among the focus nodes, an empty slot


class Action(IntEnum):
    """The four transitions; the arcs carry a label besides."""

    SHIFT = 0
    LEFT_ARC = 1
    RIGHT_ARC = 2
    SWAP = 3

    @property
    def title(self) -> str:
        """As the paper writes it."""
        return self.name.replace("_", "-")


class State:
    """The parser state of one sentence.

    >>> state = State(2)
    >>> for action in (Action.SHIFT, Action.SHIFT, Action.LEFT_ARC, Action.RIGHT_ARC):
    ...     state.apply(action)
    >>> state.is_final, state.heads
    (True, [-1, 2, 0])
    """

    __slots__ = ("buffer", "heads", "labels", "stack")

    def __init__(self, n_words: int) -> None:
        self.stack: list[int] = [ROOT]
        self.buffer: list[int] = list(range(n_words, 0, -1))  # the front is the last element
        self.heads: list[int] = [NO_NODE] * (n_words + 1)  # of nodes 0..n
        self.labels: list[str | None] = [None] * (n_words + 1)

    @property
    def is_final(self) -> bool:
        """Whether the tree is complete."""
        return not self.buffer and len(self.stack) == 1

    @property
    def focus(self) -> tuple[int, int, int]:
        """s2, s1 and b1; NO_NODE where there is none."""
        s2 = self.stack[-2] if len(self.stack) > 1 else NO_NODE
        return s2, self.stack[-1], self.buffer[-1] if self.buffer else NO_NODE

    @property
    def deleted(self) -> list[int]:
        """The words that have left stack and buffer, in sentence order: those that have their head."""
        return [word for word in range(1, len(self.heads)) if self.heads[word] != NO_NODE]

    def is_legal(self, action: Action) -> bool:
        """Whether the action may be taken; the rules stand at the top of this file."""
        if action == Action.SHIFT:
            return bool(self.buffer)
        if len(self.stack) < 2:
            return False
        s2, s1 = self.stack[-2], self.stack[-1]
        if action == Action.LEFT_ARC:
            return s2 != ROOT
        if action == Action.RIGHT_ARC:
            return s2 != ROOT or not self.buffer
        return ROOT < s2 < s1

    def legal(self) -> list[Action]:
        """All legal actions."""
        return [action for action in Action if self.is_legal(action)]

    def apply(self, action: Action, label: str | None = None) -> None:
        """Take a legal action."""
        if not self.is_legal(action):
            raise ValueError(f"{action.title} is not legal in stack {self.stack}, buffer {self.buffer[::-1]}")
        if action == Action.SHIFT:
            self.stack.append(self.buffer.pop())
        elif action == Action.SWAP:
            self.buffer.append(self.stack.pop(-2))
        elif action == Action.LEFT_ARC:
            dependent = self.stack.pop(-2)
            self.heads[dependent], self.labels[dependent] = self.stack[-1], label
        else:
            dependent = self.stack.pop()
            self.heads[dependent], self.labels[dependent] = self.stack[-1], label


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


def replay(n_words: int, actions: Sequence[int]) -> Iterator[tuple[State, Action]]:
    """Each state of a sequence with the action taken in it; the state moves on when the next pair is asked for."""
    state = State(n_words)
    for number in actions:
        action = Action(number)
        yield state, action
        state.apply(action)
