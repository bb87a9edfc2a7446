"""Which sentences form a batch, and which of their states are encoded.

Every draw depends only on the seed, the epoch and the sentence's number, not on earlier draws. So a run can be resumed
anywhere, and processes can share a batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from graph2graph.arrays import BoolArray, IntArray
from graph2graph.config import ModelConfig, TrainConfig
from graph2graph.models.features import Features
from graph2graph.training.examples import Example, Sample
from graph2graph.transition.state import NO_NODE, ROOT

POOL = 50  # batches whose sentences are sorted by length together


class Sampler:
    """The batches of each epoch, and what is sampled from each sentence."""

    def __init__(self, examples: Sequence[Example], model: ModelConfig, train: TrainConfig, *, mask: int = 0) -> None:
        self.examples, self.model, self.train, self.mask = examples, model, train, mask  # mask: a piece
        self.costs = np.array([encoded_pieces(one.features, model, train.states) for one in examples])

    def batches(self, epoch: int) -> list[IntArray]:
        """Sentence numbers of each batch: of similar length, in random order, within the budget of pieces.

        With `batch_sentences` every batch has that many sentences. Then batches are the same for all sentence models,
        whether they encode one state of a sentence or several.
        """
        rng = np.random.default_rng([self.train.seed, epoch])
        order = rng.permutation(len(self.examples))
        batches = self._by_sentences(order) if self.train.batch_sentences else self._by_pieces(order)
        return [batches[i] for i in rng.permutation(len(batches))]

    def _by_pieces(self, order: IntArray) -> list[IntArray]:
        pool_pieces = POOL * self.train.batch_pieces
        filled = np.cumsum(self.costs[order])
        pools = np.split(order, np.searchsorted(filled, np.arange(1, filled[-1] // pool_pieces + 1) * pool_pieces))
        batches: list[IntArray] = []
        for pool in pools:
            if len(pool):
                by_length = pool[np.argsort(self.costs[pool], kind="stable")]
                filled = np.cumsum(self.costs[by_length])
                number = (filled - self.costs[by_length]) // self.train.batch_pieces
                batches += np.split(by_length, np.flatnonzero(np.diff(number)) + 1)
        return batches

    def _by_sentences(self, order: IntArray) -> list[IntArray]:
        size = self.train.batch_sentences
        lengths = np.array([example.features.n_pieces for example in self.examples])
        batches: list[IntArray] = []
        for start in range(0, len(order), POOL * size):
            pool = order[start : start + POOL * size]
            by_length = pool[np.argsort(lengths[pool], kind="stable")]
            batches += np.split(by_length, np.arange(size, len(by_length), size))
        return batches

    def sample(self, number: int, epoch: int) -> Sample:
        """A sentence, perhaps with tags or words hidden, and the steps whose states are encoded."""
        rng = np.random.default_rng([self.train.seed, epoch, number])
        example = self.examples[number]
        features = example.features
        if rng.random() < self.train.tag_dropout:
            features = features.without_tags()
        if self.train.word_dropout:
            hidden: BoolArray = rng.random(features.n_words + 1) < self.train.word_dropout
            hidden[ROOT] = False
            features = features.masked(hidden, self.mask)
        return Sample(replace(example, features=features), self._steps(example, rng, epoch))

    def _steps(self, example: Example, rng: np.random.Generator, epoch: int) -> IntArray:
        if self.model.input == "state":
            n_states = min(self.train.states or example.n_steps, example.n_steps)
            return np.sort(rng.choice(np.arange(example.n_steps), n_states, replace=False))
        empty = np.zeros(1, dtype=np.int64)
        if not self.model.graph_input or epoch < self.train.empty_epochs:
            return empty
        after_arcs = np.flatnonzero(example.labels[:-1] != NO_NODE) + 1  # steps at which the graph is new
        if self.train.states == 1:
            is_empty = not len(after_arcs) or rng.random() < self.train.empty_share
            return empty if is_empty else rng.choice(after_arcs, 1)
        if not len(after_arcs):
            return empty
        n_states = min(self.train.states - 1, len(after_arcs)) if self.train.states else len(after_arcs)
        return np.concatenate([empty, np.sort(rng.choice(after_arcs, n_states, replace=False))])


def chunks(samples: Sequence[Sample], model: ModelConfig, budget: int) -> Iterator[list[Sample]]:
    """Split a batch into chunks within a budget of pieces; the states of one sentence may fall into several chunks."""
    chunk: list[Sample] = []
    left = budget
    for example, steps in samples:
        each = encoded_pieces(example.features, model, 1)
        while len(steps):
            n_fitting = min(len(steps), max(left // each, not chunk))
            if n_fitting:
                chunk.append(Sample(example, steps[:n_fitting]))
                left -= n_fitting * each
            steps = steps[n_fitting:]
            if len(steps):
                yield chunk
                chunk, left = [], budget
    yield chunk


def encoded_pieces(features: Features, model: ModelConfig, states: int = 0) -> int:
    """The number of pieces encoded for a sentence if this many of its states are encoded; 0: all, as in exact decoding."""
    n_words = features.n_words
    if model.input == "state":
        return min(states or 2 * n_words, 2 * n_words) * (n_words + 3 + model.graph_input)
    return features.n_pieces * (min(states or n_words, n_words) if model.graph_input else 1)
