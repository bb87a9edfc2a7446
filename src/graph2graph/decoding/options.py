"""How to parse: the options that the command line, the server, spaCy and Python share."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from graph2graph.config import DecodeConfig
from graph2graph.errors import DataError

EXACT = math.inf  # a threshold that no action reaches: encode again after every arc
Reencode = float | Literal["exact", "adaptive"]


class TagSource(StrEnum):
    """Where the tags that the parser sees come from."""

    KEEP = "keep"  # the input
    PREDICT = "predict"  # the text model's tagger
    NONE = "none"  # the parser sees no tags


@dataclass(frozen=True, kw_only=True)
class ParseOptions:
    """How to parse; None stands for the model's own default."""

    tags: TagSource | None = None
    reencode: Reencode | None = None  # encode again when the best action is less probable than this
    beam: int = 1  # hypotheses for each sentence; 1 is greedy
    keep_arcs: bool = False  # heads and labels in the input stay
    one_subject: bool = False  # no head gets a second subject or object
    probabilities: bool = False  # write those of each arc and its label to MISC
    batch_tokens: int | None = None  # pieces encoded at once, padding counted
    draft_tokens: int | None = None  # pieces of graphs that exact decoding encodes before they are needed

    def __post_init__(self) -> None:
        if self.tags is not None:
            object.__setattr__(self, "tags", _tag_source(self.tags))
        if self.reencode is not None:
            object.__setattr__(self, "reencode", read_reencode(self.reencode))
        for name, least in (("beam", 1), ("batch_tokens", 1), ("draft_tokens", 0)):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int) and value >= least):
                raise DataError(f"{name}: expected a number from {least} up, found {value!r}")
        if self.beam > 1 and (self.keep_arcs or self.probabilities):
            raise DataError("beam search supports neither given arcs nor probabilities")

    def resolve(self, model: DecodeConfig) -> DecodeConfig:
        """The model's settings, with the changes that these options make."""
        reencode = self.reencode
        if isinstance(reencode, str):
            reencode = EXACT if reencode == "exact" else model.adaptive
        asked = {"reencode": reencode, "batch_tokens": self.batch_tokens, "draft_tokens": self.draft_tokens}
        return model.model_copy(update={name: value for name, value in asked.items() if value is not None})


def read_reencode(value: float | str) -> Reencode:
    """Check a threshold: `exact`, `adaptive`, or a number from 0 up, which may be a string."""
    if value == "exact":
        return "exact"
    if value == "adaptive":
        return "adaptive"
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not number >= 0:
        raise DataError(f"reencode: expected exact, adaptive or a number from 0 up, found {value}")
    return number


def _tag_source(value: str | bool) -> TagSource:
    """The source of this name; True and False, which older programs give, mean `keep` and `none`."""
    if isinstance(value, bool):
        return TagSource.KEEP if value else TagSource.NONE
    try:
        return TagSource(value)
    except ValueError:
        raise DataError(f"tags: expected {', '.join(TagSource)}, found {value}") from None
