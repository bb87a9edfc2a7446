"""Tables for people, JSON for programs, and one-line messages on standard error, as many as --quiet and --verbose say."""

import inspect
import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from inspect import Parameter
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from graph2graph.errors import escaped

LOGGER = logging.getLogger("graph2graph")


def print_table(table: Table, *, width: int = 160) -> None:
    """Print a table as wide as the terminal, or of the given width where there is no terminal."""
    console = Console()
    console.width = console.width if console.is_terminal else width
    console.print(table)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def report(message: Warning | str, *_: object, **__: object) -> None:
    """Print a note or a warning on standard error, unless --quiet; it can stand in for `warnings.showwarning`."""
    LOGGER.log(logging.WARNING if isinstance(message, Warning) else logging.INFO, message)


def report_error(message: str) -> None:
    """Print the one line that a failed command ends with."""
    LOGGER.error(message)


def is_quiet() -> bool:
    """Whether only errors are printed."""
    return not LOGGER.isEnabledFor(logging.INFO)


class _OneLine(logging.Formatter):
    """Messages on one printable line each, as they may quote a hostile file; those for --verbose with the time."""

    def format(self, record: logging.LogRecord) -> str:
        time = f"{self.formatTime(record, '%H:%M:%S')} " if record.levelno < logging.INFO else ""
        return f"g2g: {time}{escaped(record.getMessage())}"


@contextmanager
def log_on_standard_error() -> Iterator[None]:
    """Print what is logged, notes included; --quiet and --verbose change how much that is."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine())
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(logging.NOTSET)


def with_levels(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options --quiet and --verbose."""

    @wraps(command)
    def levelled(**values: Any) -> None:
        quiet, verbose = values.pop("quiet"), values.pop("verbose")
        if quiet or verbose:
            LOGGER.setLevel(logging.ERROR if quiet else logging.DEBUG)
        command(**values)

    texts = {
        "quiet": "Print errors only, no notes, warnings or progress.",
        "verbose": "Print what is done, with the time.",
    }
    options = [
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=bool, default=typer.Option(False, f"--{name}", help=text))
        for name, text in texts.items()
    ]
    signature = inspect.signature(command)
    levelled.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), *options]
    )
    levelled.__annotations__ = command.__annotations__ | dict.fromkeys(texts, bool)
    return levelled


def quiet_library() -> None:
    """Silence huggingface-hub, whose warnings would repeat our messages, and its progress bars where they are not wanted."""
    if find_spec("huggingface_hub"):
        library = import_module("huggingface_hub.utils")
        library.logging.set_verbosity_error()
        if is_quiet() or not sys.stderr.isatty():
            library.disable_progress_bars()
