"""Which decisions each encoded state supervises, and with what weight.

An encoded state supervises the decision at its own step and, with less weight, the later ones: their focus words are in it
already. Its graph lacks the arcs added since (a state model's stack and buffer lack all transitions since), so a decision's
weight falls with each of these (`StaleWeights`). SentTr has one encoding for all steps, and all decisions have weight 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from graph2graph.arrays import FloatArray, IntArray
from graph2graph.config import ModelConfig, TrainConfig
from graph2graph.training.examples import Sample

MIN_WEIGHT = 0.01  # decisions with less are left out


class GraphKind(IntEnum):
    """The graph that a decision is made on."""

    EMPTY = 0
    EXACT = 1  # with all arcs that exist at the decision, as in exact decoding
    STALE = 2  # without the newest ones


class StaleWeights(NamedTuple):
    """The weight of a decision is one of these to the power of the arcs that its graph lacks.

    In a state model: of the transitions that the encoded state lacks.
    """

    empty: float  # if the graph is empty
    other: float

    @classmethod
    def of(cls, config: TrainConfig) -> "StaleWeights":
        """The weights in the settings."""
        return cls(config.empty_stale_weight, config.stale_weight)


OWN_DECISIONS = StaleWeights(0.0, 0.0)  # no stale decisions, as in the paper


@dataclass(frozen=True)
class SupervisedDecisions:
    """The decisions that a batch supervises, D of them."""

    encoded: IntArray  # the encoded state that each is made on
    sentences: IntArray
    steps: IntArray
    weights: FloatArray
    kinds: IntArray  # GraphKind

    @classmethod
    def joined(cls, parts: Sequence["SupervisedDecisions"]) -> "SupervisedDecisions":
        """All decisions of several."""
        return cls(
            encoded=np.concatenate([part.encoded for part in parts]),
            sentences=np.concatenate([part.sentences for part in parts]),
            steps=np.concatenate([part.steps for part in parts]),
            weights=np.concatenate([part.weights for part in parts]),
            kinds=np.concatenate([part.kinds for part in parts]),
        )


@dataclass(frozen=True)
class Batch:
    """Sentences, the states of theirs to encode, and the decisions that these supervise."""

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
    return Batch(samples, SupervisedDecisions.joined(parts), stale)


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
    if model.input == "state":
        missing = example.missing_transitions(steps)
        # CLS is one vector, for the state's own decision
        base = np.full(len(steps), stale.other if model.output == "tokens" else 0.0)
    else:
        missing = example.missing_arcs(steps)
        base = np.where(example.is_empty_at(steps), stale.empty, stale.other)
    weights: FloatArray = np.power(base[:, None], np.maximum(missing, 0))
    return np.where(np.arange(example.n_steps) >= steps[:, None], weights, 0.0), missing
