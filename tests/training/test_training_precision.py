"""The precision of a training: resolved when the run begins, recorded, and fp32 where it does not work any more."""

from pathlib import Path
from unittest.mock import patch

import pytest

from graph2graph.config import Config
from graph2graph.encoder import cpu, probe
from graph2graph.encoder.precision import VARIABLE
from graph2graph.encoder.probe import Trial
from graph2graph.errors import DataError
from graph2graph.files import read_json
from graph2graph.parser.migration import parse_config
from graph2graph.reproduce.rows import with_named_precision
from graph2graph.training.loop import Trainer
from graph2graph.training.precision import named_precision, working_precision
from graph2graph.training.processes import Processes
from graph2graph.training.report import RunReport
from graph2graph.training.request import Request
from graph2graph.training.run import run
from toy_training import TINY, TOY

FAST = [Trial("train", "fp32", 1.0), Trial("train", "bf16", 0.4)]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> "list[Trial]":
    """A machine whose trials can be changed."""
    found = list(FAST)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(cpu, "flags", lambda: frozenset({"avx512_bf16"}))
    monkeypatch.setattr(probe, "trials", lambda: found)
    return found


def test_auto_is_named_when_a_run_begins(machine: list[Trial]) -> None:
    assert [named_precision(asked, "cpu") for asked in ("auto", "fp32", "bf16")] == ["bf16", "fp32", "bf16"]
    assert [named_precision(asked, "cuda") for asked in ("auto", "fp32", "bf16")] == ["fp32", "fp32", "bf16"]
    machine.pop()
    assert named_precision("auto", "cpu") == "fp32"
    with pytest.raises(DataError, match="bf16 does not work on this CPU"):
        named_precision("bf16", "cpu")


def test_a_run_goes_on_in_fp32_where_its_precision_does_not_work(machine: list[Trial]) -> None:
    notes: list[str] = []
    assert working_precision("bf16", "cpu", notes.append) == "bf16"
    machine.pop()
    assert working_precision("bf16", "cpu", notes.append) == "fp32"
    [note] = notes
    assert note.startswith("note: this run began in bf16; it goes on in fp32")


def test_tables_never_compute_in_auto() -> None:
    assert with_named_precision({}) == {"train": {"precision": "fp32"}}
    named = {"data": {"tags": "xpos"}, "train": {"epochs": 2, "precision": "bf16"}}
    assert with_named_precision(named) == named


def test_settings_of_older_formats_are_in_fp32() -> None:
    assert parse_config({"format": 2}, "x").train.precision == "fp32"
    assert parse_config({"format": 3}, "x").train.precision == "auto"


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_updates_are_counted_by_precision(machine: list[Trial], tmp_path: Path) -> None:
    """A run begins in bf16, stops, and goes on where bf16 does not work."""
    if not any(one.works and (one.work, one.precision) == ("train", "bf16") for one in probe.try_all()[0]):
        pytest.skip("bf16 does not work on this CPU")
    settings = {"train": {"epochs": 2, "batch_pieces": 60, "checkpoint_steps": 1}, "model": {"encoder": TINY}}
    request = Request((TOY,), TOY, tmp_path, Config.parse(settings, "test"), resume=True)
    notes: list[str] = []
    with (
        patch.object(Trainer, "_evaluate", side_effect=DataError("stopped")),
        pytest.raises(DataError, match="stopped"),
    ):
        run(request, Processes(), RunReport(notes.append))
    begun = read_json(tmp_path / "run.json")
    assert (begun["precision"], begun["finished"]) == ("bf16", False)
    machine.pop()
    run(request, Processes(), RunReport(notes.append))
    ended = read_json(tmp_path / "run.json")
    assert ended["precision"] == "bf16"
    assert set(ended["updates"]) == {"bf16", "fp32"}
    assert sum(ended["updates"].values()) == ended["steps"]
    assert sum("it goes on in fp32" in note for note in notes) == 1
