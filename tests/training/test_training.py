"""Training: batches, plan, checkpoints, resuming after a kill, several processes."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open

from graph2graph.config import TrainConfig
from graph2graph.errors import DataError
from graph2graph.parser.parser import Parser
from graph2graph.training import checkpoint, loop
from graph2graph.training.optimiser import optimiser
from graph2graph.training.plan import plan, timed
from graph2graph.treebank import conllu
from toy_training import TINY_FLAGS, TOY, sampler_of, tiny_parser, toy_examples, train_in_child


def test_plan_fits_the_time() -> None:
    parser = tiny_parser("sent", batch_pieces=100)
    examples = toy_examples(parser)
    sampler = sampler_of(parser, examples * 50)
    features = [one.features for one in examples]
    per_piece = 1e-3
    made = plan(
        sampler,
        features,
        parser.config.model,
        seconds_a_piece=per_piece,
        encoding_seconds=per_piece / 3,
        seconds_left=100.0,
    )
    spent, steps, epoch = 0.0, made.n_steps, 0
    while steps > 0:
        batches = sampler.batches(epoch)[:steps]
        spent += sum(sampler.costs[batch].sum() for batch in batches) * per_piece
        steps, epoch = steps - len(batches), epoch + 1
    assert 70 < spent + made.score_seconds < 97


# ---------------------------------------------------------------------- checkpoints


def test_checkpoints_are_whole_and_the_last_two_are_kept(tmp_path: Path) -> None:
    parser = tiny_parser()
    adam = optimiser(parser.model, TrainConfig(), pretrained=False)
    for parameter in parser.model.parameters():
        parameter.grad = torch.ones_like(parameter)
    adam.step()
    for step in (1, 2, 3):
        checkpoint.save(tmp_path, step, parser.model, adam, {"step": step})
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "step-000000002.safetensors",
        "step-000000003.safetensors",
    ]
    found = checkpoint.load(tmp_path)
    assert found is not None
    tensors, progress = found
    assert progress == {"step": 3}
    other = tiny_parser()
    fresh = optimiser(other.model, TrainConfig(), pretrained=False)
    checkpoint.restore(tensors, other.model, fresh)
    for ours, theirs in zip(other.model.parameters(), parser.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)
        assert torch.equal(fresh.state[ours]["exp_avg"], adam.state[theirs]["exp_avg"])
        assert fresh.state[ours]["step"] == adam.state[theirs]["step"]


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty"])
def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(tmp_path: Path, damage: str) -> None:
    parser = tiny_parser()
    adam = optimiser(parser.model, TrainConfig(), pretrained=False)
    for step in (1, 2):
        checkpoint.save(tmp_path, step, parser.model, adam, {"step": step})
    path = tmp_path / "step-000000002.safetensors"
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        content[-1000] ^= 1
    path.write_bytes({"truncated": content[:-500], "flipped": content, "empty": b""}[damage])
    with pytest.warns(UserWarning, match="not a whole checkpoint"):
        found = checkpoint.load(tmp_path)
    assert found is not None
    assert found[1] == {"step": 1}


def test_a_full_disk_is_one_clear_line_and_the_checkpoint_before_stays(tmp_path: Path) -> None:
    parser = tiny_parser()
    adam = optimiser(parser.model, TrainConfig(), pretrained=False)
    checkpoint.save(tmp_path, 1, parser.model, adam, {"step": 1})
    code = f"""
import resource, torch
from pathlib import Path
from graph2graph.training import checkpoint, loop, loss
import sys; sys.path.append("tests")
from graph2graph.config import TrainConfig
from graph2graph.training.optimiser import optimiser
from toy_training import tiny_parser
parser = tiny_parser()
adam = optimiser(parser.model, TrainConfig(), pretrained=False)
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
try:
    checkpoint.save(Path({str(tmp_path)!r}), 2, parser.model, adam, {{"step": 2}})
except Exception as error:
    print(type(error).__name__, error)
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.startswith("DataError")
    assert "cannot be written" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["step-000000001.safetensors"]


# ---------------------------------------------------------------------- whole runs


RUN = [
    str(TOY),
    str(TOY),
    *TINY_FLAGS,
    "--set=train.epochs=25",
    "--set=train.patience=0",
    "--set=train.batch_pieces=120",
]


