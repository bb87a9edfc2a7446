"""Lines of a table: scores over seeds, relative error reductions."""

from pathlib import Path

import pytest

from conftest import ROOT
from graph2graph.reproduce.lines import Line, gains, lines_of, reduction
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.plans import Plans
from toy_table import write_result


def test_relative_error_reductions_are_those_of_the_papers_text() -> None:
    plans = Plans.read(ROOT / "experiments", "wsj", "paper")
    lines = {name: Line(name, row, plans.against(name), {}) for name, row in plans.rows.items()}
    expected = {
        "state-g2g": 9.97,
        "bert-state": 26.25,
        "bert-state-g2g": 11.66,
        "bert-state-cls": -12.28,
        "bert-state-g2cls": -10.53,
        "bert-state-g2g-c": -8.84,
        "bert-sent-g2g": 4.62,
        "bert-sent-g2g-7layers": 2.19,
    }
    for name, percent in expected.items():
        assert reduction(lines[name], lines, ours=False) == pytest.approx(percent, abs=0.011)


def test_reductions_are_over_the_seeds_that_both_rows_have(clone: Path) -> None:
    paths = Paths.find()
    for row, seed, right in (("sent", 1, 5), ("sent", 2, 7), ("graph", 1, 6), ("graph", 3, 9)):
        write_result(clone, row, seed, {"dev": [right], "test": [right]})
    lines = lines_of(Plans.read(paths.experiments, "toy"), paths)
    assert lines["graph"].ours("dev").las == 75
    assert reduction(lines["graph"], lines, ours=True) == pytest.approx(20)  # 60 against 50
    [gain] = gains(lines)
    assert (gain.row.title, gain.other.title, gain.ours, gain.theirs) == ("B", "A", pytest.approx(20), 50)


def test_results_of_another_plan_do_not_count(clone: Path) -> None:
    paths = Paths.find()
    write_result(clone, "graph", 1, {"dev": [9], "test": [9]}, valid=False)
    write_result(clone, "graph", 2, {"dev": [5], "test": [5]})
    assert set(lines_of(Plans.read(paths.experiments, "toy"), paths)["graph"].results) == {2}
