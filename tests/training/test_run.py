"""Whole runs: what they leave, refuse, and continue."""

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open

from graph2graph.errors import DataError
from graph2graph.parser.parser import Parser
from graph2graph.training.request import Request
from graph2graph.training.run import check_resources, train
from graph2graph.treebank import conllu
from toy_training import TINY, TINY_FLAGS, TOY, tiny_parser, train_in_child

pytestmark = pytest.mark.usefixtures("one_thread")

RUN = [TOY, TOY, *TINY_FLAGS, "--set=train.epochs=3", "--set=train.patience=0", "--set=train.batch_pieces=120"]
SETTINGS = {f"model.encoder.{name}": value for name, value in TINY.items()} | {"train.epochs": 1}


@pytest.mark.slow
def test_a_run_leaves_a_model_with_card_metrics_and_picture(tmp_path: Path, g2g: Callable[..., Any]) -> None:
    output = tmp_path / "model"
    assert g2g("train", *RUN, "-o", output, "--license", "CC BY-SA 4.0").code == 0
    names = {path.name for path in output.iterdir()}
    assert {"model.safetensors", "config.json", "labels.json", "tokenizer.json", "README.md", "metrics.jsonl"} <= names
    assert "learning_curve.png" in names
    assert "checkpoints" not in names
    card = (output / "README.md").read_text()
    assert "CC BY-SA 4.0" in card
    assert "SentTr+G2GTr" in card
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    assert sum("las" in line for line in lines) == 4
    assert lines[-1]["final"] is True
    result = json.loads((output / "run.json").read_text())
    assert result["finished"]
    assert result["pieces"] > 0
    assert sum(result["loss_shares"].values()) == pytest.approx(1, abs=1e-3)
    assert len(list(Parser.load(output).parse(conllu.read(TOY)))) == 7
    assert "finished" in g2g("train", *RUN, "-o", output, "--resume").err
    refused = g2g("train", *RUN, "-o", output)
    assert refused.code == 1
    assert "--resume" in refused.err


def test_python_trains_as_the_command_does(tmp_path: Path, g2g: Callable[..., Any]) -> None:
    notes: list[str] = []
    pipeline = train(TOY, TOY, tmp_path / "python", variant="sent", settings=SETTINGS, note=notes.append)
    flags = [*TINY_FLAGS, "--set=train.epochs=1", "--model=sent"]
    assert g2g("train", TOY, TOY, *flags, "-o", tmp_path / "command").code == 0
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("python", "command")]
    assert weights[0] == weights[1]
    assert len(list(pipeline.parse(conllu.read(TOY)))) == 7
    assert "UAS" in notes[-1]


def test_resume_wants_the_same_run(tmp_path: Path) -> None:
    output = tmp_path / "model"
    train(TOY, TOY, output, settings=SETTINGS)
    with pytest.raises(DataError, match=r"--set train\.epochs=2 contradicts the run to be resumed, which has 1"):
        train(TOY, TOY, output, settings=SETTINGS | {"train.epochs": 2}, resume=True)
    other = tmp_path / "other.conllu"
    other.write_text(TOY.read_text().replace("\tnsubj\t", "\tsubject\t"))
    with pytest.raises(DataError, match="dev is not the same"):
        train(TOY, other, output, settings=SETTINGS, resume=True)


def test_resume_knows_moved_files_and_settings_of_older_releases(tmp_path: Path) -> None:
    output, notes = tmp_path / "model", list[str]()
    train(TOY, TOY, output, settings=SETTINGS)
    copies = [shutil.copy(TOY, tmp_path / name) for name in ("one.conllu", "two.conllu")]
    state = json.loads((output / "run.json").read_text())
    settings = state["asked"]["settings"]
    settings["train"]["explore"] = 0.0  # cut since
    del settings["format"], settings["train"]["precision"]  # newer
    (output / "run.json").write_text(json.dumps(state))
    train(*copies, output, settings=SETTINGS, resume=True, note=notes.append)
    assert notes == [f"{output}: this run is finished"]


def test_a_label_that_only_the_development_set_has_is_a_note(tmp_path: Path) -> None:
    dev, notes = tmp_path / "dev.conllu", list[str]()
    dev.write_text(TOY.read_text().replace("\tdiscourse\t", "\tvocative\t"))
    train(TOY, dev, tmp_path / "model", settings=SETTINGS, note=notes.append)
    assert sum("label vocative (sentence hey) is not in the training data" in note for note in notes) == 1


def test_a_graph_model_starts_with_the_weights_of_one_without_a_graph() -> None:
    """Before it learns, it parses like that one."""
    plain = tiny_parser("sent")
    parser = Parser.start_from(plain, tiny_parser("sent-g2g").config)
    for name, weight in plain.model.state_dict().items():
        assert torch.equal(parser.model.state_dict()[name], weight)
    assert parser.config.model.graph_input
    with torch.no_grad():
        for name, parameter in parser.model.named_parameters():
            if ".relation_" in name:
                parameter.zero_()
    sentences = list(conllu.read(TOY))
    assert [s.lines for s in parser.parse(sentences, reencode=0.0)] == [s.lines for s in plain.parse(sentences)]


def test_training_continues_from_a_model(tmp_path: Path, g2g: Callable[..., Any]) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    plain = tiny_parser("sent")
    plain.save(first)
    start = ["--start", first, "--set=train.epochs=1"]
    assert g2g("train", TOY, TOY, "-o", second, *start).code == 0
    assert "that of" in (second / "README.md").read_text()
    assert Parser.load(second).vocabulary == plain.vocabulary
    other = tmp_path / "other.conllu"
    other.write_text(TOY.read_text().replace("\tnsubj\t", "\tsubject\t"))
    for message, arguments in (
        ("no label subject", [other, TOY, *start]),
        ("--encoder or --start", [TOY, TOY, *start, "--encoder", first]),
        ("other data settings", [TOY, TOY, *start, "--tags", "none"]),
        ("no such model", [TOY, TOY, "--start", tmp_path / "nothing"]),
    ):
        done = g2g("train", *arguments, "-o", tmp_path / "never")
        assert done.code == 1
        assert message in done.err
    assert not (tmp_path / "never").exists()


def test_disk_and_memory_are_checked_before_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = (tiny_parser(batch_pieces=pieces) for pieces in (100, 100_000))
    request = Request((TOY,), TOY, tmp_path / "new" / "model", small.config)
    memory = [float(check_resources(request, parser).split()[3]) for parser in (small, large)]
    assert memory[0] < memory[1]
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(DataError, match="MB of disk needed"):
        check_resources(request, small)


@pytest.mark.slow
def test_bf16_on_a_cpu(tmp_path: Path) -> None:
    """Weights and moments stay fp32; the weights are close to those of fp32, but not the same."""
    weights = []
    for precision in ("fp32", "bf16"):
        output = tmp_path / precision
        flags = ["--set=train.epochs=2", "--set=train.batch_pieces=60", f"--set=train.precision={precision}"]
        done = train_in_child(TOY, TOY, *TINY_FLAGS, *flags, "-o", output, check=False)
        if done.returncode == -signal.SIGILL:
            pytest.skip("bf16 is an illegal instruction on this CPU")
        assert done.returncode == 0, done.stderr
        with safe_open(output / "model.safetensors", framework="np") as file:
            weights.append(np.concatenate([file.get_tensor(name).ravel() for name in sorted(file.keys())]))
    assert weights[1].dtype == np.float32
    assert 0 < np.abs(weights[0] - weights[1]).mean() < 1e-3
