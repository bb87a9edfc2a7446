"""The disk and the memory that a run needs."""

import shutil
from pathlib import Path

from graph2graph.config import Config
from graph2graph.errors import DataError
from graph2graph.models.parser_model import ParserModel
from graph2graph.training.checkpoint import KEPT


def check_resources(output: Path, model: ParserModel, config: Config) -> str:
    """Refuse to start on a disk that is too full; return what the run needs, in one line."""
    n_parameters = sum(parameter.numel() for parameter in model.parameters())
    checkpoint, weights = 3 * 4 * n_parameters, 4 * n_parameters  # a checkpoint has two moments beside each weight
    needed = (KEPT + 1) * checkpoint + 2 * weights  # old files go when the new ones are there
    free = shutil.disk_usage(_existing(output)).free
    if free < needed:
        raise DataError(f"{output}: {needed / 1e6:,.0f} MB of disk needed, {free / 1e6:,.0f} MB free")
    memory = peak_memory(n_parameters, config)
    return (
        f"{n_parameters / 1e6:.1f}M parameters; about {memory / 1e9:.1f} GB of memory, {needed / 1e6:,.0f} MB of disk"
    )


def peak_memory(n_parameters: int, config: Config) -> float:
    """About how many bytes a run needs: weights, gradients and moments, and what backpropagation keeps of a batch."""
    encoder = config.model.encoder
    kept_a_layer = 14 * encoder.width + 2 * encoder.inner_width + 3 * encoder.heads * 64
    return 4 * 4 * n_parameters + 4.0 * config.train.batch_pieces * encoder.layers * kept_a_layer * 1.3 + 4e8


def _existing(path: Path) -> Path:
    """The path or the nearest directory above it that exists."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path
