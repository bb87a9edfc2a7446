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


def replay(n_words: int, actions: Sequence[int]) -> Iterator[tuple[State, Action]]:
    """Each state of a sequence with the action taken in it; the state moves on when the next pair is asked for."""
    state = State(n_words)
    for number in actions:
        action = Action(number)
        yield state, action
        state.apply(action)
