"""`g2g train`: its arguments, and one clear line for each mistake. Whole runs are in tests/training/test_run.py."""

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from graph2graph import scoring
from graph2graph.cli.train import _BarReport, seconds
from graph2graph.errors import DataError
from graph2graph.training.loop import Outcome, Progress
from graph2graph.training.plan import Plan
from toy_training import TINY_FLAGS, TOY

ONE_EPOCH = [TOY, TOY, *TINY_FLAGS, "--set=train.epochs=1"]


def test_lengths_of_time() -> None:
    assert seconds("25m") == 1500
    assert seconds("1h30m") == 5400
    assert seconds("90s") == 90
    with pytest.raises(DataError, match="expected a time like"):
        seconds("soon")


def test_set_is_stronger_than_model_which_is_stronger_than_the_file(tmp_path: Path, g2g: Callable[..., Any]) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('variant = "sent-g2g"\n[train]\nepochs = 7\nseed = 3\n')
    arguments = [*ONE_EPOCH, "--config", file, "--model", "sent", "--tags", "none", "-o", tmp_path / "model"]
    assert g2g("train", *arguments).code == 0
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert not config["model"]["graph_input"]
    assert (config["train"]["epochs"], config["train"]["seed"], config["data"]["tags"]) == (1, 3, "none")


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("tokeniser", ["--encoder", "bare"]),
        ("no model 'big'", ["--model", "big"]),
        ("train.epoch: unknown key", ["--set", "train.epoch=5"]),
        ("expected a.b=value", ["--set", "train.epochs"]),
        ("train.epochs", ["--set", "train.epochs=many"]),
        ("epochs is not a group of settings", ["--set", "train.epochs=3", "--set", "train.epochs.x=1"]),
        ("--time-limit", ["--time-limit", "soon"]),
        ("train.precision", ["--set", "train.precision=int8"]),
        ("data.tags", ["--tags", "penn"]),
        ("none.toml", ["--config", "none.toml"]),
    ],
)
def test_wrong_arguments(
    message: str, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, g2g: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "config.json").write_text('{"model_type": "bert"}')
    done = g2g("train", TOY, TOY, *TINY_FLAGS, "-o", "out", *arguments)
    assert done.code == 1
    assert message in " ".join(done.err.split())
    assert len(done.err.strip().splitlines()) <= 2


@pytest.mark.parametrize(
    ("message", "old", "new"),
    [
        ("cycle", "2\tThere\tthere\tADV\tEX\t_\t0\troot", "2\tThere\tthere\tADV\tEX\t_\t1\troot"),
        ("without a head", "1\tYes\tyes\tINTJ\tUH\t_\t0\troot", "1\tYes\tyes\tINTJ\tUH\t_\t_\t_"),
        ("no sentences", "", ""),
    ],
)
def test_wrong_treebanks(message: str, old: str, new: str, tmp_path: Path, g2g: Callable[..., Any]) -> None:
    wrong = tmp_path / "wrong.conllu"
    wrong.write_text(TOY.read_text().replace(old, new) if old else "")
    done = g2g("train", wrong, TOY, "-o", tmp_path / "out")
    assert done.code == 1
    assert message in done.err
    assert "wrong.conllu" in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_a_missing_treebank(tmp_path: Path, g2g: Callable[..., Any]) -> None:
    done = g2g("train", tmp_path / "none.conllu", TOY, "-o", tmp_path / "out")
    assert done.code == 1
    assert "No such file" in done.err


def test_the_bar_follows_the_plan_and_ends_full() -> None:
    """It stood at the steps of the first plan when a run had fewer or more, or ended early."""
    console = Console(file=io.StringIO(), force_terminal=True)
    report = _BarReport(lambda _: None, console, has_bar=True)
    plan = Plan(
        n_steps=100, eval_sentences=0, eval_epochs=1, seconds_a_piece=1e-3, train_seconds=60.0, score_seconds=3.0
    )
    [task] = report.progress.tasks
    report.planned(plan, 10)
    assert (task.total, task.completed) == (100, 10)
    report.replanned(replace(plan, n_steps=80))
    report.stepped(50, 1.0)
    assert (task.total, task.completed) == (80, 50)
    outcome = Outcome(scoring.score([], []), Progress(step=50), epochs=5.0, seconds=60.0)
    report.finished(Path("model"), Path("dev.conllu"), outcome)
    assert (task.total, task.completed, task.finished) == (50, 50, True)
