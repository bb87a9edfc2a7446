"""Constraints: which actions keep the given arcs of a sentence possible.

An action is allowed if it is legal, adds no arc that contradicts a given one, deletes no word that still lacks a given
dependent, and leads to a state from which some tree with all given arcs can be built. To be sure of that, each allowed action
has a completion: the actions that finish such a tree after it. Once the action is taken, its completion begins with an allowed
one. So some action is always allowed, and the final tree has all given arcs.
"""

from collections.abc import Sequence
from itertools import chain

from graph2graph.errors import DataError
from graph2graph.transition import oracle
from graph2graph.transition.state import NO_NODE, ROOT, Action, State, arc_of
from graph2graph.treebank.sentence import cycles

NOT_ROOT = -2  # in place of a head: any word, but not ROOT


class Constraint:
    """The given arcs of one sentence, and its parser state."""

    def __init__(self, heads: Sequence[int]) -> None:
        """The heads are of nodes 0..n: NO_NODE where any head will do, NOT_ROOT where any word will."""
        self.heads = list(heads)
        self.state = State(len(heads) - 1)
        self.n_missing = [0] * len(heads)  # given dependents that each node still lacks
        for head in self.heads[1:]:
            if head >= ROOT:
                self.n_missing[head] += 1
        completion = _completion(self.state, self.heads)
        assert completion is not None  # from the initial state every tree can be built
        self._find_allowed(completion)

    @property
    def allowed(self) -> list[bool]:
        """Which actions are allowed, by their number."""
        return [action in self.completions for action in Action]

    def take(self, action: Action) -> None:
        """Take an allowed action."""
        if arc := arc_of(action, self.state.focus):
            head, dependent = arc
            self.n_missing[head] -= self.heads[dependent] == head
        self.state.apply(action)
        self._find_allowed(self.completions[action])

    def _find_allowed(self, known: list[Action]) -> None:
        """Find a completion for each allowed action; one completion of the state is known."""
        self.completions: dict[Action, list[Action]] = {known[0]: known[1:]} if known else {}
        for action in self.state.legal():
            if action not in self.completions and self._agrees(action):
                after = self.state.copy()
                after.apply(action)
                if (completion := _completion(after, self.heads)) is not None:
                    self.completions[action] = completion

    def _agrees(self, action: Action) -> bool:
        """Whether the arc of an action agrees with the given ones, and its dependent has all its given dependents."""
        arc = arc_of(action, self.state.focus)
        if arc is None:
            return True
        head, dependent = arc
        given = self.heads[dependent]
        agrees = given in (head, NO_NODE) or (given == NOT_ROOT and head != ROOT)
        return agrees and self.n_missing[dependent] == 0


def check(heads: Sequence[int]) -> None:
    """Refuse given arcs that no tree has: heads of nodes 0..n, or NO_NODE or NOT_ROOT."""
    roots = [word for word, head in enumerate(heads) if head == ROOT]
    if len(roots) > 1:
        raise DataError(f"words {roots[0]} and {roots[1]} are both given as root")
    if word := next(cycles([max(head, ROOT) for head in heads[1:]]), None):
        raise DataError(f"the given heads lead from word {word} round in a circle")
    if not roots and NO_NODE not in heads[1:]:
        raise DataError("no word can be the root: each has a head, or a label that is not the root's")


def imposed(given: Sequence[int], heads: Sequence[int]) -> list[int]:
    """The heads of a tree with all given arcs, of nodes 0..n, in linear time; both arguments are of nodes 0..n too.

    A word keeps its head in the tree `heads` unless another one is given. If that would make a cycle or a second root, the word
    is attached to the root.
    """
    found = [wanted if wanted >= ROOT else head for wanted, head in zip(given, heads, strict=True)]
    root = next((word for word, head in enumerate(given) if head == ROOT), heads.index(ROOT))
    if given[root] not in (ROOT, NO_NODE):
        root = given.index(NO_NODE, 1)
    found[root] = ROOT
    ancestor = [head if wanted >= ROOT else NO_NODE for wanted, head in zip(given, found, strict=True)]
    ancestor[root] = ROOT
    for word in range(1, len(found)):
        if given[word] < ROOT and word != root:
            if found[word] == ROOT or _top(found[word], ancestor) == word:
                found[word] = root
            ancestor[word] = found[word]
    return found


def _top(word: int, ancestor: list[int]) -> int:
    """The highest ancestor of a word so far; `ancestor` has shortcuts upwards, which are lengthened."""
    path = []
    while ancestor[word] > ROOT:
        path.append(word)
        word = ancestor[word]
    for below in path:
        ancestor[below] = word
    return word


def _completion(state: State, given: Sequence[int]) -> list[Action] | None:
    """Actions that lead from a state to some tree with the given arcs; None if none was found."""
    tree = _tree(state, given)
    return None if tree is None else oracle.completion(state, tree)


def _tree(state: State, given: Sequence[int]) -> list[int] | None:
    """A tree with the arcs of a state and the given ones; None if no word is left to be the root.

    A word that may have any head is attached to the nearest word before it that makes no cycle, else to the nearest after it.
    """
    heads = [built if built != NO_NODE else wanted for built, wanted in zip(state.heads, given, strict=True)]
    sequence = [*state.stack[1:], *reversed(state.buffer)]
    if ROOT not in heads:
        root = next((word for word in sequence if heads[word] == NO_NODE), None)
        if root is None:
            return None
        heads[root] = ROOT
    ancestor = list(heads)
    for index, word in enumerate(sequence):
        if heads[word] < ROOT:
            nearest = map(sequence.__getitem__, chain(reversed(range(index)), range(index + 1, len(sequence))))
            heads[word] = ancestor[word] = next(other for other in nearest if _top(other, ancestor) != word)
    return heads[1:]
