"""Training examples: the gold transitions of each sentence, with the states before them, computed once.

Shapes: n words, T transitions, K encoded states of a sentence.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graph2graph.arrays import BoolArray, IntArray
from graph2graph.models.features import Features
from graph2graph.parser.parser import Parser
from graph2graph.transition import oracle
from graph2graph.transition.state import NO_NODE, Action, State
from graph2graph.transition.states import States, arcs_of
from graph2graph.treebank.sentence import Sentence

NEVER = 1 << 40  # the step that attaches ROOT


@dataclass(frozen=True)
class Example:
    """A sentence of n words with T gold transitions."""

    features: Features
    tags: IntArray  # [n + 1] gold, even if the features have none
    actions: IntArray  # [T]
    labels: IntArray  # [T] label of the arc, NO_NODE for SHIFT and SWAP
    focus: IntArray  # [T, 3] s2, s1, b1 before each transition
    legal: BoolArray  # [T, 4]
    heads: IntArray  # [n + 1] gold
    deprels: IntArray  # [n + 1] gold label of each node
    attached_at: IntArray  # [n + 1] the step that gives each node its head
    states: States | None  # stack and buffer before each step; only state models need them

    @property
    def n_steps(self) -> int:
        """T."""
        return len(self.actions)

    def graph_at(self, steps: IntArray) -> tuple[IntArray, IntArray]:
        """Heads and labels of the arcs that exist before these steps, [K, n + 1] each."""
        known = self.attached_at < steps[:, None]
        return np.where(known, self.heads, NO_NODE), np.where(known, self.deprels, NO_NODE)

    def missing_arcs(self, steps: IntArray) -> IntArray:
        """How many more arcs exist at each decision than before each of these steps, [K, T]; negative for earlier decisions."""
        is_arc = self.labels != NO_NODE
        n_arcs = np.cumsum(is_arc) - is_arc  # before each step
        missing: IntArray = n_arcs - n_arcs[steps][:, None]
        return missing

    def is_empty_at(self, steps: IntArray) -> BoolArray:
        """Whether the graph has no arcs before each of these steps, [K]."""
        is_empty: BoolArray = self.attached_at.min() >= steps
        return is_empty

    def states_at(self, steps: IntArray) -> States:
        """The parser states before these steps; sentence models get their graphs only."""
        n_words = np.full(len(steps), self.features.n_words)
        states = States(n_words) if self.states is None else self.states.take(steps)
        states.heads, states.labels = self.graph_at(steps)
        return states


class Sample(NamedTuple):
    """A sentence of a batch."""

    example: Example
    steps: IntArray  # [K] the states before these are encoded


def training_examples(parser: Parser, sentences: Iterable[Sentence]) -> list[Example]:
    """One example for each sentence, following the parser's settings."""
    return [_example(parser, sentence) for sentence in sentences]


def _example(parser: Parser, sentence: Sentence) -> Example:
    tree, features, label_ids = sentence.tree, parser.featurizer(sentence), parser.vocabulary.label_ids
    heads = np.array([NO_NODE, *tree], dtype=np.int64)
    deprels = np.array([NO_NODE] + [label_ids[deprel] for deprel in sentence.deprels], dtype=np.int64)
    actions = np.frombuffer(oracle.transitions(tree, swap=parser.config.data.swap), dtype=np.uint8).astype(np.int64)
    states = _states_before(actions, n_words=len(tree))
    focus = states.focus
    arcs = arcs_of(actions, focus)
    labels = np.full(len(actions), NO_NODE, dtype=np.int64)
    labels[arcs.positions] = deprels[arcs.dependents]
    attached_at = np.full(len(heads), NEVER, dtype=np.int64)
    attached_at[arcs.dependents] = arcs.positions
    return Example(
        features=features,
        tags=features.tags,
        actions=actions,
        labels=labels,
        focus=focus,
        legal=states.legal(),
        heads=heads,
        deprels=deprels,
        attached_at=attached_at,
        states=states if parser.config.model.input == "state" else None,
    )


def _states_before(actions: IntArray, *, n_words: int) -> States:
    """The states before each action, one per row."""
    state, states = State(n_words), States(np.full(len(actions), n_words))
    for step, action in enumerate(actions):
        states.stack_size[step], states.buffer_size[step] = len(state.stack), len(state.buffer)
        states.stack[step, : len(state.stack)] = state.stack
        states.buffer[step, : len(state.buffer)] = state.buffer
        state.apply(Action(action))
    return states
