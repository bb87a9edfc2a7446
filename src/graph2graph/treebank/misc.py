"""The keys of the MISC column that become typed fields of a sentence: TokenRange, ArcP and LabelP.

MISC belongs to the file's author, so an invalid value (`ArcP=abc`, `TokenRange=9:3`) stays in the column and is absent from
the field.
"""

import re
from typing import NamedTuple

KEYS = ("TokenRange=", "ArcP=", "LabelP=")
DIGITS = 4  # of a probability
_SPAN = re.compile(r"([0-9]{1,15}):([0-9]{1,15})")


class Span(NamedTuple):
    """The offsets of a word in the raw text: `text[start:end]`."""

    start: int
    end: int


class ArcProbability(NamedTuple):
    """The probability of a word's arc, and of its label given the arc."""

    arc: float | None
    label: float | None


def pairs(cell: str) -> dict[str, str]:
    """The `Key=Value` pairs of a FEATS or MISC cell; without `=` the value is empty."""
    return {} if cell == "_" else dict(item.partition("=")[::2] for item in cell.split("|"))


def span_in(misc: str) -> Span | None:
    """The value of TokenRange."""
    match = _SPAN.fullmatch(pairs(misc).get("TokenRange", ""))
    span = Span(int(match[1]), int(match[2])) if match else None
    return span if span and span.start <= span.end else None


def probability_in(misc: str) -> ArcProbability | None:
    """The values of ArcP and LabelP."""
    values = pairs(misc)
    arc, label = (_probability(values.get(key, "")) for key in ("ArcP", "LabelP"))
    return None if arc is None and label is None else ArcProbability(arc, label)


def _probability(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None  # neither inf nor nan


def with_probability(misc: str, arc: float, label: float) -> str:
    """A MISC cell with these values of ArcP and LabelP instead of its own."""
    kept = [] if misc == "_" else [item for item in misc.split("|") if item.partition("=")[0] not in ("ArcP", "LabelP")]
    return "|".join([*kept, f"ArcP={arc:.{DIGITS}f}", f"LabelP={label:.{DIGITS}f}"])
