"""Plans that fit a time limit, also when the machine changes its speed."""

from dataclasses import replace

import pytest

from graph2graph.training.plan import FINISH_SECONDS, Plan, Speed, plan, timed
from graph2graph.training.sampling import Sampler
from toy_training import sampler_of, tiny_parser, toy_examples

SPEED = Speed(training=1e-3, encoding=1e-3 / 3)
PLAN = Plan(
    n_steps=1000, eval_sentences=0, eval_epochs=1, seconds_a_piece=1e-3, train_seconds=100.0, score_seconds=10.0
)


@pytest.fixture(scope="module")
def sampler() -> Sampler:
    parser = tiny_parser("sent", batch_pieces=100)
    return sampler_of(parser, toy_examples(parser) * 50)


def test_a_plan_fits_the_time(sampler: Sampler) -> None:
    made = plan(sampler, [one.features for one in sampler.examples[:7]], SPEED, seconds_left=100.0)
    spent, steps, epoch = 0.0, made.n_steps, 0
    while steps > 0:
        batches = sampler.batches(epoch)[:steps]
        spent += sum(sampler.costs[batch].sum() for batch in batches) * SPEED.training
        steps, epoch = steps - len(batches), epoch + 1
    assert 70 < spent + made.score_seconds < 97


def test_without_a_time_limit_the_epochs_decide(sampler: Sampler) -> None:
    made = plan(sampler, [], SPEED, seconds_left=None)
    assert made.n_steps == sum(len(sampler.batches(epoch)) for epoch in range(sampler.train.epochs))
    assert (made.eval_sentences, made.eval_epochs) == (0, 1)


def test_if_scoring_takes_long_a_part_is_scored_and_not_after_each_epoch(sampler: Sampler) -> None:
    dev = [one.features for one in sampler.examples * 4]  # larger than the training set
    made = plan(sampler, dev, SPEED, seconds_left=100.0)
    assert 0 < made.eval_sentences < len(dev)
    assert made.eval_epochs > 1
    assert made.finish_seconds(len(dev)) > 1.2 * made.score_seconds + FINISH_SECONDS  # all are scored at the end


def test_there_is_always_a_step(sampler: Sampler) -> None:
    assert plan(sampler, [sampler.examples[0].features], SPEED, seconds_left=0.0).n_steps == 1


@pytest.mark.parametrize(
    ("step", "seconds_a_step", "n_steps"),
    [
        (100, 0.1, 1000),  # as planned
        (100, 0.102, 1000),  # close enough
        (100, 0.2, 550),  # slower: 450 more steps in the 90 seconds left
        (100, 0.05, 1900),  # faster
        (600, 0.05, 1000),  # faster, but too late to change
        (600, 0.2, 1000 - 400 + 200),
    ],
)
def test_the_plan_keeps_pace(step: int, seconds_a_step: float, n_steps: int) -> None:
    seconds_left = 0.1 * (1000 - step)
    assert PLAN.at_pace(step, seconds_a_step, seconds_left + 1e-6) == replace(PLAN, n_steps=n_steps)


def test_timing_warms_up_first(sampler: Sampler, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock ticks a millisecond for each piece, and ten seconds more in the first step."""
    now, calls = [0.0], []

    def step(batch: object) -> None:
        now[0] += 1e-3 * sampler.costs[batch].sum() + (10.0 if not calls else 0.0)
        calls.append(batch)

    monkeypatch.setattr("graph2graph.training.plan.monotonic", lambda: now[0])
    assert timed(step, sampler) == pytest.approx(1e-3)
