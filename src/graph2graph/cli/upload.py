"""`g2g upload`: publish a model on the hub."""

from pathlib import Path

import typer

from graph2graph.cli.printing import quiet_library
from graph2graph.parser import hub


def upload(
    directory: Path = typer.Argument(metavar="DIR", help="The directory of a model."),
    name: str = typer.Argument(metavar="NAME", help="Its name on the hub, as owner/name; it is created if it is new."),
    private: bool = typer.Option(False, "--private", help="If it is created, let only its owner see it."),
) -> None:
    """Upload a model with its card and checksums to the Hugging Face hub, and print the page of the commit.

    The card, README.md, must state the licence in its first lines, as that of a model trained with --license does. The token
    comes from HF_TOKEN or `hf auth login`; HF_ENDPOINT selects another hub.

    Example: g2g upload model owner/name
    """
    quiet_library()
    typer.echo(hub.upload(directory, name, private=private))
