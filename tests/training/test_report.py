"""The lines that report a run."""

from graph2graph import scoring
from graph2graph.training.plan import Plan
from graph2graph.training.report import LineReport


def test_plan_and_scorings_are_a_line_each() -> None:
    lines: list[str] = []
    report = LineReport(lines.append)
    plan = Plan(
        n_steps=1000, eval_sentences=200, eval_epochs=2, seconds_a_piece=1e-3, train_seconds=570.0, score_seconds=30.0
    )
    report.planned(plan, 500)
    report.stepped(501, 2.0)
    report.stepped(502, 1.0)
    report.scored(502, 3, scoring.score([], []), best=True)
    assert lines == [
        "plan: 1,000 steps, about 10 minutes (1,000 pieces a second); "
        "200 sentences of the development set after every 2 epochs",
        "continuing after step 500",
        "epoch 3, step 502: loss 1.950, UAS 0.00, LAS 0.00 *",
    ]
