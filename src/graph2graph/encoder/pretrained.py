"""Reads encoders from Hugging Face directories: configuration and weights of BERT, RoBERTa / XLM-R, DistilBERT, ELECTRA, MPNet.

All names of checkpoint keys are in this file. A directory has config.json and model.safetensors (or shards of it, or an old
pytorch_model.bin); `pieces.py` reads its tokeniser.
"""

import math
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from graph2graph.config import EncoderConfig
from graph2graph.encoder.encoder import GraphEncoder
from graph2graph.errors import DataError, first_line
from graph2graph.files import read_json

ARCHITECTURES = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra", "mpnet")

_EMBEDDINGS = {  # theirs, without the prefix of the model: ours
    "embeddings.word_embeddings.weight": "words.weight",
    "embeddings.position_embeddings.weight": "positions.weight",
    "embeddings.token_type_embeddings.weight": "segments.weight",
    "embeddings.LayerNorm": "norm",
    "embeddings_project": "widen",
    "encoder.relative_attention_bias.weight": "position_bias.weight",
}
_LAYER_NAMES = {  # ours: theirs in BERT, DistilBERT and MPNet
    "attention.q": ("attention.self.query", "attention.q_lin", "attention.attn.q"),
    "attention.k": ("attention.self.key", "attention.k_lin", "attention.attn.k"),
    "attention.v": ("attention.self.value", "attention.v_lin", "attention.attn.v"),
    "attention.output": ("attention.output.dense", "attention.out_lin", "attention.attn.o"),
    "attention_norm": ("attention.output.LayerNorm", "sa_layer_norm", "attention.LayerNorm"),
    "inner": ("intermediate.dense", "ffn.lin1", "intermediate.dense"),
    "outer": ("output.dense", "ffn.lin2", "output.dense"),
    "outer_norm": ("output.LayerNorm", "output_layer_norm", "output.LayerNorm"),
}
_LAYER = {name: ours for ours, theirs in _LAYER_NAMES.items() for name in theirs}
_LAYER_KEY = re.compile(r"(?:encoder|transformer)\.layer\.(\d+)\.(.+)\.(weight|bias)")
_PREFIX = re.compile(r"^(bert|roberta|distilbert|electra|mpnet)\.")

_SETTINGS: dict[str, tuple[str, str, Any]] = {  # ours: theirs in config.json, in DistilBERT's, and the default
    "vocab_size": ("vocab_size", "vocab_size", None),
    "width": ("hidden_size", "dim", None),
    "layers": ("num_hidden_layers", "n_layers", None),
    "heads": ("num_attention_heads", "n_heads", None),
    "inner_width": ("intermediate_size", "hidden_dim", None),
    "activation": ("hidden_act", "activation", "gelu"),
    "dropout": ("hidden_dropout_prob", "dropout", 0.1),
    "attention_dropout": ("attention_probs_dropout_prob", "attention_dropout", 0.1),
    "layer_norm_eps": ("layer_norm_eps", "layer_norm_eps", 1e-12),
}

