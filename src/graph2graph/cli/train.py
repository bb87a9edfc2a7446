"""`g2g train`: two treebank files in, a parser out."""

import json
import os
import re
import shlex
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from graph2graph.cli.printing import is_quiet
from graph2graph.errors import DataError
from graph2graph.files import read_toml
from graph2graph.parser import catalogue
from graph2graph.training.report import RunReport
from graph2graph.training.request import Request
from graph2graph.variants import VARIANTS, resolve

if TYPE_CHECKING:
    from graph2graph.training.plan import Plan


def train(
    train_file: Path = typer.Argument(metavar="TRAIN", help="Treebank to learn from, CoNLL-U."),
    dev_file: Path = typer.Argument(metavar="DEV", help="Treebank to choose the best model on."),
    output: Path = typer.Option(..., "--output", "-o", help="Directory of the new model."),
    encoder: str = typer.Option(None, help="Pretrained encoder: a directory, or a name on the hub; default: none."),
    start: str = typer.Option(None, help="Trained model to continue from, instead of an encoder: directory or name."),
    model: str = typer.Option(None, help=f"Variant of the paper: {', '.join(VARIANTS)}; default: sent-g2g."),
    config: Path = typer.Option(None, help="Settings in a TOML file."),
    settings: list[str] = typer.Option([], "--set", help="One setting, like train.epochs=5; may be repeated."),
    tags: str = typer.Option(None, help="Tags to use: upos, xpos or none; default: upos."),
    time_limit: str = typer.Option(None, help="Plan the run to end within this time: 25m, 1h30m, 90s."),
    processes: int = typer.Option(1, min=1, help="Processes on this machine; for several machines use torchrun."),
    resume: bool = typer.Option(False, help="Continue from the last checkpoint in --output, if there is one."),
    license: str = typer.Option("not stated", help="Licence of the model, for its card."),
) -> None:
    """Train a parser.

    A run can be killed at any time: with --resume it continues and ends with the same model. --output always has the best model
    on DEV so far; at the end it gets a model card.

    Examples:

    g2g train train.conllu dev.conllu -o model --encoder bert-base-multilingual-cased

    g2g train train.conllu dev.conllu -o model --encoder minilm/ --model sent --time-limit 25m --set train.seed=2
    """
    started = time.monotonic()
    changes, limit = _changes(settings), None if time_limit is None else seconds(time_limit)
    if tags is not None:
        changes = {"data.tags": tags} | changes
    values = {} if config is None else read_toml(config)
    file_encoder, file_variant = values.pop("encoder", None), values.pop("variant", None)
    chosen = encoder or file_encoder
    resolved = resolve(values, changes, variant=model or file_variant)
    if processes > 1 and "RANK" not in os.environ:
        raise typer.Exit(_launch(processes))
    request = Request(
        train=train_file,
        dev=dev_file,
        output=output,
        encoder=None if chosen == "none" else chosen,
        start=None if start is None else catalogue.find(start),
        config=resolved,
        time_limit=limit,
        resume=resume,
        license=license,
        command=shlex.join(["g2g", *sys.argv[1:]]),
        started=started,
    )
    _train(request)


def _changes(settings: list[str]) -> dict[str, Any]:
    """The values of --set by dotted name; what is not JSON is a string."""
    changes: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise DataError(f"--set {setting}: expected a.b=value")
        try:
            changes[name.strip()] = json.loads(text)
        except ValueError:
            changes[name.strip()] = text
    return changes


def seconds(text: str) -> float:
    """The length of a time like 90m, 1h30m or 45s.

    >>> seconds("1h30m")
    5400.0
    """
    match = re.fullmatch(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?", text.strip())
    total = sum(float(n or 0) * unit for n, unit in zip(match.groups(), (3600, 60, 1), strict=True)) if match else 0.0
    if not total:
        raise DataError(f"--time-limit {text}: expected a time like 90m, 1h30m or 45s")
    return total


def _launch(processes: int) -> int:
    """Run this command in several processes, with torchrun; return its exit code."""
    arguments = sys.argv[1:]
    index = next(i for i, argument in enumerate(arguments) if argument.startswith("--processes"))
    del arguments[index : index + (1 if "=" in arguments[index] else 2)]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    threads = str(max(1, (os.cpu_count() or 1) // processes))
    environment = {"OMP_NUM_THREADS": threads} | os.environ
    return subprocess.run([*launcher, "-m", "graph2graph", *arguments], env=environment, check=False).returncode


def _train(request: Request) -> None:
    from graph2graph.training.processes import Processes
    from graph2graph.training.run import run

    console, processes = Console(stderr=True), Processes()

    def note(message: str) -> None:
        if processes.is_first and not is_quiet():
            console.print(message, highlight=False, markup=False, soft_wrap=True)

    report = _BarReport(note, console, has_bar=processes.is_first and console.is_terminal and not is_quiet())
    try:
        with warnings.catch_warnings(), report.progress:
            warnings.showwarning = lambda message, *_, **__: note(f"note: {message}")
            run(request, processes, report)
        processes.finish()
    except KeyboardInterrupt:
        note(f"stopped; the same command with --resume continues from the last checkpoint in {request.output}")
        raise
    finally:
        processes.close()


class _BarReport(RunReport):
    """Reports a run in lines and, on a terminal, with a progress bar."""

    def __init__(self, note: Callable[[str], None], console: Console, *, has_bar: bool) -> None:
        super().__init__(note)
        times = TimeElapsedColumn(), TimeRemainingColumn(compact=True, elapsed_when_finished=True)
        columns = TextColumn("training"), BarColumn(), MofNCompleteColumn(), *times
        loss = TextColumn("loss {task.fields[loss]:.3f}")
        self.progress = Progress(*columns, loss, console=console, disable=not has_bar)
        self.task = self.progress.add_task("training", total=None, loss=0.0)

    def planned(self, plan: "Plan", resumed_at: int) -> None:
        self.progress.update(self.task, total=plan.n_steps, completed=resumed_at)
        super().planned(plan, resumed_at)

    def stepped(self, step: int, loss: float) -> None:
        super().stepped(step, loss)
        self.progress.update(self.task, completed=step, loss=self.loss)
