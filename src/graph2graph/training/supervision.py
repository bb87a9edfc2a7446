"""Which decisions each encoded state supervises, and with what weight.

An encoded state supervises the decision at its own step and, with less weight, the later ones, whose focus words it contains
too. Its graph lacks the arcs added since; a state model's stack and buffer lack all transitions since. Each of these lowers the
weight of a decision (`StaleWeights`). SentTr has one encoding for all steps, and all decisions have weight 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from graph2graph.arrays import FloatArray, IntArray
from graph2graph.config import ModelConfig
from graph2graph.training.examples import Sample

MIN_WEIGHT = 0.01  # decisions with less are left out


class GraphKind(IntEnum):
    """The graph that a decision is made on."""

    EMPTY = 0
    EXACT = 1  # has all arcs that exist at the decision, as in exact decoding
    STALE = 2  # lacks the newest arcs


class StaleWeights(NamedTuple):
    """A decision's weight is one of these to the power of the arcs (in a state model: transitions) that its graph lacks."""

    empty: float  # if the graph is empty
    other: float


OWN_DECISIONS = StaleWeights(0.0, 0.0)  # no stale decisions, as in the paper


class SupervisedDecisions(NamedTuple):
    """The D decisions that a batch supervises, [D] each."""

    encoded: IntArray  # the encoded state that each is made on
    sentences: IntArray
    steps: IntArray
    weights: FloatArray
    kinds: IntArray  # GraphKind


@dataclass(frozen=True)
class Batch:
    """Sentences, their states to encode, and the decisions that these supervise."""

    samples: Sequence[Sample]
    decisions: SupervisedDecisions
    stale: StaleWeights

    @property
    def n_encoded(self) -> int:
        """The number of states to encode."""
        return sum(len(sample.steps) for sample in self.samples)


def supervise(samples: Sequence[Sample], model: ModelConfig, stale: StaleWeights = OWN_DECISIONS) -> Batch:
    """The batch of these samples, with its decisions."""
    parts, n_encoded = [], 0
    for number, sample in enumerate(samples):
        parts.append(_decisions(sample, number, n_encoded, model, stale))
        n_encoded += len(sample.steps)
    return Batch(samples, SupervisedDecisions(*map(np.concatenate, zip(*parts, strict=True))), stale)


def total_weight(batches: Sequence[Batch]) -> float:
    """The sum of the weights of all decisions."""
    return float(np.concatenate([batch.decisions.weights for batch in batches]).sum())


def _decisions(
    sample: Sample, sentence: int, n_before: int, model: ModelConfig, stale: StaleWeights
) -> SupervisedDecisions:
    """The decisions of one sentence; the batch has `n_before` encoded states before its own."""
    example, steps = sample
    weights, missing = _weights(sample, model, stale)
    rows, columns = (weights > MIN_WEIGHT).nonzero()
    is_empty = model.graph_input & example.is_empty_at(steps)[rows]
    is_exact = missing[rows, columns] == 0
    return SupervisedDecisions(
        encoded=n_before + rows,
        sentences=np.full(len(columns), sentence),
        steps=columns,
        weights=weights[rows, columns],
        kinds=np.where(is_empty, GraphKind.EMPTY, np.where(is_exact, GraphKind.EXACT, GraphKind.STALE)),
    )


def _weights(sample: Sample, model: ModelConfig, stale: StaleWeights) -> tuple[FloatArray, IntArray]:
    """The weight of each decision on each encoded state, [K, T], and how many arcs or transitions that state lacks."""
    example, steps = sample
    if model.input == "sentence" and not model.graph_input:
        shape = (1, example.n_steps)
        return np.ones(shape), np.zeros(shape, dtype=np.int64)
    n_transitions: IntArray = np.arange(example.n_steps) - steps[:, None]  # from each encoded state to each decision
    if model.input == "state":
        missing = n_transitions
        # CLS is one vector, for the state's own decision
        base = np.full(len(steps), stale.other if model.output == "tokens" else 0.0)
    else:
        missing = example.missing_arcs(steps)
        base = np.where(example.is_empty_at(steps), stale.empty, stale.other)
    weights: FloatArray = np.power(base[:, None], np.maximum(missing, 0))
    return np.where(n_transitions >= 0, weights, 0.0), missing
