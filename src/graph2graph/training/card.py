"""The card of a model, README.md in its directory: what it is, what it was trained on, how good it is, how to make it again."""

import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from graph2graph import __version__, scoring
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
    encoder = config.model.encoder
    return f"""# {title}, trained with graph2graph

A dependency parser ({title} of Mohammadshahi & Henderson, EMNLP 2020). Use it with `g2g parse --model DIR`.

| | |
|---|---|
| licence of the model | {run.license} |
| trained on | {run.train}: {run.sentences:,} sentences, {run.words:,} words |
| chosen on | {run.dev} |
| encoder | {run.encoder}: {encoder.layers} layers × {encoder.width} |
| parameters | {run.parameters / 1e6:.1f}M |
| tags | {config.data.tags} |
| seed | {config.train.seed} |
| training | {run.steps:,} steps, {run.epochs:.1f} epochs, {run.seconds / 60:.1f} minutes |
| versions | graph2graph {__version__}, {versions}, Python {platform.python_version()} |

Scores on the development set (gold words and tags, punctuation counted, subtypes stripped, as the CoNLL 2018 scorer):

| UAS | LAS | CLAS | UCM | LCM |
|---|---|---|---|---|
| {scores.uas:.2f} | {scores.las:.2f} | {scores.clas:.2f} | {scores.ucm:.2f} | {scores.lcm:.2f} |

Made by

```
{run.command}
```

All settings are in config.json.
"""


def write(directory: Path, text: str) -> None:
    """Put the card beside the model."""
    (directory / "README.md").write_text(text, encoding="utf-8")
