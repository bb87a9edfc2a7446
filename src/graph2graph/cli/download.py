"""`g2g download`: fetch a model from the hub."""

import typer

from graph2graph.cli.printing import quiet_library, report
from graph2graph.parser import catalogue, hub


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
    quiet_library()
    is_here = name in catalogue.shipped() or name in catalogue.downloaded()
    directory = hub.download(name, offline=offline, force=force)
    if is_here and not force:
        report(f"{name} is here already; --force downloads it again")
    typer.echo(directory)
