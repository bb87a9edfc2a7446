"""The precision of a training: decided when the run begins, and kept; where it does not work, the run goes on in fp32."""

from collections.abc import Callable
from typing import Literal

from graph2graph.encoder.precision import resolve
from graph2graph.errors import DataError

TrainingPrecision = Literal["fp32", "bf16"]


def named_precision(asked: Literal["auto", "fp32", "bf16"], device: str) -> TrainingPrecision:
    """The precision of a new run: for `auto` the one that pays on this CPU, and fp32 on a GPU."""
    if device != "cpu":
        return "bf16" if asked == "bf16" else "fp32"
    return "bf16" if resolve(asked, "train") == "bf16" else "fp32"


def working_precision(began: TrainingPrecision, device: str, note: Callable[[str], None]) -> TrainingPrecision:
    """What a run that began in this precision goes on in."""
    try:
        return named_precision(began, device)
    except DataError as error:
        note(f"note: this run began in {began}; it goes on in fp32: {error}")
        return "fp32"
