"""The static oracle: from a tree to the transitions that build it.

Nivre (2009): LEFT-ARC or RIGHT-ARC as soon as the dependent has all its own dependents, else SWAP if s2 comes after s1 in the
tree's projective order, else SHIFT. The projective order puts each word between its left and its right dependents; for a
projective tree it is the order of the sentence, so nothing is swapped.

The lazy oracle (Nivre, Kuhlmann & Hall 2009) delays a SWAP while s1 and b1 are in the same projective part of the tree,
because that part can be built first and then moved as one word. This makes the sequence shorter.

Both take time linear in the number of transitions, which is exactly 2n + 2 · (number of swaps).
"""

from collections.abc import Sequence
from typing import Literal

from graph2graph.transition.state import NO_NODE, ROOT, Action, State

Swap = Literal["eager", "lazy"]
_ACTIONS = {int(action): action for action in Action}  # several times as fast as Action(number)


def transitions(heads: Sequence[int], *, swap: Swap = "eager", start: State | None = None) -> bytearray:
    """The actions that build this tree (heads of words 1..n, one of them 0), each as its number.

    From a state on the gold path they are the rest of the path. From other states they may fail: see `completion`.

    >>> from graph2graph.transition.state import Action
    >>> [Action(a).title for a in transitions([2, 0])]
    ['SHIFT', 'SHIFT', 'LEFT-ARC', 'RIGHT-ARC']
    """
    head = [-1, *heads]
    order = projective_order(heads)
    part = _projective_parts(head) if swap == "lazy" else None
    start = start or State(len(heads))
    stack, buffer, missing = list(start.stack), list(start.buffer), _n_missing(head, start)
    shift, left, right, swapping = map(int, Action)

    actions = bytearray()
    act = actions.append
    while True:
        while len(stack) > 1:  # arcs and swaps, until only SHIFT is left
            s1, s2 = stack[-1], stack[-2]
            if head[s2] == s1 and not missing[s2]:
                act(left)
                del stack[-2]
                missing[s1] -= 1
            elif head[s1] == s2 and not missing[s1]:
                act(right)
                del stack[-1]
                missing[s2] -= 1
            elif order[s2] > order[s1] and (part is None or not buffer or part[s1] != part[buffer[-1]]):
                act(swapping)
                del stack[-2]
                buffer.append(s2)
            else:
                break
        if not buffer:
            return actions
        act(shift)
        stack.append(buffer.pop())


def _n_missing(head: list[int], state: State) -> list[int]:
    """How many dependents each node still lacks in a state."""
    missing = [0] * len(head)
    for word in range(1, len(head)):
        if state.heads[word] == NO_NODE:
            missing[head[word]] += 1
    return missing


def completion(state: State, heads: Sequence[int]) -> list[Action] | None:
    """The actions that lead from a state to this tree, which has the state's arcs; None if none were found.

    The first attempt brings the words into the tree's projective order, as from the initial state. It can fail after a swap or
    a missed arc. The second treats the present order of the words as that of the sentence.
    """
    sequence = [*state.stack, *reversed(state.buffer)]
    rank = {node: position for position, node in enumerate(sequence)}
    reordered = State(len(sequence) - 1)  # the words without a head, numbered in their present order
    for _ in state.stack[1:]:
        reordered.apply(Action.SHIFT)
    for tree, start in ((heads, state), ([rank[heads[word - 1]] for word in sequence[1:]], reordered)):
        actions = [_ACTIONS[number] for number in transitions(tree, start=start)]
        after = state.copy()
        for action in actions:
            if not after.is_legal(action):
                break
            after.apply(action)
        if after.is_final and after.heads[1:] == list(heads):
            return actions
    return None


def projective_order(heads: Sequence[int]) -> list[int]:
    """The rank of each node 0..n in the order that puts every word between its left and its right dependents."""
    n_nodes = len(heads) + 1
    # Children as linked lists, each in sentence order: built from the last word back.
    first_child, next_sibling = [0] * n_nodes, [0] * n_nodes
    for word in range(n_nodes - 1, 0, -1):
        h = heads[word - 1]
        next_sibling[word], first_child[h] = first_child[h], word
    rank = [0] * n_nodes
    n_ranked, node = 0, ROOT
    path: list[int] = []
    while True:
        # Go down to the left as far as possible. A node is ranked before its first child to the right.
        child = first_child[node]
        if child and child < node:
            first_child[node] = next_sibling[child]
            path.append(node)
            node = child
            continue
        if not rank[node]:
            rank[node] = n_ranked = n_ranked + 1
        if child:
            first_child[node] = next_sibling[child]
            path.append(node)
            node = child
        elif path:
            node = path.pop()
        else:
            return rank


def rebuild(n_words: int, actions: Sequence[int]) -> list[int]:
    """The heads of words 1..n that these actions build; raises ValueError on an illegal action."""
    state = State(n_words)
    for number in actions:
        state.apply(_ACTIONS[number])
    return state.heads[1:]


def _projective_parts(head: list[int]) -> list[int]:
    """The part of each node, named by its top node: the subtrees that can be built without swaps."""
    missing = _n_missing(head, State(len(head) - 1))
    stack: list[int] = []
    attached: list[int] = []  # a node comes after all its dependents
    for node in range(len(head)):
        stack.append(node)
        while len(stack) > 1:
            s1, s2 = stack[-1], stack[-2]
            if head[s2] == s1 and not missing[s2]:
                dependent = stack.pop(-2)
            elif head[s1] == s2 and not missing[s1]:
                dependent = stack.pop()
            else:
                break
            attached.append(dependent)
            missing[head[dependent]] -= 1
    part = list(range(len(head)))
    for dependent in reversed(attached):
        part[dependent] = part[head[dependent]]
    return part
