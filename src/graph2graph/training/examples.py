"""A gold tree as training material: its transitions and the states they pass through, prepared once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from graph2graph.arrays import BoolArray, FloatArray, IntArray
from graph2graph.models.features import Features
from graph2graph.transition import oracle
from graph2graph.transition.state import NO_NODE, ROOT, Action, State
from graph2graph.transition.states import States
from graph2graph.treebank import conllu

NEVER = 1 << 40  # when ROOT gets its head


class StaleWeights(NamedTuple):
    """What a decision counts for each arc that the graph it is taken on lacks: the empty graph, or another.

    In a state model: for each transition that the state lacks.
    """

    empty: float
    other: float


@dataclass(frozen=True)
class Example:
    """A sentence with T gold transitions; everything that depends on the step has T rows."""

    features: Features
    tags: IntArray  # [n + 1] gold, whether or not the features have them
    actions: IntArray  # [T]
    labels: IntArray  # [T] label of the arc, NO_NODE for SHIFT and SWAP
    focus: IntArray  # [T, 3] s2, s1, b1 before each
    legal: BoolArray  # [T, 4]
    heads: IntArray  # [n + 1] gold
    deprels: IntArray  # [n + 1] gold label of each node
    attached_at: IntArray  # [n + 1] the step whose action gives each node its head
    states: States | None  # stack and buffer before each step, for the state models

    @property
    def n_steps(self) -> int:
        """T."""
        return len(self.actions)

    def without_tags(self) -> "Example":
        """The same sentence as if it had no tags."""
        return replace(self, features=self.features.without_tags())

    def masked(self, words: BoolArray, mask: int) -> "Example":
        """The same sentence with some words, [n + 1], hidden behind the mask."""
        return replace(self, features=self.features.masked(words, mask))

    def graph_at(self, steps: IntArray) -> tuple[IntArray, IntArray]:
        """Heads and labels of the arcs that exist before these steps, [K, n + 1] each."""
        known = self.attached_at < steps[:, None]
        return np.where(known, self.heads, NO_NODE), np.where(known, self.deprels, NO_NODE)

    def state_staleness(self, steps: IntArray) -> IntArray:
        """How many transitions the state before each of these steps lacks at each decision, [K, T]; negative once taken."""
        staleness: IntArray = np.arange(self.n_steps) - steps[:, None]
        return staleness

    def graph_staleness(self, steps: IntArray) -> IntArray:
        """How many arcs the graph before each of these steps lacks at each decision, [K, T]; negative for earlier graphs."""
        is_arc = self.labels != NO_NODE
        n_arcs = np.cumsum(is_arc) - is_arc  # before each step
        staleness: IntArray = n_arcs - n_arcs[steps][:, None]
        return staleness

    def state_weights(self, steps: IntArray, stale: float) -> FloatArray:
        """What each decision counts in the state before each of these steps, [K, T]: 0 for those already taken."""
        staleness = self.state_staleness(steps)
        weights: FloatArray = np.power(stale, np.maximum(staleness, 0))
        return np.where(staleness >= 0, weights, 0.0)

    def graph_weights(self, steps: IntArray, stale: "StaleWeights") -> FloatArray:
        """What each decision counts on the graph before each of these steps, [K, T]: 0 for those already taken."""
        staleness = self.graph_staleness(steps)
        base = np.where(self.is_empty_at(steps), stale.empty, stale.other)
        weights: FloatArray = np.power(base[:, None], np.maximum(staleness, 0))
        return np.where(np.arange(self.n_steps) >= steps[:, None], weights, 0.0)

    def is_empty_at(self, steps: IntArray) -> BoolArray:
        """Whether there is no arc yet before each of these steps, [K]."""
        is_empty: BoolArray = self.attached_at.min() >= steps
        return is_empty

    def states_at(self, steps: IntArray) -> States:
        """The parser states before these steps; without stack and buffer where those were not kept."""
        n_words = np.full(len(steps), self.features.n_words)
        states = States(n_words) if self.states is None else self.states.take(steps)
        states.heads, states.labels = self.graph_at(steps)
        return states


def example(
    sentence: conllu.Sentence, features: Features, labels: dict[str, int], *, swap: oracle.Swap, keep_states: bool
) -> Example:
    """The training material of one sentence; `labels` numbers the deprels."""
    tree = sentence.tree
    heads = np.array([NO_NODE, *tree], dtype=np.int64)
    deprels = np.array([NO_NODE] + [labels[deprel] for deprel in sentence.deprels], dtype=np.int64)
    start, actions = State(len(tree)), oracle.transitions(tree, swap=swap)
    return _along(features, features.tags, heads, deprels, start, actions, keep_states=keep_states)


def detour(gold: Example, state: State, labels: IntArray, *, root_label: int) -> Example | None:
    """The way from a state off the gold path to the best tree that can still be had; None where no way is found.

    labels: of the arcs in the state. Words that get their head later keep their gold label, whichever head it will be.
    """
    found = oracle.way_back(state, gold.heads[1:].tolist())
    if found is None:
        return None
    tree, actions = found
    heads = np.array([NO_NODE, *tree], dtype=np.int64)
    deprels = np.where(np.array(state.heads) != NO_NODE, labels, np.where(heads == ROOT, root_label, gold.deprels))
    return _along(gold.features, gold.tags, heads, deprels, state, actions, keep_states=gold.states is not None)


def _along(
    features: Features,
    tags: IntArray,
    heads: IntArray,
    deprels: IntArray,
    start: State,
    transitions: bytearray,
    *,
    keep_states: bool,
) -> Example:
    """The material of these transitions, which lead from a state to a tree; the state moves along."""
    actions = np.frombuffer(transitions, dtype=np.uint8).astype(np.int64)
    attached_at = np.where(np.array(start.heads) == NO_NODE, NEVER, -1)
    states = _replayed(start, actions)
    focus = states.focus
    is_left, is_right = actions == Action.LEFT_ARC, actions == Action.RIGHT_ARC
    dependents = np.where(is_left, focus[:, 0], np.where(is_right, focus[:, 1], ROOT))
    attached_at[dependents] = np.arange(len(actions))
    attached_at[ROOT] = NEVER
    return Example(
        features=features,
        tags=tags,
        actions=actions,
        labels=deprels[dependents],
        focus=focus,
        legal=states.legal(),
        heads=heads,
        deprels=deprels,
        attached_at=attached_at,
        states=states if keep_states else None,
    )


def _replayed(state: State, actions: IntArray) -> States:
    """The states before each action, as rows; the state moves along."""
    states = States(np.full(len(actions), len(state.heads) - 1))
    for step, action in enumerate(actions):
        states.stack_size[step], states.buffer_size[step] = len(state.stack), len(state.buffer)
        states.stack[step, : len(state.stack)] = state.stack
        states.buffer[step, : len(state.buffer)] = state.buffer
        state.apply(Action(action))
    return states


def joined_states(examples: Sequence[Example], steps: Sequence[IntArray]) -> States:
    """The states of several sentences at some steps of each, one after another."""
    return States.joined([example.states_at(some) for example, some in zip(examples, steps, strict=True)])
