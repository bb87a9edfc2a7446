"""benchmarks/train.py and running_details.py: steps of a tiny model."""

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

import running_details
import train
from toy_training import TINY
from training_steps import TrainingSteps

if TYPE_CHECKING:
    from graph2graph.treebank.sentence import Sentence

pytestmark = pytest.mark.slow
SETTINGS = {"model": {"encoder": TINY}, "train": {"batch_pieces": 60}}


@pytest.mark.parametrize("variant", ["sent", "sent-g2g", "state-g2g"])
def test_a_step_counts_its_pieces_and_changes_the_weights(
    variant: str, toy: "list[Sentence]", one_thread: None
) -> None:
    steps = TrainingSteps(variant, toy, None, SETTINGS)
    before = [parameter.clone() for parameter in steps.model.parameters()]
    for group in steps.optimiser.param_groups:
        group["lr"] = 1e-3
    pieces = steps.step(np.array([0, 1]))
    assert pieces == steps.sampler.costs[:2].sum() > 0
    assert not all(map(torch.equal, before, steps.model.parameters()))


def test_a_row_of_the_training_benchmark(toy: "list[Sentence]", one_thread: None) -> None:
    steps = TrainingSteps("sent", toy, None, SETTINGS)
    row = train.row("sent", steps, [100.0, 200.0, 400.0], peak=10.0)
    assert (row["model"], row["pieces_per_second"], row["median_pieces_per_second"]) == ("sent", 400, 200)
    assert 0 < row["share_in_products"] < 1


def test_running_details_are_timed_with_weights_that_stay(toy: "list[Sentence]", one_thread: None) -> None:
    settings = running_details.SETTINGS | {"model": {"encoder": TINY}}
    steps = TrainingSteps("state", toy, None, settings)
    before = [parameter.clone() for parameter in steps.model.parameters()]
    assert running_details.training_seconds(steps, at_once=4) > 0
    assert all(map(torch.equal, before, steps.model.parameters()))
