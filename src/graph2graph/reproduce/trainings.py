"""Training runs as data, so that tables and experiments can pass them to another process."""

import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from graph2graph.config import Config
from graph2graph.files import read_json
from graph2graph.reproduce.jobs import Job
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.rows import Settings
from graph2graph.variants import VARIANTS


@dataclass(frozen=True)
class Training:
    """A training run; paths are absolute or relative to the clone."""

    train: Path
    dev: Path
    output: Path
    variant: str
    settings: Settings = field(hash=False, default_factory=dict)  # nested, over the variant's
    encoder: str | None = None
    start: Path | None = None  # a model to continue from, instead of an encoder
    time_limit: float | None = None  # seconds
    license: str = "not stated"

    def command(self, published: Callable[[Path], str] = str) -> str:
        """The equivalent shell command, with paths as they may be published."""
        options = ["--output", published(self.output)]
        if self.start is not None:
            options += ["--start", published(self.start)]
        else:
            options += ["--encoder", self.encoder or "none"]
        options += ["--model", self.variant]
        for key, value in flat(self.settings).items():
            options += ["--set", f"{key}={json.dumps(value)}"]
        if self.time_limit is not None:
            minutes, rest = divmod(self.time_limit, 60)
            options += ["--time-limit", f"{self.time_limit:g}s" if rest else f"{minutes:g}m"]
        if self.license != "not stated":
            options += ["--license", self.license]
        words = ["g2g", "train", published(self.train), published(self.dev), *options, "--resume"]
        return " ".join(word if word.startswith("$") else shlex.quote(word) for word in words)


def training_job(training: Training, paths: Paths) -> Job[dict[str, Any]]:
    """The job that calls `train` on one thread."""
    return Job(training.output.name, train, (training, paths.root, training.command(paths.published)))


def train(training: Training, root: Path, command: str) -> dict[str, Any]:
    """Train in the clone at `root`, or resume the run; return the content of its run.json."""
    from graph2graph.training.processes import Processes
    from graph2graph.training.report import RunReport
    from graph2graph.training.request import Request
    from graph2graph.training.run import run

    say = partial(print, file=sys.stderr, flush=True)
    os.chdir(root)
    say(command)
    request = Request(
        train=training.train,
        dev=training.dev,
        output=training.output,
        encoder=training.encoder,
        start=training.start,
        config=Config.parse(VARIANTS[training.variant].complete(training.settings), str(training.output)),
        time_limit=training.time_limit,
        resume=True,
        license=training.license,
        command=command,
    )
    run(request, Processes(), RunReport(say))
    found: dict[str, Any] = read_json(training.output / "run.json")
    return found


def flat(settings: Mapping[str, Any], prefix: str = "") -> Settings:
    """Settings by their dotted names.

    >>> flat({"train": {"states": 8}, "data": {"tags": "xpos"}})
    {'train.states': 8, 'data.tags': 'xpos'}
    """
    found: Settings = {}
    for key, value in settings.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found
