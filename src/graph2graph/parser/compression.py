"""Weights stored in 8 bits: half the size of half precision on disk, fp32 once they are loaded.

    NAME        int8, [rows, columns], from -127 to 127
    NAME.scale  fp32, [rows]: row r of the weight is NAME[r] · NAME.scale[r]

A row is what one output of a linear layer reads, or one word piece. Only large matrices are stored like that. Everything else
(norms, biases, relation and label embeddings, the last layers of the classifiers) takes little room and has half precision.
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
            if scale is None or scale.shape != integers.shape[:1] or integers.ndim != 2:
                raise DataError(f"{source}: {name} has 8 bits, but {name}{SCALE} does not have a number for each row")
            weights[name] = integers.float().mul_(scale.float()[:, None])
    return {name: weight.float() for name, weight in weights.items()}


def rounded(weight: Tensor) -> tuple[Tensor, Tensor]:
    """The integers nearest to a matrix, [rows, columns], and the scale of each row, which makes its largest number 127."""
    scale = weight.abs().amax(dim=1).clamp(min=1e-12) / LEVELS
    return (weight / scale[:, None]).round().to(torch.int8), scale
