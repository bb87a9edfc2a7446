"""Runs that are stopped by a signal, killed, locked out, or left without a disk: what they say, and that nothing is lost."""

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save
from test_loop import Machine
from torch import nn

import faulty_training
from conftest import Result
from faulty_training import SETTINGS, contents
from graph2graph.errors import DataError
from graph2graph.training import checkpoint, loop
from graph2graph.training.learner import Learner, Update
from graph2graph.training.lock import is_locked, locked
from graph2graph.training.run import train
from graph2graph.training.stopping import Stopped
from toy_training import TOY, train_in_child

pytestmark = pytest.mark.usefixtures("one_thread")

FEW_CHECKPOINTS = SETTINGS | {"train.checkpoint_steps": 100}
FLAGS = ["--model=sent", *(f"--set={name}={value}" for name, value in FEW_CHECKPOINTS.items())]
AFTER_SECOND_STEP, WHILE_SCORING, WHILE_SCORING_THE_LAST, WHILE_SCORING_ALL = "step 2", "score 1", "score 2", "score 3"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run that is not disturbed."""
    output = tmp_path_factory.mktemp("whole") / "model"
    run(output)
    return contents(output)


def run(output: Path, *, resume: bool = False, note: Callable[[str], None] = print, **changes: Any) -> None:
    train(TOY, TOY, output, variant="sent", settings=FEW_CHECKPOINTS | changes, resume=resume, note=note)


def signal_at(moment: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send this process a signal in a step, or while it scores."""
    update, score, counts = Learner.update, loop.score, {"step": 0, "score": 0}

    def count(kind: str) -> None:
        counts[kind] += 1
        if f"{kind} {counts[kind]}" == moment:
            os.kill(os.getpid(), number)

    def updated(learner: Learner, numbers: Any, optimiser: Any, **given: Any) -> Update:
        if optimiser.param_groups[0]["lr"] > 2 * loop.TIMING_RATE:
            count("step")
        return update(learner, numbers, optimiser, **given)

    def scored(*args: Any, **given: Any) -> Any:
        count("score")
        return score(*args, **given)

    monkeypatch.setattr(Learner, "update", updated)
    monkeypatch.setattr(loop, "score", scored)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", [AFTER_SECOND_STEP, WHILE_SCORING, WHILE_SCORING_THE_LAST])
