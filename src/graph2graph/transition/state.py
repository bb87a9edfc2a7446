"""Arc-standard with SWAP: the parser state, which actions are legal in it, and what they do.

Nodes are numbered: 0 is ROOT, 1..n are the words in sentence order. The stack starts as [ROOT] and the buffer as all words;
parsing ends when the stack is [ROOT] and the buffer is empty. s1 is the top of the stack, s2 the item below it, b1 the front
of the buffer; together they are the focus. Each action has four lines: when it is legal, what it changes, which arc it adds,
and why the rule is so.

SHIFT      Legal when the buffer is not empty.
           Moves b1 to the top of the stack.
           Adds no arc.
           A word is shifted once, and once more each time it has been swapped.
LEFT-ARC   Legal when s2 is a word.
           Removes s2 from the stack.
           Adds the arc s1 → s2.
           ROOT must never get a head.
RIGHT-ARC  Legal when s2 is a word, or when s2 is ROOT and the buffer is empty.
           Removes s1 from the stack.
           Adds the arc s2 → s1.
           The arc from ROOT ends the sentence, so every tree has exactly one root.
SWAP       Legal when s2 is a word that precedes s1 in the sentence.
           Moves s2 to the front of the buffer.
           Adds no arc.
           Two words are swapped at most once, so parsing always ends.

Every state but the final one has a legal action: SHIFT while the buffer has words, then LEFT-ARC while the stack has two
words, then RIGHT-ARC from ROOT. `State` holds one sentence; `States` holds many of them in arrays.
"""

from enum import IntEnum

ROOT = 0
NO_NODE = -1  # a word without a head; an empty slot of the focus


class Action(IntEnum):
    """The four transitions; LEFT-ARC and RIGHT-ARC also carry a label."""

    SHIFT = 0
    LEFT_ARC = 1
    RIGHT_ARC = 2
    SWAP = 3

    @property
    def is_arc(self) -> bool:
        """Whether the action adds an arc."""
        return self in (Action.LEFT_ARC, Action.RIGHT_ARC)

    @property
    def title(self) -> str:
        """The name as the paper writes it."""
        return self.name.replace("_", "-")


def arc_of(action: int, focus: tuple[int, int, int]) -> tuple[int, int] | None:
    """Head and dependent of the arc that an action adds, given s2, s1 and b1; None for SHIFT and SWAP.

    >>> arc_of(Action.LEFT_ARC, (4, 7, 8))
    (7, 4)
    """
    s2, s1, _ = focus
    if action == Action.LEFT_ARC:
        return s1, s2
    if action == Action.RIGHT_ARC:
        return s2, s1
    return None


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
        """s2, s1 and b1; NO_NODE for an empty slot."""
        s2 = self.stack[-2] if len(self.stack) > 1 else NO_NODE
        return s2, self.stack[-1], self.buffer[-1] if self.buffer else NO_NODE

    def copy(self) -> "State":
        """A state that changes independently."""
        copy = State(0)
        copy.stack, copy.buffer = list(self.stack), list(self.buffer)
        copy.heads, copy.labels = list(self.heads), list(self.labels)
        return copy

    def is_legal(self, action: Action) -> bool:
        """Whether the action is legal; the rules are at the top of this file."""
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
        elif arc := arc_of(action, self.focus):
            head, dependent = arc
            self.stack[-2:] = [head]
            self.heads[dependent], self.labels[dependent] = head, label
