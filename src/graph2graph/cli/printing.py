"""Tables for people, JSON for programs, and one-line messages on standard error."""

import json
import sys
from typing import Any

import typer
from rich.console import Console
from rich.table import Table


def print_table(table: Table, *, width: int = 160) -> None:
    """Print a table as wide as the terminal, or of the given width where there is no terminal."""
    console = Console()
    console.width = console.width if console.is_terminal else width
    console.print(table)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def report(message: Warning | str, *_: object, **__: object) -> None:
    """Print a message on standard error; it can stand in for `warnings.showwarning`."""
    print(f"g2g: {message}", file=sys.stderr, flush=True)