def test_a_run_leaves_a_model_with_card_metrics_and_picture(tmp_path: Path) -> None:
    output = tmp_path / "model"
    train_in_child(*RUN, "-o", str(output), "--license", "CC BY-SA 4.0")
    names = {path.name for path in output.iterdir()}
    assert {"model.safetensors", "config.json", "labels.json", "tokenizer.json", "README.md", "metrics.jsonl"} <= names
    assert "learning_curve.png" in names
    assert "checkpoints" not in names
    card = (output / "README.md").read_text()
    assert "CC BY-SA 4.0" in card
    assert "SentTr+G2GTr" in card
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    assert sum("las" in line for line in lines) == 26
    assert lines[-1]["final"] is True
    parser = Parser.load(output)
    assert len(list(parser.parse(conllu.read(TOY)))) == 7
    again = train_in_child(*RUN, "-o", str(output), "--resume")
    assert "finished" in again.stderr
    refused = train_in_child(*RUN, "-o", str(output), check=False)
    assert refused.returncode == 1
    assert "--resume" in refused.stderr


def test_killed_at_random_moments_and_resumed_it_ends_bit_for_bit_the_same(tmp_path: Path) -> None:
    """Twenty kills with -9, at moments spread over the whole run."""
    flags = [*RUN, "--set=train.checkpoint_steps=3", "--set=train.epochs=120"]
    train_in_child(*flags, "-o", str(tmp_path / "whole"))
    expected = (tmp_path / "whole" / "model.safetensors").read_bytes()
    expected_metrics = [_without_time(line) for line in (tmp_path / "whole" / "metrics.jsonl").read_text().splitlines()]
    output = tmp_path / "killed"
    command = [sys.executable, "-m", "graph2graph", "train", *flags, "-o", str(output), "--resume"]
    chance = random.Random(1)
    n_kills = 0
    while n_kills < 20:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ | {"OMP_NUM_THREADS": "1"}
        )
        _wait_for_steps(output, process, at_least=chance.randint(1, 2))
        time.sleep(chance.random() * 0.15)
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
        assert b"Traceback" not in errors
        if process.returncode == 0:
            break
        n_kills += 1
    assert n_kills == 20, "the run ended before it could be killed often enough; make it longer"
    train_in_child(*flags, "-o", str(output), "--resume")
    assert (output / "model.safetensors").read_bytes() == expected
    metrics = [_without_time(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    assert metrics == expected_metrics


def _without_time(line: str) -> dict[str, object]:
    values: dict[str, object] = json.loads(line)
    values.pop("seconds")
    return values


def _wait_for_steps(output: Path, process: "subprocess.Popen[bytes]", at_least: int) -> None:
    """Until the process has come to its training and written so many further checkpoints."""

    def newest() -> str:
        return max((path.name for path in (output / "checkpoints").glob("step-*.safetensors")), default="")

    before, seen, deadline = newest(), 0, time.monotonic() + 60
    while seen < max(at_least, 1) and time.monotonic() < deadline and process.poll() is None:
        if newest() != before:
            before, seen = newest(), seen + 1
        time.sleep(0.002)


def test_two_processes_learn_as_one(tmp_path: Path) -> None:
    flags = [*RUN, "--set=model.encoder.dropout=0", "--set=model.encoder.attention_dropout=0", "--set=train.epochs=8"]
    flags += ["--set=model.classifier_dropout=0"]
    train_in_child(*flags, "-o", str(tmp_path / "one"))
    train_in_child(*flags, "-o", str(tmp_path / "two"), "--processes", "2")
    curves = []
    for name in ("one", "two"):
        lines = [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        curves.append([(line["step"], line.get("loss", 0.0), line.get("las", 0.0)) for line in lines])
    assert len(curves[0]) > 8
    for (step, mean, las), (other_step, other_mean, other_las) in zip(*curves, strict=True):
        assert step == other_step
        assert mean == pytest.approx(other_mean, rel=1e-3)
        assert las == pytest.approx(other_las, abs=0.01)


def test_a_time_limit_is_kept(tmp_path: Path) -> None:
    begin = time.monotonic()
    train_in_child(*RUN, "-o", str(tmp_path / "model"), "--time-limit", "20s")
    taken = time.monotonic() - begin
    assert taken < 25  # the limit, and starting Python and torch
    result = json.loads((tmp_path / "model" / "run.json").read_text())
    assert 8 < result["seconds"] < 20


def test_a_slow_machine_gets_a_shorter_plan(
    tmp_path: Path, g2g: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With steps that take three times what was measured, the rate comes down to zero all the same, in time."""
    monkeypatch.setattr(loop, "timed", lambda step, sampler: timed(step, sampler) / 3)
    output = tmp_path / "model"
    assert g2g("train", *RUN, "-o", output, "--time-limit", "15s", "--set=train.epochs=1").code == 0
    result = json.loads((output / "run.json").read_text())
    assert result["seconds"] < 15
    rows = map(json.loads, (output / "metrics.jsonl").read_text().splitlines())
    rates = [row["rate"] for row in rows if "rate" in row]
    assert max(rates) > 0.7
    assert rates[-1] < 0.25


def test_a_fast_machine_gets_a_longer_plan(
    tmp_path: Path, g2g: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With steps that take a quarter of what was measured, the time is used all the same, and the rate comes down to zero."""
    monkeypatch.setattr(loop, "timed", lambda step, sampler: timed(step, sampler) * 4)
    monkeypatch.setattr(loop, "PACE_EVERY", 5)
    output = tmp_path / "model"
    assert g2g("train", *RUN, "-o", output, "--time-limit", "15s").code == 0
    assert 8 < json.loads((output / "run.json").read_text())["seconds"] < 15
    rows = map(json.loads, (output / "metrics.jsonl").read_text().splitlines())
    assert [row["rate"] for row in rows if "rate" in row][-1] < 0.25


def test_even_without_time_for_a_step_there_is_a_model(tmp_path: Path) -> None:
    train_in_child(*RUN, "-o", str(tmp_path / "model"), "--time-limit", "1s")
    result = json.loads((tmp_path / "model" / "run.json").read_text())
    assert result["finished"]
    assert result["steps"] <= 1
    Parser.load(tmp_path / "model")


# ---------------------------------------------------------------------- one clear line for each mistake


def test_mistakes(tmp_path: Path) -> None:
    toy = TOY.read_text()
    cycle, empty, unparsed = tmp_path / "cycle.conllu", tmp_path / "empty.conllu", tmp_path / "unparsed.conllu"
    cycle.write_text(toy.replace("2\tThere\tthere\tADV\tEX\t_\t0\troot", "2\tThere\tthere\tADV\tEX\t_\t1\troot"))
    empty.write_text("")
    unparsed.write_text(toy.replace("1\tYes\tyes\tINTJ\tUH\t_\t0\troot", "1\tYes\tyes\tINTJ\tUH\t_\t_\t_"))
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "config.json").write_text('{"model_type": "bert"}')
    out = ["-o", str(tmp_path / "out")]
    good = [str(TOY), str(TOY), *TINY_FLAGS, *out]
    cases = {
        "cycle": [str(cycle), str(TOY), *out],
        "no sentences": [str(empty), str(TOY), *out],
        "without a head": [str(unparsed), str(TOY), *out],
        "No such file": [str(tmp_path / "none.conllu"), str(TOY), *out],
        "tokeniser": [*good, "--encoder", str(bare)],
        "no model 'big'": [*good, "--model", "big"],
        "train.epoch: unknown key": [*good, "--set", "train.epoch=5"],
        "expected a.b=value": [*good, "--set", "train.epochs"],
        "train.epochs": [*good, "--set", "train.epochs=many"],
        "--time-limit": [*good, "--time-limit", "soon"],
        "train.precision": [*good, "--set", "train.precision=int8"],
        "data.tags": [*good, "--tags", "penn"],
    }
    for message, arguments in cases.items():
        done = train_in_child(*arguments, check=False)
        assert done.returncode == 1, (message, done.stderr)
        lines = done.stderr.strip().splitlines()
        assert message in " ".join(lines), done.stderr
        assert len(lines) <= 2, done.stderr


def test_bf16_on_a_cpu_where_it_is_asked_for(tmp_path: Path) -> None:
    """Weights and moments stay fp32; the losses follow those of fp32 closely, but are not the same."""
    curves = []
    for precision in ("fp32", "bf16"):
        output = tmp_path / precision
        flags = ["--set=train.epochs=2", "--set=train.batch_pieces=60", f"--set=train.precision={precision}"]
        flags += ["--set=train.checkpoint_steps=1", "--model=sent-g2g"]
        done = train_in_child(str(TOY), str(TOY), *TINY_FLAGS, *flags, "-o", str(output), check=False)
        if done.returncode == -signal.SIGILL:
            pytest.skip("bf16 is an illegal instruction on this CPU")
        assert done.returncode == 0, done.stderr
        with safe_open(output / "model.safetensors", framework="np") as file:
            curves.append(np.concatenate([file.get_tensor(name).ravel() for name in sorted(file.keys())]))
    assert curves[1].dtype == np.float32
    difference = np.abs(curves[0] - curves[1])
    assert 0 < difference.mean() < 1e-3


def test_a_label_that_only_the_development_set_has_is_a_note(tmp_path: Path) -> None:
    dev = tmp_path / "dev.conllu"
    dev.write_text(TOY.read_text().replace("\tdiscourse\t", "\tvocative\t"))
    done = train_in_child(str(TOY), str(dev), *TINY_FLAGS, "--set=train.epochs=1", "-o", str(tmp_path / "out"))
    assert " ".join(done.stderr.split()).count("label vocative (sentence hey) is not in the training data") == 1


def test_a_variant_may_have_defaults_of_its_own(tmp_path: Path) -> None:
    """Weaker than what is asked for, and no reason to stumble over what is no group."""
    from graph2graph.cli.train import resolve

    for flags, expected in (([], 5e-4), (["train.new_learning_rate=1e-3"], 1e-3)):
        config, _ = resolve(None, flags, model="state-cls", tags=None, encoder=None)
        assert config.train.new_learning_rate == expected
    config, _ = resolve(None, [], model="sent", tags=None, encoder=None)
    assert config.train.new_learning_rate == TrainConfig().new_learning_rate
    for name in ("train", "model"):
        (tmp_path / "bad.toml").write_text(f"{name} = 3\n")
        with pytest.raises(DataError, match=name):
            resolve(tmp_path / "bad.toml", [], model="state-cls", tags=None, encoder=None)


def test_resume_wants_the_same_run(tmp_path: Path) -> None:
    output = tmp_path / "model"
    train_in_child(*RUN, "-o", str(output), "--set=train.epochs=1")
    done = train_in_child(*RUN, "-o", str(output), "--set=train.epochs=2", "--resume", check=False)
    assert done.returncode == 1
    assert "settings is not what it was" in done.stderr
    copies = [shutil.copy(TOY, tmp_path / name) for name in ("one.conllu", "two.conllu")]  # the same content elsewhere
    state = json.loads((output / "run.json").read_text())
    settings = state["asked"]["settings"]  # as an older release wrote them
    settings["train"]["explore"] = 0.0
    del settings["format"], settings["train"]["precision"]
    (output / "run.json").write_text(json.dumps(state))
    train_in_child(*map(str, copies), *RUN[2:], "-o", str(output), "--set=train.epochs=1", "--resume")


def test_training_goes_on_from_a_model(tmp_path: Path, g2g: Callable[..., Any]) -> None:
    """A graph model begins with the weights of one without a graph: before it learns, it parses like that."""
    first, second = tmp_path / "first", tmp_path / "second"
    plain = tiny_parser("sent")
    plain.save(first)
    grown = Parser.start_from(plain, tiny_parser("sent-g2g").config)
    for name, weight in plain.model.state_dict().items():
        assert torch.equal(grown.model.state_dict()[name], weight)
    assert grown.config.model.graph_input
    with torch.no_grad():
        for name, parameter in grown.model.named_parameters():
            if ".relation_" in name:
                parameter.zero_()
    sentences = list(conllu.read(TOY))
    assert [s.lines for s in grown.parse(sentences, reencode=0.0)] == [s.lines for s in plain.parse(sentences)]

    start = ["--start", first, "--set=train.epochs=1"]
    assert g2g("train", TOY, TOY, "-o", second, *start).code == 0
    assert "that of" in (second / "README.md").read_text()
    assert Parser.load(second).vocabulary == plain.vocabulary
    other = tmp_path / "other.conllu"
    other.write_text(TOY.read_text().replace("\tnsubj\t", "\tsubject\t"))
    for message, arguments in (
        ("no label subject", [other, TOY, *start]),
        ("--encoder or --start", [TOY, TOY, *start, "--encoder", first]),
        ("the settings of its data", [TOY, TOY, *start, "--tags", "none"]),
        ("no such model", [TOY, TOY, "--start", tmp_path / "nothing"]),
    ):
        done = g2g("train", *arguments, "-o", tmp_path / "never")
        assert done.code == 1
        assert message in done.err
    assert not (tmp_path / "never").exists()


def test_no_room_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from graph2graph.training import run as runs

    parser = tiny_parser()
    monkeypatch.setattr(runs.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1000})())
    with pytest.raises(DataError, match="MB of disk needed"):
        runs._check_room(tmp_path / "new", parser.model, parser.config)
