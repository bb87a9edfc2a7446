"""`g2g download`: fetch a model from the hub."""

import sys
from importlib import import_module
from importlib.util import find_spec

import typer

from graph2graph.cli.printing import report
from graph2graph.parser import catalogue


def download(
    name: str = typer.Argument(
        metavar="NAME", help="A model on the Hugging Face hub, as owner/name; a shipped one needs no download."
    ),
    offline: bool = typer.Option(
        False, "--offline", help="Do not use the network; only say whether the model was downloaded."
    ),
    force: bool = typer.Option(False, "--force", help="Download it again."),
) -> None:
    """Download a model, verify its checksums, and print its directory. Afterwards --model takes its name.

    Models are kept in $G2G_HOME/models, by default ~/.cache/graph2graph/models. HF_ENDPOINT selects another hub, and
    HF_HUB_OFFLINE=1 is the same as --offline.

    Example: g2g download owner/name && g2g parse --model owner/name --text "The dog barks."
    """
    if find_spec("huggingface_hub"):  # its warnings would repeat our message
        library = import_module("huggingface_hub.utils")
        library.logging.set_verbosity_error()
        if not sys.stderr.isatty():
            library.disable_progress_bars()
    is_here = name in catalogue.shipped() or name in catalogue.downloaded()
    directory = catalogue.download(name, offline=offline, force=force)
    if is_here and not force:
        report(f"{name} is here already; --force downloads it again")
    typer.echo(directory)
