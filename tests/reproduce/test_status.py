"""How far runs are."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ROOT, Result
from graph2graph.files import write_json
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.plans import Plans
from graph2graph.reproduce.status import status
from toy_table import change_rows


def test_a_changed_row_is_outdated(clone: Path, g2g: Callable[..., Result]) -> None:
    paths = Paths.find()
    plans = Plans.read(paths.experiments, "toy")
    run = plans.run("sent", 1)
    assert str(status(run, plans, paths)) == "missing"
    write_json(paths.result("toy", "cpu", run.name), {"plan": run.plan, "seconds": 100, "threads": 2})
    assert str(status(run, plans, paths)) == "done: in 2 min of 2 cores"
    change_rows(clone, 'title = "A"', 'title = "A"\nsettings.train.epochs = 3')
    [row] = json.loads(g2g("reproduce", "toy", "--rows", "sent", "--dry-run", "--json").out)
    assert row["state"] == "outdated"
    assert row["detail"].endswith("remove experiments/results/toy/cpu/sent-1.json")


def test_without_a_budget_the_time_is_the_papers(tmp_path: Path) -> None:
    plans = Plans.read(ROOT / "experiments", "wsj", "paper")
    found = status(plans.run("bert-state", 1), plans, Paths(ROOT, tmp_path))
    assert (found.kind, found.is_to_be_run) == ("cannot run", False)
    assert found.minutes == pytest.approx(0.098 * 79664 * 12 / 60, abs=0.1)  # 79,664 halves of sentences
