"""What a run reports."""

from pathlib import Path

import pytest

from graph2graph import scoring
from graph2graph.training.loop import Outcome, Progress
from graph2graph.training.plan import Plan
from graph2graph.training.report import MetricsLog, RunReport


def test_plan_and_scorings_are_a_line_each() -> None:
    lines: list[str] = []
    report = RunReport(lines.append)
    plan = Plan(
        n_steps=1000, eval_sentences=200, eval_epochs=2, seconds_a_piece=1e-3, train_seconds=570.0, score_seconds=30.0
    )
    report.planned(plan, 500)
    report.stepped(501, 2.0)
    report.stepped(502, 1.0)
    scores = scoring.score([], [])
    report.scored(502, 3, scores, best=True)
    outcome = Outcome(scores, Progress(step=502), epochs=2.5, seconds=90.0)
    report.finished(Path("model"), Path("data/dev.conllu"), outcome)
    assert lines == [
        "plan: 1,000 steps, about 10 minutes (1,000 pieces a second); "
        "200 sentences of the development set after every 2 epochs",
        "continuing after step 500",
        "epoch 3, step 502: loss 1.950, UAS 0.00, LAS 0.00 *",
        "model: UAS 0.00, LAS 0.00 on dev.conllu; 502 steps, 2.5 epochs, 1.5 minutes",
    ]


def test_a_resumed_run_drops_what_was_written_after_its_checkpoint(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "metrics.jsonl")
    assert log.lines() == []
    log.write(step=1, loss=0.5)
    size = log.size()
    log.write(step=2, loss=0.25)
    assert [line["step"] for line in log.lines()] == [1, 2]
    log.truncate(size)
    assert log.lines() == [{"step": 1, "loss": 0.5}]


@pytest.mark.slow
def test_the_learning_curve_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    log = MetricsLog(tmp_path / "metrics.jsonl")
    log.write(step=1, loss=0.5)
    log.write(step=2, uas=80.0, las=70.0)
    log.draw(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(tmp_path.iterdir())) == 2
