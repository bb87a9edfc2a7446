"""Arcs that are given and must be in the tree: which actions leave a way to one.

An action is allowed if it is legal, makes no arc that contradicts a given one, deletes no word that still waits for given
dependents, and leaves a state from which some tree with all given arcs can be reached. For the last, a way to the end is
always kept in hand: the way that was known goes on with its next action, and for any other action a new way is looked for. So
some action is always allowed, and the end has all given arcs in it.
"""

from collections.abc import Sequence
from itertools import chain

from graph2graph.errors import DataError
from graph2graph.transition import oracle
from graph2graph.transition.state import NO_NODE, ROOT, Action, State

NOT_ROOT = -2  # in place of a head: any but ROOT


class Constraint:
    """The given arcs of one sentence, and its state."""

    def __init__(self, heads: Sequence[int]) -> None:
        """heads: of nodes 0..n, NO_NODE where any will do, NOT_ROOT where any but ROOT will."""
        self.heads = list(heads)
        self.state = State(len(heads) - 1)
        self.n_waited_for = [0] * len(heads)  # given dependents that each node has not got yet
        for head in self.heads[1:]:
            if head >= ROOT:
                self.n_waited_for[head] += 1
        way = _way(self.state, self.heads)
        assert way is not None  # from the start every tree can be reached
        self.ways: dict[Action, list[Action]] = {}
        self._look_around(way)

    @property
    def allowed(self) -> list[bool]:
        """Which actions are allowed, by their number."""
        return [action in self.ways for action in Action]

    def take(self, action: Action) -> None:
        """Go on to the next state."""
        s2, s1, _ = self.state.focus
        if action in (Action.LEFT_ARC, Action.RIGHT_ARC):
            head, dependent = (s1, s2) if action == Action.LEFT_ARC else (s2, s1)
            self.n_waited_for[head] -= self.heads[dependent] == head
        self.state.apply(action)
        self._look_around(self.ways[action])

    def _look_around(self, way: list[Action]) -> None:
        """Find the allowed actions, each with a way to the end behind it; one way is known."""
        self.ways = {way[0]: way[1:]} if way else {}
        for action in self.state.legal():
            if action not in self.ways and self._fits(action):
                after = _copy(self.state)
                after.apply(action)
                found = _way(after, self.heads)
                if found is not None:
                    self.ways[action] = found

    def _fits(self, action: Action) -> bool:
        """Whether an action makes no arc against the given ones and deletes nothing that is still needed."""
        s2, s1, _ = self.state.focus
        if action == Action.LEFT_ARC:
            return self.heads[s2] in (NO_NODE, NOT_ROOT, s1) and self.n_waited_for[s2] == 0
        if action == Action.RIGHT_ARC:
            any_will_do = (NO_NODE,) if s2 == ROOT else (NO_NODE, NOT_ROOT)
            return self.heads[s1] in (*any_will_do, s2) and self.n_waited_for[s1] == 0
        return True


def check(heads: Sequence[int]) -> None:
    """Refuse given arcs that are in no tree: heads of nodes 0..n, or NO_NODE or NOT_ROOT."""
    roots = [word for word, head in enumerate(heads) if head == ROOT]
    if len(roots) > 1:
        raise DataError(f"words {roots[0]} and {roots[1]} are both given as root")
    for word in range(1, len(heads)):
        node, n_steps = word, 0
        while node > ROOT:
            node, n_steps = heads[node], n_steps + 1
            if n_steps > len(heads):
                raise DataError(f"the given heads lead from word {word} round in a circle")
    if not roots and NO_NODE not in heads[1:]:
        raise DataError("no word can be the root: each has a head, or a label that is not the root's")


def _way(state: State, given: Sequence[int]) -> list[Action] | None:
    """Actions that lead from a state to some tree with the given arcs, or None."""
    tree = _tree(state, given)
    found = None if tree is None else oracle.way_to(state, tree)
    return None if found is None else [Action(number) for number in found]


def _tree(state: State, given: Sequence[int]) -> list[int] | None:
    """A tree with the arcs of a state and the given ones: a word that may have any head hangs on the nearest one before it.

    None where no word is left to be the root.
    """
    heads = [there if there != NO_NODE else asked for there, asked in zip(state.heads, given, strict=True)]
    sequence = [*state.stack[1:], *reversed(state.buffer)]
    if ROOT not in heads:
        root = next((word for word in sequence if heads[word] == NO_NODE), None)
        if root is None:
            return None
        heads[root] = ROOT
    above = list(heads)  # a shortcut upwards, made longer whenever it is taken

    def top(word: int) -> int:
        path = []
        while above[word] > ROOT:
            path.append(word)
            word = above[word]
        for below in path:
            above[below] = word
        return word

    for place, word in enumerate(sequence):
        if heads[word] < ROOT:
            near = map(sequence.__getitem__, chain(reversed(range(place)), range(place + 1, len(sequence))))
            heads[word] = above[word] = next(other for other in near if top(other) != word)
    return heads[1:]


def _copy(state: State) -> State:
    copy = State(len(state.heads) - 1)
    copy.stack, copy.buffer, copy.heads = list(state.stack), list(state.buffer), list(state.heads)
    return copy
