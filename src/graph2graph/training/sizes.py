"""The size of a parser that is trained from scratch: it follows the size of the treebank, unless it is set.

A large network learns nothing from a small treebank in the time that one has for it: docs/training.md has the scores.
"""

from typing import Any

from graph2graph.config import Config

PAPER_SIZE = "paper-size"  # in the place of an encoder
SHAPE = ("layers", "width", "heads", "inner_width")
_SIZES = {  # (layers, width, heads, inner width) up to so many training words
    100_000: (3, 192, 6, 768),
    500_000: (4, 256, 4, 1024),  # as the tables have it for English-EWT
    float("inf"): (6, 768, 12, 3072),  # the paper trained it on 950,000 words
}


def is_sized(config: Config) -> bool:
    """Whether the settings have a size."""
    return not config.model.encoder.model_fields_set.isdisjoint(SHAPE)


def paper_size() -> dict[str, Any]:
    """The settings of the paper's size, 6 layers × 768, by dotted name."""
    defaults = Config().model.encoder
    return {f"model.encoder.{name}": getattr(defaults, name) for name in SHAPE}


def sized(config: Config, n_words: int) -> Config:
    """The settings with the size for so many training words."""
    shape = next(shape for limit, shape in _SIZES.items() if n_words <= limit)
    encoder = config.model.encoder.model_copy(update=dict(zip(SHAPE, shape, strict=True)))
    return config.model_copy(update={"model": config.model.model_copy(update={"encoder": encoder})})
