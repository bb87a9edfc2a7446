"""`g2g train`: treebank files in, a parser out."""

import json
import os
import re
import shlex
import signal
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
from graph2graph.training.options import TrainOptions
from graph2graph.training.report import RunReport
from graph2graph.training.request import NOT_STATED, Request
from graph2graph.training.sizes import PAPER_SIZE
from graph2graph.training.stopping import Stopped
from graph2graph.variants import VARIANTS

if TYPE_CHECKING:
    from graph2graph.training.loop import Outcome
    from graph2graph.training.plan import Plan


def train(
    files: list[Path] = typer.Argument(
        [],
        metavar="TRAIN DEV",
        help="Treebanks, CoNLL-U: one to learn from, and one to choose the best model on. With --dev, all are to learn from.",
    ),
    dev: Path | None = typer.Option(
        None, help="Treebank to choose the best model on; TRAIN can then be several files."
    ),
    output: Path = typer.Option(..., "--output", "-o", help="Directory of the new model."),
    encoder: str = typer.Option(
        None,
        help="Pretrained encoder: a directory, or a name on the hub. Default: none; then the parser's size follows the "
        f"treebank's, unless --set model.encoder.width and so on give one. {PAPER_SIZE}: none, and the paper's 6 × 768.",
    ),
    start: str = typer.Option(None, help="Trained model to continue from, instead of an encoder: directory or name."),
    model: str = typer.Option(None, help=f"Variant of the paper: {', '.join(VARIANTS)}; default: sent-g2g."),
    config: Path = typer.Option(None, help="Settings in a TOML file."),
    settings: list[str] = typer.Option([], "--set", help="One setting, like train.epochs=5; may be repeated."),
    tags: str = typer.Option(None, help="Tags to use: upos, xpos or none; default: upos."),
    time_limit: str = typer.Option(None, help="Plan the run to end within this time: 25m, 1h30m, 90s."),
    processes: int = typer.Option(
        None, min=1, help="Processes on this machine; for several machines use torchrun. Default: 1."
    ),
    resume: bool = typer.Option(
        False,
        help="Continue the run in --output from its last checkpoint, if there is one, with the options it began with.",
    ),
    license: str = typer.Option(None, help=f"Licence of the model, for its card; default: {NOT_STATED}."),
) -> None:
    """Train a parser.

    Stop a run with Ctrl-C, or kill it, at any time: with --resume it continues and ends with the same model. --output always
    has the best model on DEV so far; at the end it gets a model card.

    Examples:

    g2g train train.conllu dev.conllu -o model --encoder bert-base-multilingual-cased

    g2g train news.conllu fiction.conllu --dev dev.conllu -o model --model sent --time-limit 25m --set train.seed=2

    g2g train -o model --resume
    """
    started = time.monotonic()
    if dev is None and len(files or ()) == 2:
        *files, dev = files
    if bool(files) != (dev is not None) or not (files or resume):
        raise typer.BadParameter("give TRAIN and DEV, or several training files and --dev DEV")
    options = TrainOptions(
        train=files or (),
        dev=dev,
        encoder=encoder,
        start=start,
        variant=model,
        file=config,
        tags=tags,
        settings=_changes(settings),
        time_limit=None if time_limit is None else seconds(time_limit),
        license=license,
        processes=int(os.environ["WORLD_SIZE"]) if "RANK" in os.environ else processes,
    )
    request = options.request(output, resume=resume, command=shlex.join(["g2g", *sys.argv[1:]]), started=started)
    if request.processes > 1 and "RANK" not in os.environ:
        raise typer.Exit(_launch(request.processes))
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
    index = next((i for i, argument in enumerate(arguments) if argument.startswith("--processes")), None)
    if index is not None:
        del arguments[index : index + (1 if "=" in arguments[index] else 2)]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    threads = str(max(1, (os.cpu_count() or 1) // processes))
    environment = {"OMP_NUM_THREADS": threads} | os.environ
    with subprocess.Popen([*launcher, "-m", "graph2graph", *arguments], env=environment) as running:
        signal.signal(signal.SIGINT, lambda *_: None)  # the others get Ctrl-C too; wait for their checkpoint
        signal.signal(signal.SIGTERM, lambda number, _: running.send_signal(number))
        return running.wait()


def _train(request: Request) -> None:
    from graph2graph.training.processes import Processes
    from graph2graph.training.run import run

    console, processes = Console(stderr=True), Processes()

    def say(message: str) -> None:
        if processes.is_first:
            console.print(message, highlight=False, markup=False, soft_wrap=True)

    def note(message: str) -> None:
        if not is_quiet():
            say(message)

    report = _BarReport(note, console, has_bar=processes.is_first and console.is_terminal and not is_quiet())
    again = shlex.join(["g2g", "train", "--output", str(request.output), "--resume"])
    try:
        with warnings.catch_warnings(), report.progress:
            warnings.showwarning = lambda message, *_, **__: note(f"note: {message}")
            run(request, processes, report)
        processes.finish()
    except Stopped as stopped:
        say(f"stopped after step {stopped.step:,}, which is saved; to go on: {again}")
        raise typer.Exit(128 + stopped.signal) from stopped
    except KeyboardInterrupt as interrupt:
        say("interrupted; the same command with --resume goes on from the last checkpoint, if there is one")
        raise typer.Exit(128 + signal.SIGINT) from interrupt
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

    def replanned(self, plan: "Plan") -> None:
        self.progress.update(self.task, total=plan.n_steps)

    def stepped(self, step: int, loss: float) -> None:
        super().stepped(step, loss)
        self.progress.update(self.task, completed=step, loss=self.loss)

    def finished(self, output: Path, dev: Path, outcome: "Outcome") -> None:
        steps = outcome.progress.step  # fewer than planned if the run ended early
        self.progress.update(self.task, total=steps, completed=steps)
        super().finished(output, dev, outcome)