LARGEST = 1e5  # absolute value of a weight; trained ones are below 1,000
_HUB_FILES = ["config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "model*.safetensors*"]
_OLD_FILES = "pytorch_model*.bin"


def find(name: str | os.PathLike[str]) -> Path:
    """The directory of an encoder: a local one, or a download from the Hugging Face hub, which is cached."""
    path, text = Path(name).expanduser(), str(name)
    if path.is_dir():
        return path
    # A name on the hub is "model" or "owner/model"; anything else is a path that does not exist.
    if path.exists() or text.startswith((".", "/", "~")) or text.count("/") > 1:
        raise DataError(f"{name}: not a directory; expected one with config.json and model.safetensors")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise DataError(f"{name}: no such directory; names on the hub need pip install 'graph2graph[hub]'") from error
    try:
        found = Path(snapshot_download(text, allow_patterns=_HUB_FILES))
        if not any(found.glob("model*.safetensors")):
            found = Path(snapshot_download(text, allow_patterns=[*_HUB_FILES, _OLD_FILES]))
    except Exception as error:  # of any kind, from the hub or the network
        raise DataError(f"{name}: no such directory, and the hub does not have it: {first_line(error)}") from error
    return found


def read_config(directory: Path) -> EncoderConfig:
    """The shape of the encoder in a directory."""
    path = directory / "config.json"
    theirs = _read_theirs(path)
    kind = theirs["model_type"]
    values: dict[str, Any] = {}
    for ours, (usual, of_distilbert, default) in _SETTINGS.items():
        name = of_distilbert if kind == "distilbert" else usual
        if name not in theirs and default is None:
            raise DataError(f"{path}: key {name!r} is missing")
        values[ours] = theirs.get(name, default)
    positions = theirs.get("max_position_embeddings", 512)
    values["max_positions"] = positions - _position_offset(theirs) if isinstance(positions, int) else positions
    values["n_segments"] = 0 if kind in ("distilbert", "mpnet") else theirs.get("type_vocab_size", 2)
    if kind == "electra":
        values["embedding_width"] = theirs.get("embedding_size", 128)
    if kind == "mpnet":
        values["position_buckets"] = theirs.get("relative_attention_num_buckets", 32)
    return EncoderConfig.parse(values, str(path))


def load(directory: Path, config: EncoderConfig) -> GraphEncoder:
    """An encoder of this shape with the embeddings and the first layers of a directory.

    Parameters that the pretrained model lacks (relations, further segments) keep their small initial values.
    """
    available = read_config(directory)
    if config.layers > available.layers:
        raise DataError(f"{directory}: {config.layers} layers asked for; it has {available.layers}")
    stored = _read(directory)
    check_size(config, sum(weight.numel() for weight in stored.values()), directory)
    weights = _translated(stored, _position_offset(_read_theirs(directory / "config.json")))
    encoder = GraphEncoder(config)
    if not available.n_segments:
        weights["segments.weight"] = torch.zeros(0, config.input_width)
    for name, ours in _targets(encoder).items():
        if name not in weights:
            raise DataError(f"{directory}: no weights for {name}")
        theirs = weights[name]
        if name == "segments.weight":  # the segments that both have
            ours, theirs = ours[: len(theirs)], theirs[: len(ours)]
        if theirs.shape != ours.shape:
            raise DataError(f"{directory}: {name} has shape {list(theirs.shape)}; expected {list(ours.shape)}")
        ours.copy_(checked(theirs, f"{directory}: {name}"))
    return encoder


def check_size(config: EncoderConfig, n_stored: int, source: Path) -> None:
    """Refuse the settings of an encoder that has more parameters than were stored; `source` names them in the error."""
    least = config.vocab_size * config.input_width
    least += config.layers * config.width * (4 * config.width + 2 * config.inner_width)
    if least > n_stored:
        raise DataError(f"{source}: an encoder of at least {least:,} parameters; only {n_stored:,} are stored")


def checked(weight: Tensor, name: str) -> Tensor:
    """The weight in fp32; refuse values that are no numbers, infinite, or so large that parsing would make them so."""
    if not weight.is_floating_point():
        raise DataError(f"{name}: expected floating-point numbers, found {str(weight.dtype).removeprefix('torch.')}")
    weight = weight.float()
    if weight.numel():
        for extreme in torch.aminmax(weight):  # a value that is no number is both
            if not abs(float(extreme)) <= LARGEST:
                raise DataError(
                    f"{name}: a value of {float(extreme):g}; expected at most {LARGEST:g}: training diverged"
                )
    return weight


def _targets(encoder: GraphEncoder) -> dict[str, Tensor]:
    """The parameters to copy pretrained weights to, by name: all but relations, with query, key and value separate."""
    targets: dict[str, Tensor] = {}
    for name, parameter in encoder.state_dict().items():
        if ".qkv." in name:
            targets |= {name.replace("qkv", part): third for part, third in zip("qkv", parameter.chunk(3))}
        elif ".relation_" not in name:
            targets[name] = parameter
    return targets


def _translated(weights: dict[str, Tensor], position_offset: int) -> dict[str, Tensor]:
    """Their weights under our names, without prediction heads and the like."""
    ours: dict[str, Tensor] = {}
    for key, tensor in weights.items():
        # the first BERT checkpoints have gamma and beta
        key = _PREFIX.sub("", key).replace(".gamma", ".weight").replace(".beta", ".bias")
        stem, _, kind = key.rpartition(".")
        if key in _EMBEDDINGS:
            ours[_EMBEDDINGS[key]] = tensor
        elif stem in _EMBEDDINGS:
            ours[f"{_EMBEDDINGS[stem]}.{kind}"] = tensor
        elif (match := _LAYER_KEY.fullmatch(key)) and match[2] in _LAYER:
            ours[f"layers.{match[1]}.{_LAYER[match[2]]}.{kind}"] = tensor
    if "positions.weight" in ours:
        ours["positions.weight"] = ours["positions.weight"][position_offset:]
    return ours


def _position_offset(theirs: Mapping[str, Any]) -> int:
    """The row of position 0: RoBERTa and MPNet count positions from the one after their padding id."""
    padding = theirs.get("pad_token_id")
    if theirs["model_type"] == "mpnet" or padding is None:
        padding = 1
    return padding + 1 if theirs["model_type"] in ("roberta", "xlm-roberta", "camembert", "mpnet") else 0


def _read_theirs(path: Path) -> dict[str, Any]:
    """config.json, if it is of a supported architecture."""
    theirs = read_json(path)
    kind = theirs.get("model_type") if isinstance(theirs, dict) else None
    if kind not in ARCHITECTURES:
        raise DataError(f"{path}: model_type {kind!r} is not supported; expected one of {', '.join(ARCHITECTURES)}")
    if theirs.get("position_embedding_type", "absolute") != "absolute":
        raise DataError(f"{path}: position_embedding_type {theirs['position_embedding_type']!r} is not supported")
    return dict(theirs)


def _read(directory: Path) -> dict[str, Tensor]:
    """All weights of a directory: one file, its shards, or old .bin files."""
    whole, index = directory / "model.safetensors", directory / "model.safetensors.index.json"
    weights: dict[str, Tensor] = {}
    if whole.exists():
        return read_safetensors(whole)
    if index.exists():
        for shard in sorted(set(read_json(index).get("weight_map", {}).values())):
            weights |= read_safetensors(directory / shard)
        return weights
    for old in sorted(directory.glob(_OLD_FILES)):
        warnings.warn(f"{old}: an old format; nothing in it was run, but safetensors is safer", stacklevel=3)
        try:
            weights |= torch.load(old, map_location="cpu", weights_only=True)
        except Exception as error:  # torch raises many kinds for a broken file
            raise DataError(f"{old}: cannot be read: {first_line(error)}") from error
    if not weights:
        raise DataError(f"{directory}: no weights; expected model.safetensors")
    return weights


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """All tensors of a file."""
    with _opened(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict


def n_values(path: Path) -> int:
    """The number of values in all tensors of a file, from its header."""
    with _opened(path) as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118 - not a dict


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """An open file of tensors. The library refuses headers over 100 MB, and tensors that overlap or leave the file."""
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file") from error
    except (SafetensorError, OSError) as error:
        raise DataError(f"{path}: broken or truncated: {error}") from error
