"""`g2g download`: a model from the hub."""

import sys
from importlib import import_module
from importlib.util import find_spec

import typer

from graph2graph.parser import catalogue


def download(
    name: str = typer.Argument(
        help="A model on the Hugging Face hub, owner/name; or a shipped one, which is here already."
    ),
    offline: bool = typer.Option(False, "--offline", help="Do not use the network: say whether it is here."),
    force: bool = typer.Option(False, "--force", help="Fetch it anew."),
) -> None:
    """Fetch a model, check it, and print its directory; afterwards its name will do for --model.

    Models are kept in G2G_HOME, or else in the user's cache. HF_ENDPOINT names another hub, HF_HUB_OFFLINE=1 is as --offline.

    Example: g2g download owner/name && g2g parse --model owner/name --text "The dog barks."
    """
    _hush()
    is_here = name in catalogue.shipped() or name in catalogue.downloaded()
    directory = catalogue.download(name, offline=offline, force=force)
    if is_here and not force:
        typer.echo(f"g2g: {name} is here already; --force fetches it anew", err=True)
    typer.echo(directory)


def _hush() -> None:
    """No warnings of the hub's library, since ours is the one message; and bars only where someone sees them."""
    if find_spec("huggingface_hub"):
        theirs = import_module("huggingface_hub.utils")
        theirs.logging.set_verbosity_error()
        if not sys.stderr.isatty():
            theirs.disable_progress_bars()
