"""`g2g info`: describe a model."""

from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape
from rich.table import Table

from graph2graph.cli.printing import print_json
from graph2graph.files import read_json
from graph2graph.parser import catalogue, checksums
from graph2graph.parser.hub_card import without_front_matter
from graph2graph.treebank.characters import printable
from graph2graph.variants import variant_of

STORED = {"fp32": "single precision", "fp16": "half precision", "int8": "8 bits"}


def info(
    model: str = typer.Argument(
        catalogue.DEFAULT, metavar="MODEL", help="A shipped or downloaded model, or the directory of a trained one."
    ),
    verify: bool = typer.Option(False, "--verify", help="Compare the model's files with its checksums first."),
    as_json: bool = typer.Option(False, "--json", help="Print a JSON object."),
) -> None:
    """Print the card of a model, then its variant, size, labels and tags.

    Examples:

    g2g info en

    g2g info DIR --json
    """
    directory = catalogue.find(model)
    if verify:
        checksums.verify(directory)
    description = _describe(directory)
    if as_json:
        print_json(description)
        return
    console = Console()
    if card := description["card"]:
        if console.is_terminal:
            console.print(Markdown("\n".join(map(printable, without_front_matter(card).splitlines()))))
        else:  # verbatim, for other programs
            typer.echo(card)
    console.print(_table(description))


def _describe(directory: Path) -> dict[str, Any]:
    """The description of a model, without reading its weights."""
    from graph2graph.encoder.precision import resolve
    from graph2graph.parser.compression import read_stored
    from graph2graph.parser.model_directory import read_config
    from graph2graph.parser.vocabulary import Vocabulary

    config, vocabulary = read_config(directory), Vocabulary.read(directory / "labels.json")
    encoder, variant = config.model.encoder, variant_of(config.model)
    card, origin = directory / "README.md", directory / catalogue.ORIGIN
    stored = read_stored(directory / "model.safetensors")
    return {
        "directory": str(directory),
        "variant": variant.name if variant else "custom",
        "title": variant.title if variant else "custom",
        "encoder": {name: getattr(encoder, name) for name in ("layers", "width", "heads", "vocab_size")},
        "parameters": stored.n_parameters,
        "stored": stored.precision,
        "labels": vocabulary.labels,
        "tag_column": config.data.tags,
        "tags": vocabulary.tags,
        "text_model": (directory / "text.udpipe").is_file(),
        "bytes": sum(file.stat().st_size for file in catalogue.files(directory)),
        "origin": read_json(origin) if origin.is_file() else None,
        "precision": {"parse": resolve("auto"), "train": resolve("auto", "train")},
        "card": card.read_text(encoding="utf-8") if card.is_file() else None,
    }


def _table(description: dict[str, Any]) -> Table:
    encoder, origin, stored = description["encoder"], description["origin"], description["stored"]
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    rows = {
        "directory": description["directory"],
        "downloaded": f"{origin.get('repository')} at {str(origin.get('commit'))[:10]}" if origin else "",
        "variant": f"{description['variant']} ({description['title']})",
        "encoder": "{layers} layers × {width}, {heads} heads, {vocab_size:,} pieces".format(**encoder),
        "parameters": f"{description['parameters']:,}, stored in {STORED.get(stored, stored)}",
        "labels": f"{len(description['labels'])}: {', '.join(description['labels'])}",
        "tags": f"{len(description['tags'])} of {description['tag_column'].upper()}" if description["tags"] else "none",
        "raw text": "yes" if description["text_model"] else "no; g2g train-text adds a text model",
        "precision": "{parse} to parse and {train} to train, on this machine".format(**description["precision"]),
        "on disk": f"{description['bytes'] / 1e6:,.1f} MB",
    }
    for name, value in rows.items():
        if value:
            table.add_row(name, escape(value))
    return table
