"""Training runs as requests with the equivalent shell command; tables and experiments pass them to other processes."""

import json
import os
import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from graph2graph.files import read_json
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.rows import Settings, with_named_precision
from graph2graph.training.request import Request
from graph2graph.variants import flat, resolve


def training(
    paths: Paths, train: Path, dev: Path, output: Path, variant: str, settings: Settings, **options: Any
) -> Request:
    """A training run, which is resumed if it has begun; files are absolute or relative to the clone.

    `settings` are nested, over the variant's; `options` are further fields of the request.
    """
    settings = with_named_precision(settings)
    config = resolve(settings, {}, variant=variant)
    request = Request((train,), dev, output, config, resume=True, **options)
    return replace(request, command=_command(request, variant, settings, paths))


def _command(request: Request, variant: str, settings: Settings, paths: Paths) -> str:
    """The equivalent shell command, with paths as they may be published."""
    train, dev, output = map(paths.published, (*request.train, request.dev, request.output))
    start = ["--encoder", request.encoder or "none"]
    if request.start is not None:
        start = ["--start", paths.published(request.start)]
    words = ["g2g", "train", train, dev, "--output", output, *start, "--model", variant]
    for key, value in flat(settings).items():
        words += ["--set", f"{key}={json.dumps(value)}"]
    if request.time_limit is not None:
        minutes, rest = divmod(request.time_limit, 60)
        words += ["--time-limit", f"{request.time_limit:g}s" if rest else f"{minutes:g}m"]
    if request.license != "not stated":
        words += ["--license", request.license]
    return " ".join(word if word.startswith("$") else shlex.quote(word) for word in [*words, "--resume"])


def train(request: Request, root: Path) -> dict[str, Any]:
    """Train in the clone at `root`, or resume the run; return the content of its run.json."""
    from graph2graph.training.processes import Processes
    from graph2graph.training.report import RunReport
    from graph2graph.training.run import run

    say = partial(print, file=sys.stderr, flush=True)
    os.chdir(root)
    say(request.command)
    run(request, Processes(), RunReport(say))
    return dict(read_json(request.output / "run.json"))
