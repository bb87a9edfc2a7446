"""The log of a run."""

from pathlib import Path

import pytest

from graph2graph.training.metrics import MetricsLog


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
