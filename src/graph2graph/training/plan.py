"""The plan of a run: how many steps, and what of the development set is scored after each epoch.

Without a time limit the steps follow from the number of epochs. With one, a few steps are timed first and as many are planned
as fit, scoring included. The plan is made once, saved, and replayed when a run is resumed, so the learning rate does not
depend on how often that happens.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from graph2graph.arrays import IntArray
from graph2graph.config import ModelConfig
from graph2graph.models.features import Features
from graph2graph.training.sampling import Sampler, encoded_pieces

N_TIMED = 6  # batches
SCORING_SHARE = 0.1  # of the time, for scoring between the first and the last epoch
RESERVE = 0.04  # of the time, for what takes longer than expected
DECODING = 1.3  # what decoding takes, of what encoding alone takes
QUICK = 0.9  # the threshold of re-encoding with which graph models of sentences are scored between epochs
QUICK_SHARE = 0.35  # what that takes at most, of exact decoding
MIN_SCORED = 200  # sentences
FINISH_SECONDS = 3.0  # to load the best model, draw the curve, write the card


@dataclass(frozen=True)
class Plan:
    """What a run will do; all times in seconds."""

    n_steps: int
    eval_sentences: int  # scored between epochs; 0 is all
    eval_epochs: int  # after how many epochs
    seconds_a_piece: float  # in training, as timed
    train_seconds: float
    score_seconds: float  # one scoring of the whole development set
    quick_share: float = 1.0  # of that, what scoring between epochs takes for each sentence

    def finish_seconds(self, n_dev: int) -> float:
        """What the end of the run takes after its last step: scoring as after an epoch, and all if that was not all."""
        n_scored = min(self.eval_sentences or n_dev, n_dev)
        share = self.quick_share * n_scored / n_dev + (n_scored < n_dev or self.quick_share < 1)
        return 1.2 * share * self.score_seconds + FINISH_SECONDS

    @property
    def seconds(self) -> float:
        """The whole run, as expected."""
        return self.train_seconds + self.score_seconds


def timed(step: Callable[[IntArray], None], sampler: Sampler) -> float:
    """Seconds for each piece, from a few real steps; the first one warms up and does not count."""
    batches = sampler.batches(0)
    chosen = [batches[i] for i in np.linspace(0, len(batches) - 1, min(N_TIMED, len(batches))).astype(int)]
    step(chosen[0])
    begin = time.monotonic()
    for batch in chosen:
        step(batch)
    return (time.monotonic() - begin) / float(sum(sampler.costs[batch].sum() for batch in chosen))


def plan(
    sampler: Sampler,
    dev: Sequence[Features],
    model: ModelConfig,
    *,
    seconds_a_piece: float,
    encoding_seconds: float,
    seconds_left: float | None,
) -> Plan:
    """The plan for a time limit, or for the number of epochs in the config; `encoding_seconds`, too, are for a piece."""
    train = sampler.train
    dev_pieces = np.array([encoded_pieces(features, model) for features in dev])
    score_seconds = float(dev_pieces.sum()) * encoding_seconds * DECODING
    is_quick = seconds_left is not None and model.graph_input and model.input == "sentence"
    quick_share = QUICK_SHARE if is_quick else 1.0
    epoch_seconds = float(sampler.costs.sum()) * seconds_a_piece
    if seconds_left is None:
        n_steps = sum(len(sampler.batches(epoch)) for epoch in range(train.epochs))
        train_seconds = train.epochs * epoch_seconds
        return Plan(n_steps, train.eval_sentences, 1, seconds_a_piece, train_seconds, score_seconds, quick_share)
    available = max(seconds_left * (1 - RESERVE) - score_seconds - FINISH_SECONDS, 0.0)
    n_epochs = max(available / epoch_seconds, 1.0)
    watch_seconds = score_seconds * quick_share
    share = min(1.0, SCORING_SHARE * available / (n_epochs * watch_seconds))
    eval_sentences = train.eval_sentences or max(int(share * len(dev)), min(MIN_SCORED, len(dev)))
    scoring = n_epochs * watch_seconds * eval_sentences / len(dev)
    eval_epochs = max(1, round(scoring / (SCORING_SHARE * available))) if available else 1
    scoring /= eval_epochs
    budget, n_steps, epoch = max(available - scoring, 0.0), 0, 0
    while True:
        costs = np.array([sampler.costs[batch].sum() for batch in sampler.batches(epoch)])
        spent = np.cumsum(costs) * seconds_a_piece
        if spent[-1] > budget:
            n_steps += int(np.searchsorted(spent, budget))
            break
        budget, n_steps, epoch = budget - float(spent[-1]), n_steps + len(costs), epoch + 1
    return Plan(max(n_steps, 1), eval_sentences, eval_epochs, seconds_a_piece, available, score_seconds, quick_share)


def peak_memory(model: torch.nn.Module, config: ModelConfig, batch_pieces: int) -> float:
    """About how many bytes a run needs: weights, gradient and moments, and what the backward pass keeps of a batch."""
    weights = sum(parameter.numel() for parameter in model.parameters()) * 4 * 4
    encoder = config.encoder
    kept_a_layer = 14 * encoder.width + 2 * encoder.inner_width + 3 * encoder.heads * 64
    return weights + 4.0 * batch_pieces * encoder.layers * kept_a_layer * 1.3 + 4e8
