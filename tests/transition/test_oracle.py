"""The oracle rebuilds any tree, by the definitions of its papers, in time linear in the transitions."""

import itertools
import random
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph2graph.transition import oracle
from graph2graph.transition.oracle import completion, projective_order, rebuild, transitions
from graph2graph.transition.state import ROOT, Action, State
from graph2graph.treebank.sentence import cycles
from strategies import random_projective_tree, random_tree, reattached, trees

SHIFT, LEFT_ARC, RIGHT_ARC, SWAP = Action
SWAPS: tuple[oracle.Swap, ...] = ("eager", "lazy")


# The definitions, word for word and slow


def in_order(heads: list[int], node: int = ROOT) -> list[int]:
    """Nivre (2009), the projective order: the left dependents' subtrees, the node, the right dependents' subtrees."""
    dependents = [word for word, head in enumerate(heads, 1) if head == node]
    left = [below for word in dependents if word < node for below in in_order(heads, word)]
    right = [below for word in dependents if word > node for below in in_order(heads, word)]
    return [*left, node, *right]


def is_projective(heads: list[int]) -> bool:
    """Whether the projective order is the order of the sentence."""
    rank = projective_order(heads)
    return rank == sorted(rank)


def crossing(heads: list[int]) -> bool:
    """Whether two arcs cross, by looking at all pairs."""
    spans = [tuple(sorted((head, word))) for word, head in enumerate(heads, 1)]
    return any(a < c < b < d for (a, b), (c, d) in itertools.product(spans, repeat=2))


def components(heads: list[int]) -> dict[int, int]:
    """Nivre, Kuhlmann & Hall (2009): the maximal projective components, what is on the stack after arcs and shifts."""
    arcs = {(head, word) for word, head in enumerate(heads, 1)}
    built: set[tuple[int, int]] = set()
    component = {node: node for node in range(len(heads) + 1)}
    stack, buffer = [ROOT], list(range(1, len(heads) + 1))
    while True:
        i, j = stack[-2:] if len(stack) > 1 else (-1, stack[-1])
        if (j, i) in arcs and {arc for arc in arcs if arc[0] == i} <= built:
            built.add((j, i))
            stack.remove(i)
            old, new = component[i], component[j]
        elif (i, j) in arcs and {arc for arc in arcs if arc[0] == j} <= built:
            built.add((i, j))
            stack.remove(j)
            old, new = component[j], component[i]
        elif buffer:
            stack.append(buffer.pop(0))
            continue
        else:
            return component
        component = {node: new if name == old else name for node, name in component.items()}


def by_definition(heads: list[int], swap: oracle.Swap) -> list[Action]:
    """The oracle function of Nivre (2009), and the lazy one of Nivre, Kuhlmann & Hall (2009)."""
    arcs = {(head, word) for word, head in enumerate(heads, 1)}
    order = in_order(heads)
    component = components(heads)
    state, actions = State(len(heads)), []
    while not state.is_final:
        i, j, k = state.focus
        built = {(head, word) for word, head in enumerate(state.heads) if head != -1}
        if (j, i) in arcs and {arc for arc in arcs if arc[0] == i} <= built:
            action = LEFT_ARC
        elif (i, j) in arcs and {arc for arc in arcs if arc[0] == j} <= built:
            action = RIGHT_ARC
        elif (
            i != -1 and order.index(j) < order.index(i) and (swap == "eager" or k == -1 or component[j] != component[k])
        ):
            action = SWAP
        else:
            action = SHIFT
        state.apply(action)
        actions.append(action)
    return actions


@given(trees(max_size=10), st.sampled_from(SWAPS))
@settings(max_examples=300)
def test_the_oracle_is_that_of_the_papers(heads: list[int], swap: oracle.Swap) -> None:
    assert list(transitions(heads, swap=swap)) == by_definition(heads, swap)


