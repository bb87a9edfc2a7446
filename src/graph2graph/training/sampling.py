"""Which sentences make a batch, and which of their states are encoded.

All of it follows from the seed, the epoch and the number of the sentence, never from what was drawn before: so a run can go on
anywhere, and the shares of several processes fit together.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from graph2graph.arrays import IntArray
from graph2graph.config import ModelConfig, TrainConfig
from graph2graph.models.features import Features
from graph2graph.training.examples import Example
from graph2graph.transition.state import NO_NODE, ROOT

POOL = 50  # batches whose sentences are sorted by length together


class Draw(NamedTuple):
    """A sentence of a batch."""

    example: Example
    steps: IntArray  # whose states are encoded
    detour: float | None  # if the last is to be off the gold path: how far down the parser's own way, 0 to 1


class Sampler:
    """The batches of each epoch."""

    def __init__(self, examples: Sequence[Example], model: ModelConfig, train: TrainConfig, *, mask: int = 0) -> None:
        self.examples, self.model, self.train, self.mask = examples, model, train, mask  # mask: the piece
        self.costs = np.array([self._cost(example) for example in examples])  # pieces encoded

    def batches(self, epoch: int) -> list[IntArray]:
        """The numbers of the sentences of each batch: of like length, in random order, within the budget of pieces.

        With `batch_sentences` a batch has so many sentences, whatever they encode: the same ones in every sentence model, so
        that models which encode one state of a sentence and models which encode all make the same updates.
        """
        rng = np.random.default_rng([self.train.seed, epoch])
        order = rng.permutation(len(self.examples))
        if self.train.batch_sentences:
            return self._batches_of_sentences(order, rng)
        filled = np.cumsum(self.costs[order])
        pools = np.split(
            order, np.searchsorted(filled, np.arange(1, filled[-1] // self._pool_size + 1) * self._pool_size)
        )
        batches: list[IntArray] = []
        for pool in pools:
            if len(pool):
                by_length = pool[np.argsort(self.costs[pool], kind="stable")]
                filled = np.cumsum(self.costs[by_length])
                number = (filled - self.costs[by_length]) // self.train.batch_pieces
                batches += np.split(by_length, np.flatnonzero(np.diff(number)) + 1)
        return [batches[i] for i in rng.permutation(len(batches))]

    def _batches_of_sentences(self, order: IntArray, rng: np.random.Generator) -> list[IntArray]:
        size = self.train.batch_sentences
        lengths = np.array([example.features.n_pieces for example in self.examples])
        batches: list[IntArray] = []
        for start in range(0, len(order), POOL * size):
            pool = order[start : start + POOL * size]
            by_length = pool[np.argsort(lengths[pool], kind="stable")]
            batches += np.split(by_length, np.arange(size, len(by_length), size))
        return [batches[i] for i in rng.permutation(len(batches))]

    @property
    def _pool_size(self) -> int:
        return POOL * self.train.batch_pieces

    def draw(self, number: int, epoch: int) -> "Draw":
        """What is learnt from a sentence of a batch; now and then without its tags."""
        rng = np.random.default_rng([self.train.seed, epoch, number])
        example = self.examples[number]
        if rng.random() < self.train.tag_dropout:
            example = example.without_tags()
        if self.train.word_dropout:
            hidden = rng.random(example.features.n_words + 1) < self.train.word_dropout
            hidden[ROOT] = False
            example = example.masked(hidden, self.mask)
        steps = self._steps(example, rng, epoch)
        is_graph_model = self.model.graph_input and self.model.input == "sentence"
        explores = is_graph_model and epoch >= self.train.empty_epochs and rng.random() < self.train.explore
        return Draw(example, steps, rng.random() if explores else None)

    def _steps(self, example: Example, rng: np.random.Generator, epoch: int) -> IntArray:
        empty = np.zeros(1, dtype=np.int64)
        if self.model.input == "sentence" and (not self.model.graph_input or epoch < self.train.empty_epochs):
            return empty
        if self.model.input == "state":
            candidates = np.arange(example.n_steps)
            n_wanted = self.train.states or len(candidates)
            return np.sort(rng.choice(candidates, min(n_wanted, len(candidates)), replace=False))
        # the steps at which a sentence model sees a new graph: the empty one, and those after an arc
        fresh = np.flatnonzero(example.labels[:-1] != NO_NODE) + 1
        if self.train.states == 1:
            is_empty = not len(fresh) or rng.random() < self.train.empty_share
            return empty if is_empty else rng.choice(fresh, 1)
        n_wanted = self.train.states - 1 if self.train.states else len(fresh)
        some = rng.choice(fresh, min(n_wanted, len(fresh)), replace=False) if len(fresh) else fresh
        return np.concatenate([empty, np.sort(some)])

    def _cost(self, example: Example) -> int:
        """How many pieces a sentence encodes in one step."""
        return encoded_pieces(example.features, self.model, self.train.states)


def portions(
    examples: Sequence[Example], steps: Sequence[IntArray], model: ModelConfig, budget: int
) -> Iterator[tuple[list[Example], list[IntArray]]]:
    """The sentences and steps of a batch, in portions within a budget of pieces; the steps of one sentence may be parted."""
    some: list[tuple[Example, IntArray]] = []
    left = budget
    for example, wanted in zip(examples, steps, strict=True):
        each = encoded_pieces(example.features, model, 1)
        while len(wanted):
            n_fitting = min(len(wanted), max(left // each, not some))
            if n_fitting:
                some.append((example, wanted[:n_fitting]))
                left -= n_fitting * each
            wanted = wanted[n_fitting:]
            if len(wanted):
                yield [one for one, _ in some], [at for _, at in some]
                some, left = [], budget
    yield [one for one, _ in some], [at for _, at in some]


def encoded_pieces(features: Features, model: ModelConfig, states: int = 0) -> int:
    """The pieces that are encoded for a sentence: in training, or, with all states, in exact decoding."""
    n_words = features.n_words
    if model.input == "state":
        return min(states or 2 * n_words, 2 * n_words) * (n_words + 3 + model.graph_input)
    return features.n_pieces * (min(states or n_words, n_words) if model.graph_input else 1)
