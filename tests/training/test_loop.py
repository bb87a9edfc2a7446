"""The training loop: its first losses, resuming, and keeping a time limit on a machine that changes its speed."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from graph2graph.parser.parser import Parser
from graph2graph.training import loop, plan
from graph2graph.training.learner import Learner, Update
from graph2graph.training.loop import Progress
from graph2graph.variants import VARIANTS
from toy_training import TINY_FLAGS, TOY, Recorder, tiny_parser, toy_trainer, train_in_child

pytestmark = pytest.mark.usefixtures("one_thread")

# The first three losses of a toy training, in fp32 with one thread. After an intended change of the training's arithmetic,
# replace them with those that the test prints.
FIRST_LOSSES = {
    "state": [2.226357, 2.317601, 2.0291],
    "state-cls": [4.174038, 5.950407, 3.56918],
    "state-g2g": [2.220694, 2.217136, 2.040406],
    "state-g2cls": [3.988987, 5.684372, 3.649716],
    "state-g2g-c": [2.167835, 2.312141, 1.965463],
    "sent": [2.016836, 1.904321],
    "sent-g2g": [1.918794, 1.903297, 1.802933],
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_first_losses(variant: str, tmp_path: Path) -> None:
    settings = VARIANTS[variant].train | {"batch_pieces": 40, "epochs": 1, "eval_sentences": 1}
    parser = tiny_parser(variant, tagger=VARIANTS[variant].model_aid.get("tagger", False), **settings)
    recorder = Recorder()
    toy_trainer(parser, tmp_path / "model", recorder).run()
    losses = recorder.losses[:3]
    assert losses == pytest.approx(FIRST_LOSSES[variant], rel=1e-4), [round(loss, 6) for loss in losses]


# ---------------------------------------------------------------------- resuming


class Killed(Exception):
    """The end of a session."""


def lines_without_time(output: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name != "seconds"} for line in lines]


def test_interrupted_at_any_step_it_ends_bit_for_bit_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"batch_pieces": 60, "epochs": 4, "patience": 0, "checkpoint_steps": 3}
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    recorder = Recorder()
    toy_trainer(tiny_parser(**settings), whole, recorder).run()
    n_steps = recorder.plans[0].n_steps
    assert n_steps >= 12

    update = Learner.update
    for last in (1, 4, 5, 9, n_steps):  # sessions that end in the step after this one

        def updated(learner: Learner, *args: Any, step: int, last: int = last, **given: Any) -> Update:
            if step == last:
                raise Killed
            return update(learner, *args, step=step, **given)

        monkeypatch.setattr(Learner, "update", updated)
        recorder = Recorder()
        trainer = toy_trainer(tiny_parser(**settings), killed, recorder)
        if last < n_steps:
            with pytest.raises(Killed):
                trainer.run()
        else:
            trainer.run()
    assert recorder.resumed_at == [9]
    assert (killed / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert lines_without_time(killed) == lines_without_time(whole)


def test_killed_between_the_last_step_and_its_scoring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last checkpoint is that of the last step; the resumed run scores it."""
    settings = {"batch_pieces": 60, "epochs": 2, "patience": 0, "checkpoint_steps": 1}
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    recorder = Recorder()
    toy_trainer(tiny_parser("sent", **settings), whole, recorder).run()
    assert len(recorder.scores) == 2
    score, n_scored = loop.score, 0

    def scored(*args: Any, **given: Any) -> Any:
        nonlocal n_scored
        n_scored += 1
        if n_scored == 2:
            raise Killed
        return score(*args, **given)

    monkeypatch.setattr(loop, "score", scored)
    with pytest.raises(Killed):
        toy_trainer(tiny_parser("sent", **settings), killed).run()
    toy_trainer(tiny_parser("sent", **settings), killed, recorder).run()
    assert recorder.resumed_at[1] == recorder.plans[0].n_steps
    assert (killed / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert lines_without_time(killed) == lines_without_time(whole)


def test_the_progress_that_15cd585_saved_can_be_read() -> None:
    saved = {"step": 6, "epoch": 1, "batch": 2, "best": 50.0, "best_step": 4, "epochs_since_best": 1}
    progress = Progress.read(saved | {"elapsed": 3.0, "metrics_size": 100, "plan": {}})
    assert progress == Progress(**saved, pieces=0, loss_kinds=[0.0, 0.0, 0.0])  # type: ignore[arg-type]


@pytest.mark.slow
def test_killed_at_random_moments_and_resumed_it_ends_bit_for_bit_the_same(tmp_path: Path) -> None:
    """Twenty kills with -9, at moments spread over the whole run."""
    flags = [TOY, TOY, *TINY_FLAGS, "--set=train.batch_pieces=120", "--set=train.patience=0"]
    flags += ["--set=train.checkpoint_steps=3", "--set=train.epochs=120"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    train_in_child(*flags, "-o", whole)
    command = [sys.executable, "-m", "graph2graph", "train", *map(str, flags), "-o", str(killed), "--resume"]
    chance, n_kills = random.Random(1), 0
    while n_kills < 20:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ | {"OMP_NUM_THREADS": "1"}
        )
        wait_for_checkpoints(killed, process, number=chance.randint(1, 2))
        time.sleep(chance.random() * 0.15)
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
        assert b"Traceback" not in errors
        if process.returncode == 0:
            break
        n_kills += 1
    assert n_kills == 20, "the run ended before it could be killed often enough; make it longer"
    train_in_child(*flags, "-o", killed, "--resume")
    assert (killed / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert lines_without_time(killed) == lines_without_time(whole)


def wait_for_checkpoints(output: Path, process: "subprocess.Popen[bytes]", number: int) -> None:
    """Until the process has written so many new checkpoints, or has ended."""

    def newest() -> str:
        return max((path.name for path in (output / "checkpoints").glob("step-*.safetensors")), default="")

    before, seen, deadline = newest(), 0, time.monotonic() + 120
    while seen < number and time.monotonic() < deadline and process.poll() is None:
        if newest() != before:
            before, seen = newest(), seen + 1
        time.sleep(0.002)


@pytest.mark.slow
def test_two_processes_learn_as_one(tmp_path: Path) -> None:
    flags = [TOY, TOY, *TINY_FLAGS, "--set=train.batch_pieces=120", "--set=train.epochs=8", "--set=train.patience=0"]
    flags += ["--set=model.encoder.dropout=0", "--set=model.encoder.attention_dropout=0"]
    flags += ["--set=model.classifier_dropout=0"]
    train_in_child(*flags, "-o", tmp_path / "one")
    train_in_child(*flags, "-o", tmp_path / "two", "--processes", "2")
    one, two = lines_without_time(tmp_path / "one"), lines_without_time(tmp_path / "two")
    assert len(one) == len(two) > 8
    for ours, theirs in zip(one, two, strict=True):
        assert ours["step"] == theirs["step"]
        assert ours.get("loss", 0.0) == pytest.approx(theirs.get("loss", 0.0), rel=1e-3)
        assert ours.get("las", 0.0) == pytest.approx(theirs.get("las", 0.0), abs=0.01)


# ---------------------------------------------------------------------- time limits


class Machine:
    """A clock that is moved on by the work done, at a speed that can change after timing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, slowdown: float) -> None:
        self.now, self.slowdown, self.is_timing = 0.0, slowdown, True
        update, encode, score = Learner.update, Learner.encode, loop.score

        def updated(learner: Learner, numbers: Any, *args: Any, **given: Any) -> Update:
            self.work(0.02 * float(learner.sampler.costs[numbers].sum()))
            return update(learner, numbers, *args, **given)

        def encoded(learner: Learner, numbers: Any) -> None:
            self.work(0.005 * float(learner.sampler.costs[numbers].sum()))
            encode(learner, numbers)

        def scored(*args: Any, **given: Any) -> Any:
            self.work(2.0)
            return score(*args, **given)

        monkeypatch.setattr(Learner, "update", updated)
        monkeypatch.setattr(Learner, "encode", encoded)
        monkeypatch.setattr(loop, "score", scored)
        monkeypatch.setattr(loop, "monotonic", lambda: self.now)
        monkeypatch.setattr(plan, "monotonic", lambda: self.now)
        monkeypatch.setattr(loop, "PACE_EVERY", 5)
        monkeypatch.setattr(loop, "LOG_EVERY", 1)

    def work(self, seconds: float) -> None:
        self.now += seconds * (1 if self.is_timing else self.slowdown)

    def planned(self, *_: Any) -> None:
        """The plan is made: from now on the machine has its other speed."""
        self.is_timing = False

    def replanned(self, *_: Any) -> None:
        pass

    def stepped(self, *_: Any) -> None:
        pass

    def scored(self, *_: Any) -> None:
        pass


@pytest.mark.parametrize(("slowdown", "limit"), [(1.0, 60.0), (3.0, 150.0), (0.25, 30.0)])
def test_a_time_limit_is_kept_whatever_the_speed(
    slowdown: float, limit: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time is used, and the learning rate comes down to 0, as planned or on a machine that got slower or faster."""
    machine = Machine(monkeypatch, slowdown=slowdown)
    parser = tiny_parser("sent", batch_pieces=60)
    outcome = toy_trainer(parser, tmp_path / "model", machine, time_limit=limit).run()
    assert outcome is not None
    assert 0.7 * limit < outcome.seconds < limit
    rates = [line["rate"] for line in lines_without_time(tmp_path / "model") if "rate" in line]
    assert max(rates) > 0.7
    assert rates[-1] < 0.1


def test_even_without_time_for_a_step_there_is_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, slowdown=1.0)
    outcome = toy_trainer(tiny_parser("sent"), tmp_path / "model", machine, time_limit=1.0).run()
    assert outcome is not None
    assert outcome.progress.step <= 1
    Parser.load(tmp_path / "model")


# ---------------------------------------------------------------------- scoring


def test_patience_ends_a_run_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "set_rate", lambda *_: 0.0)  # and nothing is ever learnt
    parser = tiny_parser("sent", epochs=9, patience=2, scratch_learning_rate=1e-12)
    recorder = Recorder()
    outcome = toy_trainer(parser, tmp_path / "model", recorder).run()
    assert outcome is not None
    assert len(recorder.scores) == 3
    assert outcome.progress.best_step < outcome.progress.step


def test_part_of_the_development_set_is_scored_between_epochs_and_all_at_the_end(tmp_path: Path) -> None:
    recorder = Recorder()
    outcome = toy_trainer(tiny_parser("sent", epochs=2, eval_sentences=3), tmp_path / "model", recorder).run()
    assert outcome is not None
    assert {scores.sentences for scores in recorder.scores} == {3}
    assert outcome.scores.sentences == 7