@given(trees(max_size=12))
def test_projective_order_is_in_order(heads: list[int]) -> None:
    rank = projective_order(heads)
    assert sorted(range(len(rank)), key=rank.__getitem__) == in_order(heads)


# The laws


@pytest.mark.slow
@given(trees(max_size=25))
@settings(max_examples=400)
def test_replaying_the_oracle_gives_the_tree(heads: list[int]) -> None:
    lengths = []
    for swap in SWAPS:
        actions = transitions(heads, swap=swap)
        assert rebuild(len(heads), actions) == heads
        assert len(actions) == 2 * len(heads) + 2 * actions.count(SWAP)
        assert actions.count(SHIFT) == len(heads) + actions.count(SWAP)
        lengths.append(len(actions))
    eager, lazy = lengths
    assert lazy <= eager
    assert (eager == 2 * len(heads)) == is_projective(heads)


@given(st.integers(1, 40), st.randoms(use_true_random=False))
def test_nothing_is_swapped_in_a_projective_tree(n_words: int, rng: random.Random) -> None:
    heads = random_projective_tree(n_words, rng)
    assert is_projective(heads)
    assert transitions(heads) == transitions(heads, swap="lazy")
    assert SWAP not in transitions(heads)
    assert rebuild(n_words, transitions(heads)) == heads


@given(trees(max_size=9))
@settings(max_examples=300)
def test_projective_means_that_no_arcs_cross(heads: list[int]) -> None:
    assert is_projective(heads) == (not crossing(heads))


def test_every_small_tree() -> None:
    n_trees = n_lazy_shorter = 0
    for n_words in range(1, 6):
        for tree in itertools.product(range(n_words + 1), repeat=n_words):
            heads = list(tree)
            if heads.count(ROOT) == 1 and next(cycles(heads), None) is None:
                eager, lazy = (transitions(heads, swap=swap) for swap in SWAPS)
                assert rebuild(n_words, eager) == rebuild(n_words, lazy) == heads
                assert is_projective(heads) == (not crossing(heads)) == (SWAP not in eager)
                assert len(lazy) <= len(eager)
                n_trees += 1
                n_lazy_shorter += len(lazy) < len(eager)
    assert n_trees == 1 + 2 + 9 + 64 + 625
    assert n_lazy_shorter > 0


def test_root_arc_counts_for_projectivity() -> None:
    """1 hangs on 3 across 2, the root: no two words' arcs cross, but the arc from ROOT does."""
    assert not is_projective([3, 0, 2])
    assert is_projective([2, 0, 2])


def test_the_textbook_sentence() -> None:
    """Nivre (2009): A hearing is scheduled on the issue today."""
    heads = [2, 3, 0, 3, 2, 7, 5, 4, 3]
    assert not is_projective(heads)
    eager, lazy = transitions(heads), transitions(heads, swap="lazy")
    assert eager.count(SWAP) > lazy.count(SWAP) > 0
    assert rebuild(9, eager) == rebuild(9, lazy) == heads


# Long sentences

N = 5000
RNG = random.Random(2)
PROJECTIVE = random_projective_tree(N, RNG)
LONG = {
    "chain to the right": list(range(N)),
    "chain to the left": [*range(2, N + 1), 0],
    "star from the first": [0] + [1] * (N - 1),
    "star from the last": [N] * (N - 1) + [0],
    "star from the middle": [N // 2] * (N // 2 - 1) + [0] + [N // 2] * (N - N // 2),
    "projective": PROJECTIVE,
    "mildly non-projective": reattached(PROJECTIVE, 50, RNG),
}


@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("name", LONG)
def test_five_thousand_words(name: str, swap: oracle.Swap) -> None:
    heads = LONG[name]
    actions = transitions(heads, swap=swap)
    assert rebuild(N, actions) == heads
    assert (SWAP in actions) == (name == "mildly non-projective") != is_projective(heads)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "swap"), [("random", "eager"), ("interleaved chains", "lazy")])
