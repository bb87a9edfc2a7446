"""The plan of a run: how many steps, and how much of the development set is scored after each epoch.

Without a time limit the steps follow from the number of epochs. With one, a few steps are timed first; then as many are
planned as fit, scoring included. The plan is saved with each checkpoint, so that a resumed run has the same learning rates.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import NamedTuple, TypeVar

import numpy as np

from graph2graph.arrays import IntArray
from graph2graph.models.features import Features
from graph2graph.training.sampling import Sampler, encoded_pieces

Item = TypeVar("Item")

N_TIMED = 6  # batches
SCORING_SHARE = 0.1  # of the time, for scoring between the first and the last epoch
RESERVE = 0.04  # of the time, for delays
DECODING = 1.3  # decoding takes this many times as long as encoding alone
QUICK = 0.9  # the re-encoding threshold for scoring SentTr+G2GTr between epochs under a time limit
QUICK_SHARE = 0.35  # the time that this takes at most, as a share of exact decoding
MIN_SCORED = 200  # sentences
FINISH_SECONDS = 3.0  # to load the best model, draw the curve, write the card
BEHIND, AHEAD = 0.95, 1.15  # the plan changes if there is time for less or more than these shares of the steps left


class Speed(NamedTuple):
    """Seconds per encoded piece."""

    training: float
    encoding: float  # alone, as in decoding


@dataclass(frozen=True)
class Plan:
    """The steps and the scoring of a run; all times in seconds."""

    n_steps: int
    eval_sentences: int  # scored between epochs; 0 is all
    eval_epochs: int  # epochs between two scorings
    seconds_a_piece: float  # in training
    train_seconds: float
    score_seconds: float  # for one scoring of the whole development set
    quick_share: float = 1.0  # time of scoring between epochs, as a share of exact decoding

    def finish_seconds(self, n_dev: int) -> float:
        """The time after the last step: one more scoring, and a full, exact one unless the first was that already."""
        n_scored = min(self.eval_sentences or n_dev, n_dev)
        share = self.quick_share * n_scored / n_dev + (n_scored < n_dev or self.quick_share < 1)
        return 1.2 * share * self.score_seconds + FINISH_SECONDS

    def at_pace(self, step: int, seconds_a_step: float, seconds_left: float) -> "Plan":
        """The plan for the time left, if the machine is slower than when it was timed, or much faster.

        With fewer steps the learning rate still falls to 0 in time. Steps are added in the first half only, since they raise
        the rate.
        """
        left, planned = int(seconds_left / seconds_a_step), self.n_steps - step
        is_behind = left < BEHIND * planned
        is_ahead = left > AHEAD * planned and step < self.n_steps / 2
        return replace(self, n_steps=step + max(left, 1)) if is_behind or is_ahead else self


def timed(step: Callable[[IntArray], object], sampler: Sampler) -> float:
    """Seconds per piece, from a few real batches; the first one is run twice, to warm up."""
    chosen = evenly_spaced(sampler.batches(0), N_TIMED)
    step(chosen[0])
    begin = monotonic()
    for batch in chosen:
        step(batch)
    return (monotonic() - begin) / float(sum(sampler.costs[batch].sum() for batch in chosen))


def evenly_spaced(items: Sequence[Item], number: int) -> list[Item]:
    """This many of the items, from the first to the last; 0 is all of them."""
    number = min(number or len(items), len(items))
    return [items[i] for i in np.linspace(0, len(items) - 1, number).astype(int)]


def plan(sampler: Sampler, dev: Sequence[Features], speed: Speed, *, seconds_left: float | None) -> Plan:
    """The plan for a time limit, or for the number of epochs in the settings."""
    dev_pieces = sum(encoded_pieces(features, sampler.model) for features in dev)
    score_seconds = dev_pieces * speed.encoding * DECODING
    if seconds_left is not None:
        return _for_time(sampler, len(dev), speed, score_seconds=score_seconds, seconds_left=seconds_left)
    train = sampler.train
    return Plan(
        n_steps=sum(len(sampler.batches(epoch)) for epoch in range(train.epochs)),
        eval_sentences=train.eval_sentences,
        eval_epochs=1,
        seconds_a_piece=speed.training,
        train_seconds=train.epochs * float(sampler.costs.sum()) * speed.training,
        score_seconds=score_seconds,
    )


def _for_time(sampler: Sampler, n_dev: int, speed: Speed, *, score_seconds: float, seconds_left: float) -> Plan:
    """The plan that fits into the time left: part of it for scoring, the rest for steps."""
    is_quick = sampler.model.graph_input and sampler.model.input == "sentence"
    quick_share = QUICK_SHARE if is_quick else 1.0
    available = max(seconds_left * (1 - RESERVE) - score_seconds - FINISH_SECONDS, 0.0)
    n_epochs = max(available / (float(sampler.costs.sum()) * speed.training), 1.0)
    one_scoring = score_seconds * quick_share
    share = min(1.0, SCORING_SHARE * available / (n_epochs * one_scoring))
    eval_sentences = sampler.train.eval_sentences or max(int(share * n_dev), min(MIN_SCORED, n_dev))
    scoring = n_epochs * one_scoring * eval_sentences / n_dev
    eval_epochs = max(1, round(scoring / (SCORING_SHARE * available))) if available else 1
    budget = max(available - scoring / eval_epochs, 0.0)
    return Plan(
        n_steps=max(_steps_in(budget, sampler, speed), 1),
        eval_sentences=eval_sentences,
        eval_epochs=eval_epochs,
        seconds_a_piece=speed.training,
        train_seconds=available,
        score_seconds=score_seconds,
        quick_share=quick_share,
    )


def _steps_in(seconds: float, sampler: Sampler, speed: Speed) -> int:
    """The number of steps that fit into a time."""
    n_steps = epoch = 0
    while True:
        costs = np.array([sampler.costs[batch].sum() for batch in sampler.batches(epoch)])
        spent = np.cumsum(costs) * speed.training
        if spent[-1] > seconds:
            return n_steps + int(np.searchsorted(spent, seconds))
        seconds, n_steps, epoch = seconds - float(spent[-1]), n_steps + len(costs), epoch + 1
