"""`python -m graph2graph` is `g2g`."""

from graph2graph.cli import main

main()
