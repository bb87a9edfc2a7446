"""Jobs in spawned processes: results, failures, threads, logs."""

import os
import signal
from pathlib import Path

import pytest
import torch

from graph2graph.errors import DataError
from graph2graph.reproduce.jobs import Job, results_of, run_jobs

pytestmark = pytest.mark.slow


def threads_and(value: int) -> tuple[int, int]:
    return torch.get_num_threads(), value


def fails(kind: str) -> None:
    print("failing", kind)
    if kind == "data":
        raise DataError("x.conllu: line 1: no columns")
    if kind == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    raise ValueError("unexpected")


def test_each_job_has_its_arguments_and_threads() -> None:
    jobs = [Job(f"job {n}", threads_and, (n,), threads=n) for n in (1, 2, 3)]
    found = {job.name: result for job, result in run_jobs(jobs, workers=2)}
    assert found == {f"job {n}": (n, n) for n in (1, 2, 3)}


def test_a_failure_does_not_stop_the_others(tmp_path: Path) -> None:
    jobs = [Job(kind, fails, (kind,), log=tmp_path / f"{kind}.txt") for kind in ("data", "killed", "other")]
    found = {job.name: result for job, result in run_jobs(jobs, workers=1)}
    assert all(isinstance(result, DataError) for result in found.values())
    assert {name: str(error) for name, error in found.items()} == {
        "data": "x.conllu: line 1: no columns",
        "killed": f"its process ended with code -{signal.SIGKILL:d}",
        "other": "ValueError: unexpected",
    }
    with pytest.raises(DataError, match=r"data: x\.conllu: line 1: no columns; other: ValueError: unexpected"):
        list(results_of([jobs[0], jobs[2]], workers=1))
    assert (tmp_path / "data.txt").read_text().startswith("failing data\ng2g: x.conllu: line 1: no columns\n")
    assert "Traceback" in (tmp_path / "other.txt").read_text()


def test_jobs_are_taken_when_there_is_a_worker() -> None:
    taken = []

    def jobs():  # type: ignore[no-untyped-def]
        for n in range(3):
            taken.append(n)
            yield Job(str(n), threads_and, (n,))

    for number, _ in enumerate(run_jobs(jobs(), workers=1)):
        assert taken == list(range(number + 1))
