"""The model card, README.md in a model's directory: its data, licence, scores, and the command that made it."""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from graph2graph import __version__, markdown
from graph2graph.parser import hub_card
from graph2graph.parser.hub_card import treebank_of
from graph2graph.parser.parser import Parser
from graph2graph.training.loop import Outcome
from graph2graph.training.request import Request
from graph2graph.treebank.sentence import Sentence
from graph2graph.variants import variant_of


def card(request: Request, parser: Parser, sentences: Sequence[Sentence], outcome: Outcome) -> str:
    """The text of a model card, Markdown; `sentences` are the training data."""
    config, scores = parser.config, outcome.scores.as_dict()
    variant = variant_of(config.model)
    title = variant.title if variant else "a parser"
    shape = f"{config.model.encoder.layers} layers × {config.model.encoder.width}"
    encoder = request.encoder or (f"that of {request.start}" if request.start else "none")
    n_words, n_parameters = sum(map(len, sentences)), sum(weight.numel() for weight in parser.model.parameters())
    steps, minutes = outcome.progress.best_step, outcome.seconds / 60
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "tokenizers", "numpy"))
    rows = {
        "licence of the model": request.license,
        "trained on": f"{', '.join(map(_name, request.train))}: {len(sentences):,} sentences, {n_words:,} words",
        "chosen on": _name(request.dev),
        "encoder": f"{encoder}: {shape}",
        "parameters": f"{n_parameters / 1e6:.1f}M",
        "tags": config.data.tags,
        "seed": config.train.seed,
        "training": f"{steps:,} steps, {outcome.epochs:.1f} epochs, {minutes:.1f} minutes",
        "versions": f"graph2graph {__version__}, {versions}, Python {platform.python_version()}",
    }
    treebanks = {treebank_of(file) for file in request.train}
    front_matter = hub_card.front_matter(
        name=request.output.name,
        licence=request.license,
        treebank=treebanks.pop() if len(treebanks) == 1 else None,
        scores={"dev": {name: scores[name] for name in ("uas", "las", "clas")}},
    )
    return f"""{front_matter}# {title}, trained with graph2graph

A dependency parser ({title} of Mohammadshahi & Henderson, EMNLP 2020). Use it with `g2g parse --model DIR`.

{markdown.table(["", ""], rows.items())}
Scores on the development set (gold words and tags, punctuation counted, subtypes stripped, as the CoNLL 2018 scorer):

{markdown.table([name.upper() for name in scores], [[f"{value:.2f}" for value in scores.values()]])}
Made by

```
{request.command}
```

All settings are in config.json.
"""


def _name(file: Path) -> str:
    return "/".join(file.absolute().parts[-2:])
