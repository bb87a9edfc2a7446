"""A training run as data does what `g2g train` does."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Result
from graph2graph.reproduce.jobs import results_of
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.trainings import Training, training_job
from toy_table import TOY

SETTINGS = {
    "train": {"epochs": 2, "batch_pieces": 60, "states": 2},
    "model": {"encoder": {"width": 32, "inner_width": 64, "layers": 1, "heads": 2, "vocab_size": 300}},
}


def test_the_command_says_the_same() -> None:
    training = Training(
        Path("train.conllu"),
        Path("dev.conllu"),
        Path("out"),
        "sent-g2g",
        SETTINGS,
        start=Path("before"),
        time_limit=90,
        license="CC BY-SA 4.0",
    )
    command = training.command(lambda path: f"$DATA/{path}" if path.suffix else str(path))
    assert command.startswith(
        "g2g train $DATA/train.conllu $DATA/dev.conllu --output out --start before --model sent-g2g "
    )
    assert "--set train.epochs=2 --set train.batch_pieces=60 " in command
    assert command.endswith(" --time-limit 90s --license 'CC BY-SA 4.0' --resume")


@pytest.mark.slow
def test_a_spawned_training_leaves_the_same_model_as_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, g2g: Callable[..., Result]
) -> None:
    monkeypatch.chdir(tmp_path)
    training = Training(TOY, TOY, Path("spawned"), "sent-g2g", SETTINGS)
    [(_, result)] = results_of([training_job(training, Paths(tmp_path, tmp_path))], workers=1)
    assert (result["finished"], result["epochs"]) == (True, 2)
    by_command = Training(TOY, TOY, Path("by-command"), "sent-g2g", SETTINGS).command()
    done = g2g(*shlex.split(by_command)[1:])
    assert done.code == 0, done.err
    models = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("spawned", "by-command")]
    assert models[0] == models[1]
