"""Committed results are valid for the rows as they are now, and runs that older versions started go on."""

import json
from pathlib import Path

import pytest

from conftest import ROOT
from graph2graph.errors import DataError
from graph2graph.files import read_json, write_json
from graph2graph.reproduce.plans import Plans
from graph2graph.reproduce.results import RunStart, read_start
from graph2graph.reproduce.rows import table_names

EXPERIMENTS = ROOT / "experiments"


@pytest.mark.parametrize("table", table_names(EXPERIMENTS))
def test_no_committed_result_is_outdated(table: str) -> None:
    plans = Plans.read(EXPERIMENTS, table)
    for path in (EXPERIMENTS / "results" / table / "cpu").glob("*.json"):
        row, _, seed = path.stem.rpartition("-")
        assert read_json(path)["plan"] == plans.run(row, int(seed)).plan, path


def test_a_run_started_by_an_older_version_goes_on(tmp_path: Path) -> None:
    arguments = ["train", "a", "b", "--time-limit", "1200s", "--resume"]
    older = {"plan": {"seed": 1}, "train": arguments, "threads": 1, "commit": "15cd585", "shown": "g2g train a b"}
    write_json(tmp_path / "begun.json", older)
    assert read_start(tmp_path) == RunStart({"seed": 1}, 1, 1200, "15cd585", "g2g train a b")
    (tmp_path / "begun.json").write_text(json.dumps({"plan": {}}))
    with pytest.raises(DataError, match="remove the directory"):
        read_start(tmp_path)
