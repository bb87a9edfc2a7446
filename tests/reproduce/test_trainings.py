"""A training run as data does what `g2g train` does."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Result
from graph2graph.reproduce.jobs import Job, results_of
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.trainings import train, training
from toy_table import TOY

SETTINGS = {
    "train": {"epochs": 2, "batch_pieces": 60, "states": 2},
    "model": {"encoder": {"width": 32, "inner_width": 64, "layers": 1, "heads": 2, "vocab_size": 300}},
}


def test_the_command_says_the_same(tmp_path: Path) -> None:
    paths = Paths(tmp_path, tmp_path / "treebanks")
    files = paths.treebanks / "train.conllu", paths.treebanks / "dev.conllu", Path("out")
    options = {"start": Path("before"), "time_limit": 90, "license": "CC BY-SA 4.0"}
    command = training(paths, *files, "sent-g2g", SETTINGS, **options).command
    assert command.startswith(
        "g2g train $G2G_TREEBANKS/train.conllu $G2G_TREEBANKS/dev.conllu --output out --start before --model sent-g2g "
    )
    assert "--set train.epochs=2 --set train.batch_pieces=60 " in command
    assert command.endswith(" --time-limit 90s --license 'CC BY-SA 4.0' --resume")


@pytest.mark.slow
def test_a_spawned_training_leaves_the_same_model_as_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, g2g: Callable[..., Result]
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = Paths(tmp_path, tmp_path / "treebanks")
    request = training(paths, TOY, TOY, Path("spawned"), "sent-g2g", SETTINGS)
    [(_, result)] = results_of([Job("spawned", train, (request, paths.root))], workers=1)
    assert (result["finished"], result["epochs"]) == (True, 2)
    by_command = training(paths, TOY, TOY, Path("by-command"), "sent-g2g", SETTINGS).command
    done = g2g(*shlex.split(by_command)[1:])
    assert done.code == 0, done.err
    models = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("spawned", "by-command")]
    assert models[0] == models[1]
