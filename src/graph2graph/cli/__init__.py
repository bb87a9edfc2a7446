"""The command `g2g`: one file for each subcommand, registered here.

Exit codes: 0 for success, 1 for an error in the data (one line on standard error says which), 2 for wrong usage. Commands
import torch inside their functions, so that `g2g --help` and the small commands start quickly.
"""

import io
import os
import sys
from typing import NoReturn

import typer

from graph2graph import __version__
from graph2graph.cli.analyze import analyze
from graph2graph.cli.compress import compress
from graph2graph.cli.download import download
from graph2graph.cli.draw import draw
from graph2graph.cli.evaluate import evaluate
from graph2graph.cli.info import info
from graph2graph.cli.models import models
from graph2graph.cli.oracle import oracle
from graph2graph.cli.parse import parse
from graph2graph.cli.printing import log_on_standard_error, report_error, with_levels
from graph2graph.cli.reproduce import reproduce
from graph2graph.cli.serve import serve
from graph2graph.cli.streams import FormatCommand
from graph2graph.cli.train import train
from graph2graph.cli.train_text import train_text
from graph2graph.cli.upload import upload
from graph2graph.cli.validate import validate
from graph2graph.errors import DataError, notes_of, one_line
from graph2graph.parser.allocation import limit_kernel_cache

app = typer.Typer(
    name="g2g",
    help="The Graph2Graph Transformer dependency parser.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"graph2graph {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    del version  # handled by its callback


COMMANDS = (
    *(parse, train, train_text, evaluate, analyze, reproduce, draw, oracle),
    *(validate, serve, models, info, download, upload, compress),
)
for command in COMMANDS:
    app.command(cls=FormatCommand if command in (parse, draw) else None)(with_levels(command))


def main() -> None:
    """Run the command line. A user's mistake ends in one line and exit code 1, never in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # escape what a terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    limit_kernel_cache()
    with log_on_standard_error():
        _run()


def _run() -> None:
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except DataError as error:
        _fail(error, str(error))
    except BrokenPipeError:  # as in `g2g … | head`
        _fail(None)
    except OSError as error:
        _fail(error, f"{one_line(str(error.filename or 'standard output'))}: {error.strerror or error}")
    except KeyboardInterrupt as error:
        _fail(error, "interrupted", code=130)


def _fail(error: BaseException | None, message: str = "", *, code: int = 1) -> NoReturn:
    """End the process with one line, which has the error's notes too."""
    try:
        sys.stdout.flush()
    except OSError:  # a full disk or a closed pipe: nothing more can be written, at exit neither
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error is not None:
        report_error("; ".join([message, *notes_of(error)]))
    sys.exit(code)
