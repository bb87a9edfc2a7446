"""A model on disk: a directory of plain files, none of them executable.

    config.json        all settings, with the number of their format (see migration.py)
    labels.json        the labels and tags
    tokenizer.json     the word pieces, as Hugging Face tokenizers write them
    model.safetensors  the weights, in fp32, half precision or 8 bits (see compression.py)
    README.md          the model card, which training writes
    text.udpipe        the text model, if there is one

Reading checks each file and names it in the error. Writing replaces each file in one step.
"""

from pathlib import Path
from typing import NamedTuple

from safetensors.torch import save
from torch import Tensor

from graph2graph.config import Config
from graph2graph.encoder import pretrained
from graph2graph.encoder.pieces import Pieces
from graph2graph.errors import DataError
from graph2graph.files import FilePath, read_json, write_bytes, write_json, write_text
from graph2graph.models.parser_model import ParserModel, encoder_config
from graph2graph.parser import catalogue
from graph2graph.parser.compression import compressed, expanded
from graph2graph.parser.migration import dump_config, parse_config
from graph2graph.parser.vocabulary import Vocabulary

CONFIG, LABELS, TOKENIZER, WEIGHTS = catalogue.REQUIRED


class Settings(NamedTuple):
    """All of a model but its weights."""

    config: Config
    vocabulary: Vocabulary
    pieces: Pieces


def read_config(directory: Path) -> Config:
    """The settings in a model directory, migrated if an older release wrote them."""
    path = directory / CONFIG
    return parse_config(read_json(path), str(path))


def read_settings(directory: FilePath) -> Settings:
    """Everything in a model directory but the weights."""
    path = Path(directory)
    if not path.is_dir():
        raise DataError(f"{path}: no such model directory")
    config, vocabulary = read_config(path), Vocabulary.read(path / LABELS)
    encoder = config.model.encoder
    if encoder != encoder_config(config.model, encoder, len(vocabulary.labels)):
        raise DataError(
            f"{path / CONFIG}: model.encoder: its relations or segments are not those that this model needs"
        )
    pieces = Pieces.read(path, max_pieces=config.data.max_pieces)
    if pieces.n_ids > encoder.vocab_size:
        raise DataError(
            f"{path / TOKENIZER}: {pieces.n_ids} pieces, of which the model knows only {encoder.vocab_size}"
        )
    return Settings(config, vocabulary, pieces)


def write_settings(directory: FilePath, settings: Settings) -> None:
    """Write everything but the weights."""
    path = Path(directory)
    write_json(path / CONFIG, dump_config(settings.config))
    write_json(path / LABELS, settings.vocabulary.to_json())
    write_text(path / TOKENIZER, settings.pieces.tokenizer.to_str())


def check_size(directory: FilePath, config: Config) -> None:
    """Refuse settings of a larger model than its file of weights can hold, before anything of that size is built."""
    path = Path(directory) / WEIGHTS
    pretrained.check_size(config.model.encoder, pretrained.n_values(path), path.with_name(CONFIG))


def read_weights(directory: FilePath, model: ParserModel) -> dict[str, Tensor]:
    """The weights in a model directory, in fp32; refuse weights that this model lacks, missing ones and invalid values."""
    path = Path(directory) / WEIGHTS
    weights, expected = expanded(pretrained.read_safetensors(path), str(path)), model.state_dict()
    for name, parameter in expected.items():
        if name not in weights:
            raise DataError(f"{path}: {name} is missing")
        if weights[name].shape != parameter.shape:
            raise DataError(f"{path}: {name} has shape {list(weights[name].shape)}; expected {list(parameter.shape)}")
    if unknown := sorted(weights.keys() - expected.keys()):
        raise DataError(f"{path}: {unknown[0]} is not a weight of this model; {CONFIG} describes another one")
    return {name: pretrained.checked(weight, f"{path}: {name}") for name, weight in weights.items()}


def write_weights(directory: FilePath, model: ParserModel, *, half: bool = False) -> None:
    """Write the weights; with `half` in half precision."""
    _write(directory, {name: weight.half() if half else weight for name, weight in model.state_dict().items()})


def write_compressed(directory: FilePath, model: ParserModel) -> None:
    """Write the weights in 8 bits."""
    _write(directory, compressed(model.state_dict()))


def _write(directory: FilePath, weights: dict[str, Tensor]) -> None:
    content = save({name: weight.detach().cpu().contiguous() for name, weight in weights.items()})
    write_bytes(Path(directory) / WEIGHTS, content)
