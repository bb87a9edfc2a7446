"""The model card, README.md in a model's directory: its data, licence, scores, and the command that made it."""

import platform
from dataclasses import dataclass
from importlib.metadata import version

from graph2graph import __version__, markdown, scoring
from graph2graph.config import Config
from graph2graph.variants import variant_of


@dataclass(frozen=True)
class TrainingFacts:
    """Facts about the training, for the card."""

    encoder: str
    train: str  # file
    dev: str  # file
    license: str
    command: str
    seconds: float
    steps: int  # of the best model
    epochs: float
    parameters: int
    sentences: int  # in `train`
    words: int


def card(config: Config, facts: TrainingFacts, scores: scoring.Scores) -> str:
    """The text of a model card, Markdown."""
    variant = variant_of(config.model)
    title = variant.title if variant else "a parser"
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "tokenizers", "numpy"))
    encoder, values = config.model.encoder, scores.as_dict()
    rows = {
        "licence of the model": facts.license,
        "trained on": f"{facts.train}: {facts.sentences:,} sentences, {facts.words:,} words",
        "chosen on": facts.dev,
        "encoder": f"{facts.encoder}: {encoder.layers} layers × {encoder.width}",
        "parameters": f"{facts.parameters / 1e6:.1f}M",
        "tags": config.data.tags,
        "seed": config.train.seed,
        "training": f"{facts.steps:,} steps, {facts.epochs:.1f} epochs, {facts.seconds / 60:.1f} minutes",
        "versions": f"graph2graph {__version__}, {versions}, Python {platform.python_version()}",
    }
    return f"""# {title}, trained with graph2graph

A dependency parser ({title} of Mohammadshahi & Henderson, EMNLP 2020). Use it with `g2g parse --model DIR`.

{markdown.table(["", ""], rows.items())}
Scores on the development set (gold words and tags, punctuation counted, subtypes stripped, as the CoNLL 2018 scorer):

{markdown.table([name.upper() for name in values], [[f"{value:.2f}" for value in values.values()]])}
Made by

```
{facts.command}
```

All settings are in config.json.
"""
