"""Jobs side by side, each in a spawned process that gets its arguments as data.

A spawned process shares no state with this one, so a job computes the same whatever ran before it. If this process is killed,
the jobs that have started still finish.
"""

import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Generic, TypeVar

from graph2graph.errors import DataError

Result = TypeVar("Result")
SPAWN = get_context("spawn")


@dataclass(frozen=True)
class Job(Generic[Result]):
    """A call to be made in another process."""

    name: str
    work: Callable[..., Result]  # defined at the top of a module, where the new process can import it
    arguments: tuple[Any, ...] = ()
    threads: int = 1  # of torch
    log: Path | None = None  # where its output is appended; default: where ours goes


def run_jobs(jobs: Iterable[Job[Result]], workers: int) -> Iterator[tuple[Job[Result], Result | DataError]]:
    """Run jobs, at most `workers` at a time, and yield the result or error of each as it ends.

    A job is taken from `jobs` when there is a worker for it.
    """
    upcoming, running = iter(jobs), dict[Connection, tuple[Job[Result], SpawnProcess]]()
    try:
        while True:
            while len(running) < workers and (job := next(upcoming, None)) is not None:
                receiver, process = _start(job)
                running[receiver] = job, process
            if not running:
                return
            ready = wait(list(running))
            for receiver in [receiver for receiver in running if receiver in ready]:
                job, process = running.pop(receiver)
                yield job, _result(receiver, process)
    finally:
        for _, process in running.values():
            process.terminate()
            process.join()


def results_of(jobs: Iterable[Job[Result]], workers: int) -> Iterator[tuple[Job[Result], Result]]:
    """Run jobs that should not fail, like `run_jobs`; an error at the end names those that did."""
    failed = []
    for job, result in run_jobs(jobs, workers):
        if isinstance(result, DataError):
            failed.append(f"{job.name}: {result}")
        else:
            yield job, result
    if failed:
        raise DataError("; ".join(failed))


def _start(job: Job[Any]) -> tuple[Connection, SpawnProcess]:
    receiver, sender = SPAWN.Pipe(duplex=False)
    process = SPAWN.Process(target=_work, args=(job, sender), name=job.name)
    process.start()
    sender.close()  # so that the pipe closes when the process ends
    return receiver, process


def _result(receiver: Connection, process: SpawnProcess) -> Any:
    with receiver:
        try:
            result = receiver.recv()
        except EOFError:
            result = None
    process.join()
    return DataError(f"its process ended with code {process.exitcode}") if result is None else result[0]


def _work(job: Job[Any], sender: Connection) -> None:
    """Do a job and send its result, in the new process."""
    import torch

    torch.set_num_threads(job.threads)
    if job.log is not None:
        job.log.parent.mkdir(parents=True, exist_ok=True)
        log = os.open(job.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(log, stream.fileno())
    try:
        result: Any = job.work(*job.arguments)
    except DataError as error:
        print(f"g2g: {error}", file=sys.stderr)
        result = DataError(str(error))
    except Exception as error:
        traceback.print_exc()
        result = DataError(f"{type(error).__name__}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    with suppress(BrokenPipeError):  # the process that started this one may be gone
        sender.send((result,))
