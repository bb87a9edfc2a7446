"""`g2g info`: what a model is."""

import json
import math
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape
from rich.table import Table

from graph2graph.errors import DataError
from graph2graph.files import read_json
from graph2graph.parser import catalogue
from graph2graph.variants import variant_of


def info(
    model: str = typer.Argument(
        catalogue.DEFAULT, metavar="[MODEL]", help="A shipped or downloaded model, or a directory."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print a JSON object."),
) -> None:
    """Print the card of a model, and what it is made of: its variant, size, labels, tags.

    Examples:

    g2g info en

    g2g info DIR --json
    """
    found = _essentials(catalogue.find(model))
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    console = Console()
    if found["card"]:
        if console.is_terminal:
            console.print(Markdown(found["card"]))
        else:  # as it is written, to be read by other programs
            typer.echo(found["card"])
    console.print(_table(found))


def _essentials(directory: Path) -> dict[str, Any]:
    """What is worth knowing; the weights themselves are not read."""
    from graph2graph.parser.model_directory import read_config
    from graph2graph.parser.vocabulary import Vocabulary

    config, vocabulary = read_config(directory), Vocabulary.read(directory / "labels.json")
    encoder, variant = config.model.encoder, variant_of(config.model)
    card, origin = directory / "README.md", directory / catalogue.ORIGIN
    return {
        "directory": str(directory),
        "variant": variant.name if variant else "custom",
        "title": variant.title if variant else "custom",
        "encoder": {name: getattr(encoder, name) for name in ("layers", "width", "heads", "vocab_size")},
        "parameters": _n_parameters(directory / "model.safetensors"),
        "labels": vocabulary.labels,
        "tag_column": config.data.tags,
        "tags": vocabulary.tags,
        "text_model": (directory / "text.udpipe").is_file(),
        "bytes": sum(file.stat().st_size for file in catalogue.files(directory)),
        "origin": read_json(origin) if origin.is_file() else None,
        "card": card.read_text(encoding="utf-8") if card.is_file() else None,
    }


def _n_parameters(path: Path) -> int:
    """The number of parameters, from the head of the file."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118 - not a dict
    except (SafetensorError, OSError) as error:
        raise DataError(f"{path}: no such file, or a broken one: {error}") from error


def _table(found: dict[str, Any]) -> Table:
    encoder, origin = found["encoder"], found["origin"]
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    rows = {
        "directory": found["directory"],
        "downloaded": f"{origin.get('repository')} at {str(origin.get('commit'))[:10]}" if origin else "",
        "variant": f"{found['variant']} ({found['title']})",
        "encoder": "{layers} layers × {width}, {heads} heads, {vocab_size:,} pieces".format(**encoder),
        "parameters": f"{found['parameters']:,}",
        "labels": f"{len(found['labels'])}: {', '.join(found['labels'])}",
        "tags": f"{len(found['tags'])} of {found['tag_column'].upper()}" if found["tags"] else "none",
        "raw text": "yes" if found["text_model"] else "no: there is no text model; g2g train-text makes one",
        "on disk": f"{found['bytes'] / 1e6:,.1f} MB",
    }
    for name, value in rows.items():
        if value:
            table.add_row(name, escape(value))
    return table
