"""Runs what is missing of a table, and goes on where it was stopped.

A run is three commands: g2g train, and g2g parse of the development and of the test file, the latter once, when the model is
chosen. Each of them can be killed at any moment. While one is at work it holds a lock, which outlives this process if that is
killed: whoever comes next waits for it instead of disturbing it.
"""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path

from graph2graph.errors import DataError
from graph2graph.reproduce.places import Places, write_json
from graph2graph.reproduce.plans import Plans, Run, flat
from graph2graph.reproduce.results import SPLITS, Begun, collect, read_begun

Note = Callable[[str], None]


def run_all(
    runs: Sequence[Run], plans: Plans, places: Places, *, workers: int, note: Note, done: Callable[[], None]
) -> list[str]:
    """Run these, several at a time if there are workers; `done` is called after each. What failed, and why."""
    failed: list[str] = []

    def succeeds(run: Run, work: Callable[[], None]) -> bool:
        try:
            work()
        except (DataError, OSError) as error:
            failed.append(f"{run.name}: {error}")
            note(failed[-1])
            return False
        return True

    prepared = [run for run in runs if succeeds(run, partial(places.prepare, run))]
    pool = ThreadPoolExecutor(workers)
    jobs = {pool.submit(_Job(run, plans, places, workers, note).run): run for run in prepared}
    try:
        for job in as_completed(jobs):
            if succeeds(jobs[job], job.result):
                done()
    finally:
        pool.shutdown(cancel_futures=True)
    return failed


class _Job:
    """One run, from wherever it stands to its result."""

    def __init__(self, run: Run, plans: Plans, places: Places, workers: int, note: Note) -> None:
        self.of, self.plans, self.places, self.workers, self.note = run, plans, places, workers, note
        self.directory = places.run(run)

    def run(self) -> None:
        """Train, parse, score; nothing that is done is done again."""
        run, target = self.of, self.places.result(self.of.table, self.of.profile, self.of.name)
        with lock(self.directory / "lock", lambda: self.note(f"{run.name}: another process is at it; waiting")) as held:
            if target.exists():
                return
            begun = self._begin()
            self.note(f"{run.name}: {run.title}, seed {run.seed}")
            self._g2g(begun.train, begun.threads, held)
            seconds = {split: self._parse(split, begun.threads, held) for split in SPLITS}
            result = collect(run, begun, self.places, self.plans.table.scorers, seconds)
            write_json(target, result)
        scores = ", ".join(f"{split} UAS {result[split]['uas']:.2f} LAS {result[split]['las']:.2f}" for split in SPLITS)
        self.note(f"{run.name}: {scores}, {result['seconds'] / 60:.1f} minutes")

    def _begin(self) -> Begun:
        """How the run was begun, or is begun now."""
        path = self.directory / "begun.json"
        begun = read_begun(path)
        if begun is None:
            arguments, shown = self._arguments()
            threads = max(1, (os.cpu_count() or 1) // self.workers)
            plan = json.loads(json.dumps(self.of.plan))
            begun = Begun(plan, arguments, threads, self.places.commit(), f"OMP_NUM_THREADS={threads} {shown}")
            write_json(path, asdict(begun))
        elif begun.plan != json.loads(json.dumps(self.of.plan)):
            raise DataError(f"begun with other settings than the row has now; remove {self.directory} to run it anew")
        return begun

    def _arguments(self) -> tuple[list[str], str]:
        """The arguments of g2g train; and the same as a command to show."""
        run, files = self.of, self.places.files(self.of)
        paths = [files["train"], files["watched"], self.directory]
        options = ["--encoder", run.encoder or "none", "--model", run.variant]
        for key, value in flat(run.settings).items():
            options += ["--set", f"{key}={json.dumps(value)}"]
        if run.minutes is not None:  # each worker has its share of the machine, and so much more time
            options += ["--time-limit", f"{60 * run.minutes * self.workers:g}s"]

        def command(train: str, dev: str, output: str) -> list[str]:
            return ["train", train, dev, "--output", output, *options, "--resume"]

        relative = (os.path.relpath(path, self.places.root) for path in paths)
        shown = ["g2g", *command(*map(self.places.shown, paths))]
        return command(*relative), " ".join(part if part.startswith("$") else shlex.quote(part) for part in shown)

    def _parse(self, split: str, threads: int, held: int | None) -> float:
        """Parse a split, unless that is done; how long it took."""
        target, times = self.directory / f"{split}.conllu", self.directory / f"{split}-seconds.json"
        if not (target.exists() and times.exists()):
            begin = time.monotonic()
            file = os.path.relpath(self.places.files(self.of)[split], self.places.root)
            model, output = (os.path.relpath(path, self.places.root) for path in (self.directory, target))
            self._g2g(["parse", file, "--model", model, "-o", output, "--threads", str(threads)], threads, held)
            write_json(times, round(time.monotonic() - begin, 1))
        seconds: float = json.loads(times.read_text())
        return seconds

    def _g2g(self, arguments: Sequence[str], threads: int, held: int | None) -> None:
        """Run g2g in the clone, its messages in the log of the run; the lock goes along."""
        log = self.directory / "log.txt"
        with log.open("a", encoding="utf-8") as stream:
            stream.write(shlex.join(["g2g", *arguments]) + "\n")
            stream.flush()
            code = subprocess.run(
                [sys.executable, "-m", "graph2graph", *arguments],
                cwd=self.places.root,
                env=os.environ | {"OMP_NUM_THREADS": str(threads), "PYTHONPATH": _path()},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                pass_fds=[] if held is None else [held],
                check=False,
            ).returncode
        if code:
            last = log.read_text(encoding="utf-8").strip().splitlines()[-1].removeprefix("g2g: ")
            raise DataError(f"g2g {arguments[0]} ended with {code}: {last} (all of it in {log})")


def _path() -> str:
    """So that a child runs the same code as this process, wherever it is started."""
    package = str(Path(__file__).absolute().parents[2])
    return os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])


@contextmanager
def lock(path: Path, waiting: Callable[[], None]) -> Iterator[int | None]:
    """Hold a file alone, together with the processes that are given its number; `waiting` is told if another holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if sys.platform == "win32":
        yield None
        return
    import fcntl

    with path.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield stream.fileno()


def is_locked(path: Path) -> bool:
    """Whether a process is at work there."""
    if sys.platform == "win32" or not path.exists():
        return False
    import fcntl

    with path.open() as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
