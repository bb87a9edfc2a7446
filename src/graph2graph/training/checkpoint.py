"""Checkpoints: written whole or not at all, checked when read, with nothing executable in them.

A checkpoint is one safetensors file: weights and the optimiser's moments as tensors; in its header the progress, as JSON, and a
checksum. No random state is saved: it follows from the seed and the step. The last two are kept; if the newest cannot be read,
the one before it is used, with a warning.
"""

import json
import warnings
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_safetensors
from torch import Tensor, nn

from graph2graph.errors import DataError
from graph2graph.files import errors_naming, write_bytes

DIRECTORY = "checkpoints"  # in that of the run
KEPT = 2
MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # AdamW's state of a parameter
_PATTERN = "step-*.safetensors"
_UNREADABLE = (OSError, SafetensorError, KeyError, ValueError)


def save(
    directory: Path, step: int, model: nn.Module, optimiser: torch.optim.Optimizer, progress: dict[str, Any]
) -> None:
    """Write the checkpoint of this step and delete those before the last two."""
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    for parameter, state in optimiser.state.items():
        for key, value in state.items():
            tensors[f"optimiser.{key}.{names[id(parameter)]}"] = value
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    header = {"progress": json.dumps(progress), "checksum": _checksum(tensors)}
    path = directory / f"step-{step:09}.safetensors"
    try:
        write_bytes(path, to_safetensors(tensors, metadata=header))
    except DataError as error:
        raise DataError(f"{error}; the checkpoint cannot be written, --resume goes on from the one before") from error
    with errors_naming(directory):
        for old in sorted(directory.glob(_PATTERN))[:-KEPT]:
            old.unlink(missing_ok=True)


def load(directory: Path) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """Tensors and progress of the newest checkpoint that can be read, or None if there is none."""
    for path in sorted(directory.glob(_PATTERN), reverse=True):
        try:
            with safe_open(path, framework="pt") as file:
                header = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
            if header.get("checksum") != _checksum(tensors):
                raise SafetensorError("checksum does not match")
            return tensors, json.loads(header["progress"])
        except _UNREADABLE as error:
            reason = getattr(error, "strerror", None) or str(error)
            warnings.warn(f"{path}: not a whole checkpoint ({reason}); using the one before", stacklevel=2)
    return None


def progress_of(directory: Path) -> dict[str, Any] | None:
    """The progress in the newest readable checkpoint, or None; tensors are not read."""
    for path in sorted(directory.glob(_PATTERN), reverse=True):
        with suppress(*_UNREADABLE), safe_open(path, framework="np") as file:
            return dict(json.loads((file.metadata() or {})["progress"]))
    return None


def restore(tensors: dict[str, Tensor], model: nn.Module, optimiser: torch.optim.Optimizer) -> None:
    """Put weights and moments back."""
    prefix = "model."
    model.load_state_dict({key.removeprefix(prefix): tensors[key] for key in tensors if key.startswith(prefix)})
    for name, parameter in model.named_parameters():
        saved = {key: tensors.get(f"optimiser.{key}.{name}") for key in MOMENTS}
        state = {key: value.to(parameter.device) for key, value in saved.items() if value is not None}
        if state:
            optimiser.state[parameter] = state


def _checksum(tensors: dict[str, Tensor]) -> str:
    total = 0
    for name in sorted(tensors):
        content = tensors[name].reshape(-1).view(torch.uint8).numpy().data
        total = zlib.crc32(content, zlib.crc32(name.encode(), total))
    return f"{total:08x}"