def test_five_thousand_words_heavily_nonprojective(kind: str, swap: oracle.Swap) -> None:
    heads = random_tree(N, RNG) if kind == "random" else [0, 1, *range(1, N - 1)]
    actions = transitions(heads, swap=swap)
    assert actions.count(SWAP) > 3_000_000  # a quarter of all pairs
    assert rebuild(N, actions) == heads


def seconds(heads: list[int], swap: oracle.Swap) -> float:
    """Processor time, the best of some runs, so that other work on the machine hardly matters."""
    best = float("inf")
    for _ in range(4):
        start = time.process_time()
        transitions(heads, swap=swap)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("kind", ["chain to the right", "chain to the left", "star", "projective", "random"])
def test_time_is_linear_in_the_transitions(kind: str, swap: oracle.Swap) -> None:
    """Twenty times the transitions may take eighty times as long at most; quadratic time would be four hundred."""
    make: dict[str, Callable[[int], list[int]]] = {
        "chain to the right": lambda n: list(range(n)),
        "chain to the left": lambda n: [*range(2, n + 1), 0],
        "star": lambda n: [n // 2 if word != n // 2 else 0 for word in range(1, n + 1)],
        "projective": lambda n: random_projective_tree(n, random.Random(n)),
        "random": lambda n: random_tree(n, random.Random(n)),
    }
    small, large = (make[kind](n) for n in ((200, 900) if kind == "random" else (1000, 20_000)))
    ratio = len(transitions(large, swap=swap)) / len(transitions(small, swap=swap))
    assert 15 < ratio < 25
    for _attempt in range(5):
        if seconds(large, swap) < 4 * ratio * seconds(small, swap):
            return
    pytest.fail(f"{ratio:.0f} times the transitions take more than {4 * ratio:.0f} times as long")


# Off the gold path


def copied(state: State) -> State:
    copy = State(len(state.heads) - 1)
    copy.stack, copy.buffer, copy.heads = list(state.stack), list(state.buffer), list(state.heads)
    return copy


class Reachable:
    """By brute force: every state there is for some words, and the trees that can be had from it."""

    def __init__(self, n_words: int) -> None:
        self.states: list[State] = []
        self.known: dict[tuple[tuple[int, ...], ...], set[tuple[int, ...]]] = {}
        self.trees_from(State(n_words))

    def trees_from(self, state: State) -> set[tuple[int, ...]]:
        key = tuple(state.stack), tuple(state.buffer), tuple(state.heads)
        if key not in self.known:
            self.states.append(state)
            found = {tuple(state.heads[1:])} if state.is_final else set()
            for action in state.legal():
                after = copied(state)
                after.apply(action)
                found |= self.trees_from(after)
            self.known[key] = found
        return self.known[key]


@pytest.mark.parametrize(("n_words", "n_lost"), [(1, 0), (2, 0), (3, 4), (4, 114)])
def test_a_completion_leads_to_its_tree(n_words: int, n_lost: int) -> None:
    """From every state to every tree that can be reached; n_lost: how often none is found though the words are in order."""
    reachable = Reachable(n_words)
    reachable.trees_from(State(n_words))
    n_missed = 0
    for state in reachable.states:
        in_sentence_order = [*state.stack, *reversed(state.buffer)] == sorted([*state.stack, *state.buffer])
        for tree in reachable.trees_from(state):
            actions = completion(state, tree)
            if actions is None:
                n_missed += in_sentence_order
                continue
            after = copied(state)
            for action in actions:
                after.apply(Action(action))
            assert after.is_final
            assert tuple(after.heads[1:]) == tree
    assert n_missed == n_lost


@given(st.data(), trees(max_size=12))
def test_on_the_gold_path_the_completion_is_the_rest_of_it(data: st.DataObject, heads: list[int]) -> None:
    actions = transitions(heads)
    n_done = data.draw(st.integers(0, len(actions)))
    state = State(len(heads))
    for action in actions[:n_done]:
        state.apply(Action(action))
    assert completion(state, heads) == list(actions[n_done:])
