"""graph2graph: the Graph2Graph Transformer dependency parser."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph2graph.encoder.precision import Precision
    from graph2graph.parser.pipeline import Pipeline

__version__ = "0.1.0"


def load(model: "str | os.PathLike[str]" = "en", *, precision: "Precision" = "fp32") -> "Pipeline":
    """The pipeline in a model directory, or the shipped or downloaded one of a name: `graph2graph.load()("The dog barks.")`."""
    from graph2graph.parser.pipeline import Pipeline  # torch comes with it, and most of the package does without

    return Pipeline.load(model, precision=precision)
