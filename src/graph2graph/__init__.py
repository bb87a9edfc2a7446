"""graph2graph: the Graph2Graph Transformer dependency parser.

>>> import graph2graph
>>> nlp = graph2graph.load()  # doctest: +SKIP
>>> print(nlp("The dog barks.").to_conllu())  # doctest: +SKIP

The names below are the public API. Each is imported when it is first used: `import graph2graph` is quick and loads no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph2graph.decoding.options import ParseOptions, TagSource
    from graph2graph.errors import DataError
    from graph2graph.parser.parser import Parser
    from graph2graph.parser.pipeline import Pipeline, load
    from graph2graph.training.run import train
    from graph2graph.treebank.document import Document

__version__ = "0.1.0"
__all__ = ["DataError", "Document", "ParseOptions", "Parser", "Pipeline", "TagSource", "__version__", "load", "train"]

_MODULES = {
    "DataError": "errors",
    "Document": "treebank.document",
    "ParseOptions": "decoding.options",
    "Parser": "parser.parser",
    "Pipeline": "parser.pipeline",
    "TagSource": "decoding.options",
    "load": "parser.pipeline",
    "train": "training.run",
}


def __getattr__(name: str) -> object:
    """Import a public name on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value  # so that this function is not called for it again
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
