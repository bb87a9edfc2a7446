"""`g2g reproduce`: what it shows, and wrong usage."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ROOT, Result
from graph2graph.files import write_json
from graph2graph.reproduce.plans import Plans
from toy_table import change_rows


def test_a_dry_run_lists_all_rows(g2g: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    done = g2g("reproduce", "wsj", "--dry-run", "--treebanks", tmp_path, "--minutes", "7")
    assert done.code == 0, done.err
    for title in ("StateTr+G2GTr", "BERT StateCLSTr", "BERT StateTr+G2GTr+C", "7 layers"):
        assert title in done.out
    assert "7 min" in done.out
    assert "cannot run: no train" in done.out
    caption = done.out.splitlines()[-1].strip()
    n_runs = len(
        json.loads(g2g("reproduce", "wsj", "--dry-run", "--treebanks", tmp_path, "--minutes", "7", "--json").out)
    )
    assert caption == f"0 of {n_runs} runs done; {n_runs} cannot run"
    paper = g2g("reproduce", "wsj", "--dry-run", "--treebanks", tmp_path, "--profile", "paper", "--json")
    assert {row["state"] for row in json.loads(paper.out)} == {"cannot run"}


def test_a_done_run_has_its_time_and_no_budget_of_this_machine(clone: Path, g2g: Callable[..., Result]) -> None:
    change_rows(clone, 'encoder = "none"', 'encoder = "none"\nminutes = 10')
    run = Plans.read(clone / "experiments", "toy").run("sent", 1)
    path = clone / "experiments" / "results" / "toy" / "cpu" / f"{run.name}.json"
    write_json(path, {"plan": run.plan, "seconds": 1140, "threads": 1})
    shown = g2g("reproduce", "toy", "--dry-run").out
    [done] = [line for line in shown.splitlines() if "done: in 19 min of 1 core" in line]
    assert "10 min" not in done
    assert "1 of 2 runs done; the rest: 12 min" in shown
    assert g2g("reproduce", "toy", "--dry-run", "--rows", "sent").out.splitlines()[-1].strip() == "1 of 1 runs done"


def test_rows_of_another_table_are_shown(g2g: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert "is wsj/bert-state" in g2g("reproduce", "appendix", "--dry-run").out
    done = g2g("reproduce", "appendix", "--rows", "skip", "--dry-run")
    note = "g2g: appendix/skip shows the runs of wsj/bert-state; to run them: g2g reproduce wsj --rows bert-state\n"
    assert (done.code, done.err) == (0, note)


def test_the_time_of_a_number_of_epochs_is_unknown(clone: Path, g2g: Callable[..., Result]) -> None:
    change_rows(clone, "epochs = 12", "epochs = 3")
    shown = g2g("reproduce", "toy", "--rows", "graph", "--dry-run").out
    assert "3 epochs" in shown
    assert "0 of 1 runs done; the rest: unknown" in shown


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing"], 1, "there are toy, and claims"),
        (["toy", "--rows", "a,sent"], 1, "no row 'a'"),
        (["toy", "--seeds", "one"], 2, "expected numbers"),
        (["toy", "--profile", "gpu"], 2, "gpu"),
        (["claims", "--rows", "sent"], 2, "for tables"),
        (["claims", "--seeds", "1"], 2, "for tables"),
    ],
)
def test_wrong_usage(clone: Path, g2g: Callable[..., Result], arguments: list[str], code: int, message: str) -> None:
    done = g2g("reproduce", *arguments, "--dry-run")
    assert (done.code, message in done.err) == (code, True), done.err
