"""The precision of a model: the number format of its encoder, which one `auto` means, and how an encoder is prepared for it."""

import math
import os
from typing import Any, Literal, get_args

import torch
from torch import nn

from graph2graph.config import Precision
from graph2graph.encoder import cpu, probe
from graph2graph.encoder.encoder import GraphEncoder
from graph2graph.encoder.packed import Int8Linear, NarrowLinear, PackedLinear
from graph2graph.errors import DataError

VARIABLE = "G2G_PRECISION"  # what `auto` means; with it, nothing is tried
FEW_OUTPUTS = 8  # of a layer that is not packed
# `auto` takes a precision only if it is this many times as fast as the ones before, which are more accurate
GAINS = {"parse": {"bf16": 1.1, "int8": 1.15}, "train": {"bf16": 1.1}}
ENOUGH_FLAGS = {  # with none of these flags a precision cannot gain anything, and is not tried for `auto`
    "parse": {"avx512_bf16", "amx_bf16", "avx2", *cpu.INTEGER_PRODUCTS},
    "train": {"avx512_bf16", "amx_bf16"},
}


def resolve(asked: Precision, work: Literal["parse", "train"] = "parse") -> Precision:
    """The precision to compute in: what is asked for, if it works on this machine, or for `auto` the best one that works."""
    if asked == "auto" and (forced := os.environ.get(VARIABLE)):
        if forced not in get_args(Precision):
            raise DataError(f"{VARIABLE}: expected {', '.join(get_args(Precision))}, found {forced}")
        return "fp32" if (work, forced) == ("train", "int8") else forced  # type: ignore[return-value]
    if asked == "fp32" or (asked == "auto" and not cpu.flags() & ENOUGH_FLAGS[work]):
        return "fp32"
    if asked == "auto":
        return _best(work)
    if not any(trial.works for trial in probe.trials() if (trial.work, trial.precision) == (work, asked)):
        raise DataError(f"{asked} does not work on this CPU ({cpu.name()}), as a trial showed; use fp32 or auto")
    return asked


def _best(work: str) -> Precision:
    """The fastest precision that works; a less accurate one has to be clearly faster."""
    seconds = {trial.precision: trial.seconds for trial in probe.trials() if trial.work == work and trial.works}
    best: Precision = "fp32"
    for precision, gain in GAINS[work].items():
        if best in seconds and seconds.get(precision, math.inf) * gain < seconds[best]:
            best = precision  # type: ignore[assignment]
    return best


def prepare(encoder: GraphEncoder, precision: Precision, *others: nn.Module) -> None:
    """Prepare an encoder in place for parsing in a resolved precision, others in fp32; afterwards none can be trained.

    Linear layers are in that precision; softmax, LayerNorm and what is added up from layer to layer are in fp32. The
    attention of a row gets a shape that depends on its length alone, so its vectors do not depend on its batch.
    """
    if encoder.words.weight.device.type != "cpu":
        if precision != "fp32":
            raise DataError(f"{precision} is for CPUs")
        return
    encoder.has_fixed_shapes = True
    layer: Any
    try:
        for layer in encoder.layers:
            _prepare_inner(layer, precision, encoder.config.activation)
            if encoder.config.relations:
                layer.attention.fixed = tuple(table.detach() for table in layer.attention.differences())
            if precision == "int8" and not cpu.multiplies_integers():
                layer.outer = PackedLinear(layer.outer)  # with weights of 7 bits, this one costs accuracy
        _pack(encoder.layers, precision)
        for module in others:
            _narrow(module)
            _pack(module, "fp32")
    except (AttributeError, NotImplementedError, RuntimeError) as error:
        if precision != "fp32":  # which does without
            raise DataError(f"{precision} needs oneDNN, absent from this build of torch; use fp32") from error


def _pack(module: nn.Module, precision: Precision) -> None:
    """Pack the linear layers in a module."""
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Linear):
                parent.add_module(
                    name, Int8Linear(child) if precision == "int8" else PackedLinear(child, _dtype(precision))
                )


def _narrow(module: nn.Module) -> None:
    """Replace the layers with few outputs."""
    for name, child in list(module.named_children()):
        if isinstance(child, nn.Linear) and child.out_features <= FEW_OUTPUTS and child.bias is not None:
            module.add_module(name, NarrowLinear(child))


def _prepare_inner(layer: Any, precision: Precision, activation: str) -> None:
    """Pack the first feed-forward layer together with its activation."""
    if precision != "int8":
        layer.inner = PackedLinear(layer.inner, _dtype(precision), activation=activation, out=_dtype(precision))
        layer.activation = nn.Identity()


def _dtype(precision: Precision) -> torch.dtype:
    return torch.bfloat16 if precision == "bf16" else torch.float32
