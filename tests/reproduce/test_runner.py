"""Runs of a tiny table: killed and resumed, side by side, failing, waiting for each other."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from conftest import ROOT, Result
from graph2graph import scoring
from graph2graph.files import write_json
from graph2graph.reproduce import runner
from graph2graph.reproduce.jobs import Job
from graph2graph.reproduce.results import words_right
from graph2graph.reproduce.runner import is_locked, locked
from graph2graph.training.request import Request
from graph2graph.treebank import conllu
from toy_table import TOY

pytestmark = pytest.mark.slow


def start(*arguments: str) -> "subprocess.Popen[bytes]":
    """The command in a session of its own, so that it can be killed with all that it started."""
    command = [sys.executable, "-m", "graph2graph", "reproduce", "toy", "--workers", "2", *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, start_new_session=True)


def wait_for(found: Callable[[], object], process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 60
    while not found() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    assert found()


def test_killed_and_restarted_it_goes_on(clone: Path, g2g: Callable[..., Result]) -> None:
    run = clone / "runs" / "reproduce" / "toy" / "cpu" / "graph-1"
    first = start("--rows", "graph")
    wait_for(lambda: any(run.glob("checkpoints/step-*[1-9].safetensors")), first)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    [row] = json.loads(g2g("reproduce", "toy", "--rows", "graph", "--dry-run", "--json").out)
    assert row["state"] == "part done"

    second = start("--rows", "graph")
    _, messages = second.communicate()
    assert second.returncode == 0, messages
    log = (run / "log.txt").read_text()
    assert log.count("g2g train") == 2
    assert "continuing after step" in log

    result = json.loads((clone / "experiments/results/toy/cpu/graph-1.json").read_text())
    _check_result(result, run, clone)
    table = (clone / "docs" / "tables" / "toy.md").read_text().replace("\u00a0", " ")
    assert f"{result['dev']['uas']:.2f} / {result['dev']['las']:.2f}" in table
    assert "+50.0 %" in table  # of the paper, 95 against 90
    assert f"/ {result['epochs']:.1f} |" in table
    again = g2g("reproduce", "toy", "--rows", "graph")  # nothing is left to do
    assert (again.code, again.err) == (0, "")
    assert "1 of 1 runs done" in again.out


def _check_result(result: dict[str, Any], run: Path, clone: Path) -> None:
    """The result is that of the parsed files, and tells nothing of the machine's paths."""
    gold, parsed = (list(conllu.read(file)) for file in (TOY, run / "test.conllu"))
    scores = scoring.score(gold, parsed, punct="unicode")
    assert result["test"]["las"] == round(scores.las, 2)
    assert result["other_scorers"]["include"]["test"]["uas"] == round(scoring.score(gold, parsed).uas, 2)
    assert words_right(result, "test").sum() == scores.metrics["LAS"].correct
    assert result["command"].split()[1:4] == ["g2g", "train", "$G2G_TREEBANKS/toy/train.conllu"]
    assert result["instructions"] == torch.backends.cpu.get_cpu_capability()
    assert str(clone) not in json.dumps(result)
    assert result["config"]["train"]["seed"] == result["seed"] == 1
    assert result["seconds"] > 0


def test_a_run_goes_on_without_the_command_that_started_it(clone: Path) -> None:
    run, result = clone / "runs/reproduce/toy/cpu/sent-1", clone / "experiments/results/toy/cpu/sent-1.json"
    first = start("--rows", "sent")
    wait_for(lambda: is_locked(run / "lock"), first)
    assert first.stderr is not None
    first.kill()
    first.stderr.close()
    first.wait()
    second = start("--rows", "sent")
    _, messages = second.communicate()
    assert second.returncode == 0, messages
    assert b"waiting for another process" in messages
    assert (run / "log.txt").read_text().count("g2g train") == 1
    assert result.exists()


def test_workers_share_the_cores_and_have_more_time(
    clone: Path, g2g: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, limits = [], []

    def run_here(jobs: Iterable[Job[Any]], workers: int) -> Iterator[tuple[Job[Any], Any]]:
        assert workers == 2
        for job in jobs:
            threads.append(job.threads)
            yield job, job.work(*job.arguments)

    def train(request: Request, root: Path) -> None:
        """Leave the files of a training behind."""
        limits.append(request.time_limit)
        write_json(root / request.output / "run.json", {"seconds": 60, "epochs": 1, "steps": 1, "best_step": 1})
        write_json(root / request.output / "config.json", {})

    def parse(split: str, run: Any, paths: Any) -> float:
        shutil.copy(TOY, paths.run(run) / f"{split}.conllu")
        return 1.0

    for name, pretended in (("run_jobs", run_here), ("train", train), ("_parse", parse)):
        monkeypatch.setattr(runner, name, pretended)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    done = g2g("reproduce", "toy", "--workers", "2", "--minutes", "3", "--seeds", "1,2")
    assert done.code == 0, done.err
    assert (threads, limits) == ([2] * 4, [360] * 4)
    results = [json.loads(path.read_text()) for path in clone.glob("experiments/results/toy/cpu-3m/*.json")]
    assert sorted((one["row"], one["seed"]) for one in results) == [(r, s) for r in ("graph", "sent") for s in (1, 2)]
    for one in results:
        assert one["command"].startswith("OMP_NUM_THREADS=2 g2g train")
        assert "--time-limit 6m --resume" in one["command"]
        assert one["dev"]["las"] == 100
    assert (clone / "docs" / "tables" / "toy-cpu-3m.md").exists()
    assert g2g("reproduce", "claims", "--minutes", "3").code == 0
    assert "| B (Toy) | A | +0.00 |" in (clone / "docs" / "tables" / "claims-cpu-3m.md").read_text()


def test_a_lock_waits_for_the_process_that_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "run" / "lock"
    held = "import pathlib, sys; from graph2graph.reproduce.runner import locked\n"
    held += "with locked(pathlib.Path(sys.argv[1])): print(); input()"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    child = subprocess.Popen([sys.executable, "-c", held, path], stdin=-1, stdout=-1, env=environment)
    assert child.stdout is not None
    assert child.stdin is not None
    child.stdout.readline()
    assert is_locked(path)
    child.stdin.write(b"\n")
    child.stdin.close()
    with locked(path):
        assert child.wait() == 0
    child.stdout.close()
    assert not is_locked(path)


def test_a_run_that_fails_is_told_in_a_line(clone: Path, g2g: Callable[..., Result]) -> None:
    path = clone.parent / "shared" / "treebanks" / "toy" / "train.conllu"
    path.write_text(
        path.read_text().replace("2\tThere\tthere\tADV\tEX\t_\t0\troot", "2\tThere\tthere\tADV\tEX\t_\t1\troot")
    )
    done = g2g("reproduce", "toy", "--rows", "sent")
    assert done.code == 1
    assert "no root" in done.err
    assert "1 of 1 runs failed" in done.err
    assert "Traceback" not in done.err
