"""Options that several commands have."""

import typer

PRECISION = typer.Option(
    "auto",
    help="Number format of the encoder. auto: the fastest that this CPU is found to compute rightly, in a trial made once a "
    "machine (g2g info shows it); G2G_PRECISION sets what auto means.",
)
