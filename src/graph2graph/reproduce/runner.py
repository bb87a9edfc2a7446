"""Runs the missing rows of a table and resumes those that were stopped.

A run trains a model, parses the development file, and parses the test file once, when the model is chosen. Each run has its
own process, which holds a lock while it works and may be killed at any moment. If only the process that started it is killed,
the run goes on; a second process for the same run waits for the lock.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from graph2graph.errors import DataError
from graph2graph.files import read_json, write_json
from graph2graph.reproduce.jobs import Job, run_jobs
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.plans import PlannedRun
from graph2graph.reproduce.results import SPLITS, RunStart, collect, read_start
from graph2graph.reproduce.trainings import train, training
from graph2graph.training.lock import is_locked, locked
from graph2graph.training.request import Request
from graph2graph.treebank import conllu

Note = Callable[[str], None]


def run_all(
    runs: Sequence[PlannedRun], paths: Paths, *, workers: int, note: Note, done: Callable[[], None]
) -> list[str]:
    """Do the runs, `workers` at a time, and call `done` after each; return the failures with their reasons."""
    failed: list[str] = []

    def fail(run: str, message: str) -> None:
        failed.append(f"{run}: {message}")
        note(failed[-1])

    def jobs() -> Iterator[Job[dict[str, Any]]]:
        for run in runs:
            try:
                yield _job(run, paths, workers, note)
            except (DataError, OSError) as error:
                fail(run.name, str(error))

    for job, result in run_jobs(jobs(), workers):
        if isinstance(result, DataError):
            fail(job.name, f"{result} (all of it in {job.log})")
            continue
        scores = (f"{split} UAS {result[split]['uas']:.2f} LAS {result[split]['las']:.2f}" for split in SPLITS)
        note(f"{job.name}: {', '.join(scores)}, {result['seconds'] / 60:.1f} minutes")
        done()
    return failed


def _job(run: PlannedRun, paths: Paths, workers: int, note: Note) -> Job[dict[str, Any]]:
    """The job that starts or resumes a run."""
    paths.prepare(run)
    start, directory = _start(run, paths, workers), paths.run(run)
    note(f"{run.name}: {run.title}, seed {run.seed}")
    if is_locked(directory / "lock"):
        note(f"{run.name}: waiting for another process that is working on it")
    return Job(run.name, finish, (run, start, paths), threads=start.threads, log=directory / "log.txt")


def _start(run: PlannedRun, paths: Paths, workers: int) -> RunStart:
    """The recorded start of a run. A run without one is new: its start is recorded now."""
    directory = paths.run(run)
    start = read_start(directory)
    if start is None:
        threads = max(1, (os.cpu_count() or 1) // workers)
        limit = None if run.minutes is None else 60 * run.minutes * workers  # minutes are of the whole machine
        command = _training(run, paths, limit).command
        start = RunStart(run.plan, threads, limit, paths.commit(), command)
        write_json(directory / "begun.json", asdict(start))
    elif start.plan != run.plan:
        raise DataError(f"started with other settings than the row has now; remove {directory} to run it anew")
    return start


def _training(run: PlannedRun, paths: Paths, time_limit: float | None) -> Request:
    """The training of a run, with paths relative to the clone."""
    files = paths.files(run)
    train_file, dev, output = (
        Path(os.path.relpath(path, paths.root)) for path in (files["train"], files["watched"], paths.run(run))
    )
    options = {"encoder": run.encoder, "time_limit": time_limit}
    return training(paths, train_file, dev, output, run.variant, run.settings, **options)


def finish(run: PlannedRun, start: RunStart, paths: Paths) -> dict[str, Any]:
    """Train, parse and score, skipping what is done; write the result and return it."""
    target = paths.result(run.table, run.profile, run.name)
    with locked(paths.run(run) / "lock"):
        if target.exists():
            return dict(read_json(target))
        request = _training(run, paths, start.time_limit)
        train(replace(request, command=start.command), paths.root)
        seconds = {split: _parse(split, run, paths) for split in SPLITS}
        result = collect(run, start, paths, seconds)
        write_json(target, result, indent=1)
    return result


def _parse(split: str, run: PlannedRun, paths: Paths) -> float:
    """Parse a split with the model of a run, unless that is done; return how long it took."""
    from graph2graph.parser.parser import Parser

    directory = paths.run(run)
    target, times = directory / f"{split}.conllu", directory / f"{split}-seconds.json"
    if not (target.exists() and times.exists()):
        begin = time.monotonic()
        sentences = conllu.read(paths.files(run)[split], check="columns")
        conllu.write(Parser.load(directory).parse(sentences), target)
        write_json(times, round(time.monotonic() - begin, 1))
    return float(read_json(times))
