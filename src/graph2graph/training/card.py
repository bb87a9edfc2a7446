"""The card of a model, README.md in its directory: what it is, what it was trained on, how good it is, how to make it again."""

import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from graph2graph import __version__, markdown, scoring
from graph2graph.config import Config
from graph2graph.variants import variant_of


@dataclass(frozen=True)
class Run:
    """What the card has to say of the training."""

    encoder: str
    train: str
    dev: str
    license: str
    command: str
    seconds: float
    steps: int
    epochs: float
    parameters: int
    sentences: int
    words: int


def card(config: Config, run: Run, scores: scoring.Scores) -> str:
    """The text of the card."""
    variant = variant_of(config.model)
    title = variant.title if variant else "a parser"
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "tokenizers", "numpy"))
    encoder, values = config.model.encoder, scores.as_dict()
    facts = {
        "licence of the model": run.license,
        "trained on": f"{run.train}: {run.sentences:,} sentences, {run.words:,} words",
        "chosen on": run.dev,
        "encoder": f"{run.encoder}: {encoder.layers} layers × {encoder.width}",
        "parameters": f"{run.parameters / 1e6:.1f}M",
        "tags": config.data.tags,
        "seed": config.train.seed,
        "training": f"{run.steps:,} steps, {run.epochs:.1f} epochs, {run.seconds / 60:.1f} minutes",
        "versions": f"graph2graph {__version__}, {versions}, Python {platform.python_version()}",
    }
    return f"""# {title}, trained with graph2graph

A dependency parser ({title} of Mohammadshahi & Henderson, EMNLP 2020). Use it with `g2g parse --model DIR`.

{markdown.table(["", ""], facts.items())}
Scores on the development set (gold words and tags, punctuation counted, subtypes stripped, as the CoNLL 2018 scorer):

{markdown.table([name.upper() for name in values], [[f"{value:.2f}" for value in values.values()]])}
Made by

```
{run.command}
```

All settings are in config.json.
"""


def write(directory: Path, text: str) -> None:
    """Put the card beside the model."""
    (directory / "README.md").write_text(text, encoding="utf-8")
