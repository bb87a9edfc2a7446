"""Checkpoints: complete, atomic, checked when read; nothing executable in them.

A checkpoint is one safetensors file: weights and the optimiser's moments as tensors, everything else as JSON in its header,
with a checksum of the tensors. Random numbers need no place in it: they follow from the seed and the step. It appears under its
name only when it has reached the disk. The last two are kept; one that cannot be read is passed over for the one before, with
a warning.
"""

import json
import os
import warnings
import zlib
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from graph2graph.errors import DataError

KEPT = 2
_PATTERN = "step-*.safetensors"


def save(
    directory: Path,
    step: int,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    progress: dict[str, Any],
) -> None:
    """Write the checkpoint of this step and drop those older than the last two."""
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    for parameter, state in optimiser.state.items():
        for key, value in state.items():
            tensors[f"optimiser.{key}.{names[id(parameter)]}"] = value
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    header = {"progress": json.dumps(progress), "checksum": _checksum(tensors)}
    directory.mkdir(parents=True, exist_ok=True)
    for left_over in directory.glob("*.part"):
        left_over.unlink(missing_ok=True)
    path = directory / f"step-{step:09}.safetensors"
    part = path.with_suffix(".part")
    try:
        save_file(tensors, part, metadata=header)
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(part, path)
    except (OSError, SafetensorError) as error:
        part.unlink(missing_ok=True)
        raise DataError(f"{path}: the checkpoint cannot be written: {_reason(error)}") from error
    for old in sorted(directory.glob(_PATTERN))[:-KEPT]:
        old.unlink(missing_ok=True)


def load(directory: Path) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """Tensors and progress of the newest checkpoint that can be read, or None when there is none."""
    for path in sorted(directory.glob(_PATTERN), reverse=True):
        try:
            with safe_open(path, framework="pt") as file:
                header = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
            if header.get("checksum") != _checksum(tensors):
                raise SafetensorError("checksum does not match")
            return tensors, json.loads(header["progress"])
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            warnings.warn(f"{path}: not a whole checkpoint ({_reason(error)}); using the one before", stacklevel=2)
    return None


def progress_of(directory: Path) -> dict[str, Any] | None:
    """The progress in the newest checkpoint, looked at from outside: its tensors are not read."""
    for path in sorted(directory.glob(_PATTERN), reverse=True):
        try:
            with safe_open(path, framework="np") as file:
                found: dict[str, Any] = json.loads((file.metadata() or {})["progress"])
                return found
        except (OSError, SafetensorError, KeyError, ValueError):
            continue
    return None


def restore(tensors: dict[str, Tensor], model: nn.Module, optimiser: torch.optim.Optimizer) -> None:
    """Put weights and moments back."""
    model.load_state_dict({name[6:]: tensor for name, tensor in tensors.items() if name.startswith("model.")})
    for name, parameter in model.named_parameters():
        state = {}
        for key in ("step", "exp_avg", "exp_avg_sq"):
            value = tensors.get(f"optimiser.{key}.{name}")
            if value is not None:
                state[key] = value if key == "step" else value.to(parameter.device)
        if state:
            optimiser.state[parameter] = state


def _checksum(tensors: dict[str, Tensor]) -> str:
    total = 0
    for name in sorted(tensors):
        total = zlib.crc32(_bytes(tensors[name]), zlib.crc32(name.encode(), total))
    return f"{total:08x}"


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _bytes(tensor: Tensor) -> memoryview:
    return tensor.reshape(-1).view(torch.uint8).numpy().data
