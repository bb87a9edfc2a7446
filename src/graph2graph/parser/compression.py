"""Weights stored in 8 bits: half the size of half precision on disk, fp32 once they are loaded.

    NAME        int8, [rows, columns], from -127 to 127
    NAME.scale  fp16, [rows, groups]: each group of columns has its own scale, by which its integers are multiplied

A row is what one output of a linear layer reads, or one word piece. With one scale a row, a few large weights would leave the
others few levels. Only large matrices are stored like that. Everything else (norms, biases, relation and label embeddings, the
last layers of the classifiers) takes little room and has half precision.
"""

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from graph2graph.errors import DataError

SCALE = ".scale"  # added to the name of a weight
LEVELS = 127
GROUP = 32  # columns that share a scale; the whole row, if it cannot be divided by that
LARGE = 2**16  # numbers in a matrix that is worth compressing
PRECISIONS = {"F32": "fp32", "F16": "fp16", "I8": "int8"}  # by their names in safetensors


class Stored(NamedTuple):
    """How a model's weights are stored."""

    n_parameters: int
    precision: str  # of most of them


def read_stored(path: Path) -> Stored:
    """How the weights in a file are stored, from its header."""
    sizes: Counter[str] = Counter()
    try:
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 - not a dict
                if not name.endswith(SCALE):
                    weight = file.get_slice(name)
                    sizes[weight.get_dtype()] += math.prod(weight.get_shape())
    except (SafetensorError, OSError) as error:
        raise DataError(f"{path}: no such file, or a broken one: {error}") from error
    most = max(sizes, key=sizes.__getitem__, default="F32")
    return Stored(sizes.total(), PRECISIONS.get(most, most))


def compressed(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors to store: large matrices in 8 bits, each with its scales, everything else in half precision."""
    stored: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if weight.ndim == 2 and weight.numel() >= LARGE:
            stored[name], stored[name + SCALE] = rounded(weight.float())
        else:
            stored[name] = weight.half()
    return stored


def expanded(stored: Mapping[str, Tensor], source: str) -> dict[str, Tensor]:
    """The weights that these tensors stand for, in fp32; `source` names their file in errors."""
    weights = {name: tensor for name, tensor in stored.items() if tensor.dtype != torch.int8}
    for name, integers in stored.items():
        if integers.dtype == torch.int8:
            scale = weights.pop(name + SCALE, None)
            if scale is None or not _fits(integers, scale):
                raise DataError(f"{source}: {name} has 8 bits, but {name}{SCALE} does not have its scales")
            weights[name] = (integers.reshape(*scale.shape, -1) * scale.float()[:, :, None]).flatten(1)
    return {name: weight.float() if weight.is_floating_point() else weight for name, weight in weights.items()}


def rounded(weight: Tensor, group: int = GROUP) -> tuple[Tensor, Tensor]:
    """The integers for a matrix, [rows, columns], and the scales, [rows, groups], which make a group's largest number 127."""
    rows, columns = weight.shape
    size = columns if columns % group else group
    grouped = weight.reshape(rows, columns // size, size)  # [rows, groups, columns of a group]
    scale = (grouped.abs().amax(dim=2) / LEVELS).half().clamp(min=torch.finfo(torch.half).tiny)
    integers = (grouped / scale.float()[:, :, None]).round().clamp(-LEVELS, LEVELS)
    return integers.flatten(1).to(torch.int8), scale


def _fits(integers: Tensor, scale: Tensor) -> bool:
    """Whether these are scales of a matrix: as many rows, and groups of equally many columns."""
    if integers.ndim != 2 or scale.ndim != 2 or len(integers) != len(scale) or not scale.shape[1]:
        return False
    return integers.shape[1] % scale.shape[1] == 0