def test_a_stopped_run_loses_no_step(
    moment: str, number: int, whole: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last checkpoint was that of its beginning; it writes one more."""
    output, notes, handlers = tmp_path / "model", list[str](), signal.getsignal(number)
    with monkeypatch.context() as patched:
        signal_at(moment, number, patched)
        with pytest.raises(Stopped) as stopped:
            run(output)
    assert stopped.value.signal == number
    assert stopped.value.step >= 2
    assert signal.getsignal(number) is handlers
    steps = [path.name for path in (output / "checkpoints").glob("step-*")]
    assert f"step-{stopped.value.step:09}.safetensors" in steps
    run(output, resume=True, note=notes.append)
    assert f"continuing after step {stopped.value.step:,}" in notes
    assert contents(output) == whole


def test_stopped_while_the_best_model_is_scored_on_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No step is left then, and patience may have ended the run: it only has to be scored again."""
    settings = {"train.eval_sentences": 3, "train.epochs": 4, "train.patience": 1, "train.scratch_learning_rate": 1e-9}
    run(tmp_path / "whole" / "model", **settings)
    with monkeypatch.context() as patched:
        signal_at(WHILE_SCORING_ALL, signal.SIGINT, patched)
        with pytest.raises(Stopped):
            run(tmp_path / "model", **settings)
    run(tmp_path / "model", resume=True, **settings)
    assert contents(tmp_path / "model") == contents(tmp_path / "whole" / "model")


def test_a_second_ctrl_c_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(*_: Any, **__: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)  # as when a job and its launcher are both told to stop
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(loop, "set_rate", twice)
    with pytest.raises(KeyboardInterrupt) as interrupt:
        run(tmp_path / "model")
    assert not isinstance(interrupt.value, Stopped)


def test_the_command_says_how_to_resume_and_the_short_command_does(
    whole: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, g2g: Callable[..., Result]
) -> None:
    """The README's example: Ctrl-C, then its own resume command."""
    output = tmp_path / "my model"
    with monkeypatch.context() as patched:
        signal_at(AFTER_SECOND_STEP, signal.SIGINT, patched)
        stopped = g2g("train", TOY, TOY, *FLAGS, "-o", output, "--license", "CC0")
    assert stopped.code == 130
    how = f"g2g train --output '{output}' --resume"
    assert stopped.err.splitlines()[-1] == f"stopped after step 2, which is saved; to go on: {how}"
    resumed = g2g("train", TOY, TOY, "--output", output, "--resume")
    assert resumed.code == 0, resumed.err
    assert "continuing after step 2" in resumed.err
    assert (output / "model.safetensors").read_bytes() == whole["model.safetensors"]
    assert "CC0" in (output / "README.md").read_text()
    assert "--license CC0" in json.loads((output / "run.json").read_text())["command"]


def test_a_time_limit_holds_across_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The five-minute example of the README, with a clock of its own: the plan, the limit and the learning rates go on."""
    Machine(monkeypatch, slowdown=1.0).is_timing = False
    settings = FEW_CHECKPOINTS | {"train.batch_pieces": 60}
    update, counted = Learner.update, 0

    def updated(learner: Learner, *args: Any, **given: Any) -> Update:
        nonlocal counted
        counted += 1
        if counted == 30:
            os.kill(os.getpid(), signal.SIGINT)
        return update(learner, *args, **given)

    monkeypatch.setattr(Learner, "update", updated)
    with pytest.raises(Stopped):
        train(TOY, TOY, tmp_path, variant="sent", settings=settings, time_limit=300.0)
    train(TOY, TOY, tmp_path, resume=True)
    result = json.loads((tmp_path / "run.json").read_text())
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert result["asked"]["time_limit"] == 300.0
    assert 0.7 * 300 < result["seconds"] < 300
    assert [line["rate"] for line in lines if "rate" in line][-1] < 0.1


# ---------------------------------------------------------------------- kills and disks, at every change of the files


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "every"), [("kill", 1), ("full", 7), ("read-only", 7)])
def test_a_fault_at_any_change_of_the_files_changes_none_of_them(kind: str, every: int, tmp_path: Path) -> None:
    path = os.pathsep.join(sys.path)  # as in this process
    command = [sys.executable, faulty_training.__file__, tmp_path, kind, str(every)]
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[tuple[Path, str, Callable[[], None]]]:
    """A disk that is soon full, the reason that the system then gives, and what makes it large.

    Where no disk can be mounted, the system limits the size of files instead.
    """
    disk, limits = tmp_path / "disk", resource.getrlimit(resource.RLIMIT_FSIZE)
    disk.mkdir()

    def mount(options: str) -> bool:
        command = ["mount", "-t", "tmpfs", "-o", options, "none", str(disk)]
        return shutil.which("mount") is not None and subprocess.run(command, capture_output=True).returncode == 0

    if mount("size=2500k"):
        yield disk, os.strerror(errno.ENOSPC), lambda: mount("remount,size=100m")
        subprocess.run(["umount", str(disk)], check=True)
    else:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, limits[1]))
        yield disk, os.strerror(errno.EFBIG), lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_is_one_line_and_with_room_the_run_goes_on(
    small_disk: tuple[Path, str, Callable[[], None]],
    whole: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    g2g: Callable[..., Result],
) -> None:
    disk, reason, enlarge = small_disk
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10**12))  # it was not full at the start
    flags = [*FLAGS, "--set=train.checkpoint_steps=1"]
    done = g2g("train", TOY, TOY, *flags, "-o", disk / "model")
    assert done.code == 1
    assert done.err.splitlines()[-1].startswith(f"g2g: {disk}/model/")
    assert reason in done.err.splitlines()[-1]
    enlarge()
    assert g2g("train", "-o", disk / "model", "--resume").code == 0
    assert (disk / "model" / "model.safetensors").read_bytes() == whole["model.safetensors"]


def test_a_directory_that_cannot_be_written_is_one_line(tmp_path: Path, g2g: Callable[..., Result]) -> None:
    locked_up = Path("/sys") if os.geteuid() == 0 else tmp_path  # root may write anywhere but there
    tmp_path.chmod(0o500)
    done = g2g("train", TOY, TOY, *FLAGS, "-o", locked_up / "model")
    tmp_path.chmod(0o700)
    assert done.code == 1
    assert done.err.splitlines()[-1].startswith(f"g2g: {locked_up}/model")
    assert "Traceback" not in done.err


# ---------------------------------------------------------------------- two at once, and what others left


def test_two_runs_are_not_let_into_one_directory(tmp_path: Path) -> None:
    with locked(tmp_path / "checkpoints" / "lock") as is_ours:
        assert is_ours
        assert is_locked(tmp_path / "checkpoints" / "lock")
        for resume in (False, True):
            with pytest.raises(DataError, match="another process is training there"):
                run(tmp_path, resume=resume)
    assert not is_locked(tmp_path / "checkpoints" / "lock")
    run(tmp_path, resume=True)  # the file of the lock is still there, as after a kill
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.slow
def test_a_second_process_is_refused_while_the_first_trains(tmp_path: Path) -> None:
    output = tmp_path / "model"
    command = [sys.executable, "-m", "graph2graph", "train", TOY, TOY, *FLAGS, "--set=train.epochs=100000"]
    command += ["--set=train.patience=0", "-o", output]
    with subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True) as first:
        assert first.stderr is not None
        next(line for line in first.stderr if line.startswith("plan:"))
        second = train_in_child("-o", output, "--resume", check=False)
        first.send_signal(signal.SIGTERM)
        last = first.stderr.read().splitlines()[-1]
    assert (second.returncode, "another process is training there" in second.stderr) == (1, True)
    assert first.returncode == 128 + signal.SIGTERM
    assert last.startswith("stopped after step ")


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a run that was stopped after its last step, before it was scored."""
    with monkeypatch.context() as patched:
        signal_at(WHILE_SCORING_THE_LAST, signal.SIGINT, patched)
        with pytest.raises(Stopped):
            run(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize(
    "progress",
    [
        [],
        3,
        {},
        {"plan": {}},
        {"plan": 3},
        {"plan": {"n_steps": "many"}},
        {"metrics_size": None},
        {"step": "two"},
        {"loss_kinds": [1.0]},
    ],
)
def test_a_checkpoint_of_another_shape_is_one_clear_line(progress: Any, stopped: Path) -> None:
    path = max((stopped / "checkpoints").glob("step-*"))
    with safe_open(path, framework="pt") as file:
        header = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    saved = json.loads(header["progress"])
    changed = saved | progress if isinstance(progress, dict) and progress else progress
    path.write_bytes(save(tensors, metadata=header | {"progress": json.dumps(changed)}))
    with pytest.raises(
        DataError, match=r"checkpoints: not a checkpoint of this run: .*; remove the directory to start"
    ):
        run(stopped, resume=True)
    assert path.exists()


def test_a_checkpoint_of_another_model_is_one_clear_line(stopped: Path) -> None:
    path = max((stopped / "checkpoints").glob("step-*"))
    model = nn.Linear(2, 2)
    checkpoint.save(path.parent, 999, model, torch.optim.AdamW(model.parameters()), {})
    with pytest.raises(DataError, match="not a checkpoint of this run") as error:
        run(stopped, resume=True)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("line", ["{", "[]", "3", '{"loss": 1.0}', '{"step": 1, "las": "high"}', "\xff"])
def test_metrics_of_another_shape_are_one_clear_line(line: str, stopped: Path) -> None:
    """They were a traceback hours later, when the learning curve was drawn."""
    (stopped / "metrics.jsonl").write_bytes(line.encode("latin-1") + b"\n" * 1000)
    with pytest.raises(DataError, match=r"metrics.jsonl:1: not a line of a training's metrics; remove the file"):
        run(stopped, resume=True)
    (stopped / "metrics.jsonl").unlink()
    with pytest.warns(UserWarning, match="its lines from before the checkpoint are missing"):
        run(stopped, resume=True)
