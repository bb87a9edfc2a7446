"""Hugging Face directories -> our encoder: configuration and weights of BERT, RoBERTa / XLM-R, DistilBERT, ELECTRA, MPNet.

All names of checkpoint keys stand in this file. A directory holds config.json and model.safetensors (or its shards, or an
old pytorch_model.bin); the tokeniser beside them is read by `pieces.py`.
"""

import os
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from graph2graph.config import EncoderConfig, read_json
from graph2graph.encoder import GraphEncoder
from graph2graph.errors import DataError

ARCHITECTURES = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra", "mpnet")

# Theirs -> ours, once the model's own prefix ("bert.", "roberta.", …) is gone.
_EMBEDDINGS = {
    "embeddings.word_embeddings.weight": "words.weight",
    "embeddings.position_embeddings.weight": "positions.weight",
    "embeddings.token_type_embeddings.weight": "segments.weight",
    "embeddings.LayerNorm": "norm",
    "embeddings_project": "widen",
    "encoder.relative_attention_bias.weight": "position_bias.weight",
}
_BERT_LAYER = {
    "attention.self.query": "attention.q",
    "attention.self.key": "attention.k",
    "attention.self.value": "attention.v",
    "attention.output.dense": "attention.output",
    "attention.output.LayerNorm": "attention_norm",
    "intermediate.dense": "inner",
    "output.dense": "outer",
    "output.LayerNorm": "outer_norm",
}
_DISTILBERT_LAYER = {
    "attention.q_lin": "attention.q",
    "attention.k_lin": "attention.k",
    "attention.v_lin": "attention.v",
    "attention.out_lin": "attention.output",
    "sa_layer_norm": "attention_norm",
    "ffn.lin1": "inner",
    "ffn.lin2": "outer",
    "output_layer_norm": "outer_norm",
}
_MPNET_LAYER = {
    "attention.attn.q": "attention.q",
    "attention.attn.k": "attention.k",
    "attention.attn.v": "attention.v",
    "attention.attn.o": "attention.output",
    "attention.LayerNorm": "attention_norm",
    "intermediate.dense": "inner",
    "output.dense": "outer",
    "output.LayerNorm": "outer_norm",
}
_KEY = re.compile(r"(?:encoder|transformer)\.layer\.(\d+)\.(.+)\.(weight|bias)")


def find(name: str | os.PathLike[str]) -> Path:
    """The directory of an encoder: a local path as it is, else a name on the Hugging Face hub, downloaded once."""
    path = Path(name)
    if path.is_dir():
        return path
    if path.exists() or os.sep in str(name).strip(os.sep).replace("/", os.sep, 1).replace(os.sep, "", 1):
        raise DataError(f"{name}: not a directory; expected config.json and model.safetensors in it")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise DataError(f"{name}: no such directory; names on the hub need pip install 'graph2graph[hub]'") from error
    wanted = ["config.json", "tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "*.safetensors*"]
    try:
        return Path(snapshot_download(str(name), allow_patterns=wanted))
    except Exception as error:  # whatever the hub or the network says, the user needs one line
        raise DataError(
            f"{name}: no such directory, and not to be had from the hub: {str(error).splitlines()[0]}"
        ) from error


def read_config(directory: Path) -> EncoderConfig:
    """The shape of the encoder in a directory."""
    path = directory / "config.json"
    theirs = read_json(path)
    kind = theirs.get("model_type") if isinstance(theirs, dict) else None
    if kind not in ARCHITECTURES:
        raise DataError(f"{path}: model_type {kind!r} is not supported; expected one of {', '.join(ARCHITECTURES)}")
    if theirs.get("position_embedding_type", "absolute") != "absolute":
        raise DataError(f"{path}: position_embedding_type {theirs['position_embedding_type']!r} is not supported")
    # DistilBERT has names of its own.
    names = {"width": "dim", "layers": "n_layers", "heads": "n_heads", "inner_width": "hidden_dim"}
    activation, dropout, attention_dropout = "activation", "dropout", "attention_dropout"
    if kind != "distilbert":
        names = {
            "width": "hidden_size",
            "layers": "num_hidden_layers",
            "heads": "num_attention_heads",
            "inner_width": "intermediate_size",
        }
        activation, dropout, attention_dropout = "hidden_act", "hidden_dropout_prob", "attention_probs_dropout_prob"
    try:
        values: dict[str, Any] = {ours: theirs[name] for ours, name in names.items()}
        values["vocab_size"] = theirs["vocab_size"]
        values["max_positions"] = theirs.get("max_position_embeddings", 512) - _position_offset(theirs)
        values["embedding_width"] = theirs.get("embedding_size") if kind == "electra" else None
    except KeyError as error:
        raise DataError(f"{path}: key {error.args[0]!r} is missing") from error
    segments = {"distilbert": 0, "mpnet": 0}.get(kind, theirs.get("type_vocab_size", 2))
    try:
        return EncoderConfig(
            **values,
            n_segments=segments,
            position_buckets=theirs.get("relative_attention_num_buckets", 32) if kind == "mpnet" else 0,
            layer_norm_eps=theirs.get("layer_norm_eps", 1e-12),
            activation=theirs.get(activation, "gelu"),
            dropout=theirs.get(dropout, 0.1),
            attention_dropout=theirs.get(attention_dropout, 0.1),
        )
    except ValueError as error:
        raise DataError(
            f"{path}: {str(error).splitlines()[2].strip() if len(str(error).splitlines()) > 2 else error}"
        ) from error


def load(directory: Path, config: EncoderConfig) -> GraphEncoder:
    """An encoder of this shape that starts from the weights in a directory: its first layers, its embeddings.

    What the pretrained model has not (relations, further segments) starts small.
    """
    encoder = GraphEncoder(config)
    weights = _translated(_read(directory), _position_offset(read_json(directory / "config.json")))
    for name, ours in encoder.state_dict().items():
        if ".relation_" in name or (name == "segments.weight" and name not in weights):
            continue
        if name not in weights:
            raise DataError(f"{directory}: no weights for {name}; does it have {config.layers} layers?")
        theirs = weights[name]
        if name == "segments.weight" and len(theirs) != len(ours):
            n_rows = min(len(theirs), len(ours))
            ours[:n_rows] = theirs[:n_rows]
        elif theirs.shape != ours.shape:
            raise DataError(f"{directory}: {name} has shape {list(theirs.shape)}; expected {list(ours.shape)}")
        else:
            ours.copy_(theirs)
    return encoder


def _position_offset(theirs: Mapping[str, Any]) -> int:
    """RoBERTa and MPNet count positions from the one after their padding id; ours always from 0."""
    offset = theirs.get("pad_token_id", 1) + 1
    return offset if theirs["model_type"] in ("roberta", "xlm-roberta", "camembert", "mpnet") else 0


def _read(directory: Path) -> dict[str, Tensor]:
    files = sorted(directory.glob("*.safetensors"))
    if (directory / "model.safetensors").exists():
        files = [directory / "model.safetensors"]
    weights: dict[str, Tensor] = {}
    for file in files:
        weights |= read_safetensors(file)
    if files:
        return weights
    old = directory / "pytorch_model.bin"
    if not old.exists():
        raise DataError(f"{directory}: no weights; expected model.safetensors")
    warnings.warn(f"{old}: an old format, read without running anything in it; safetensors is safer", stacklevel=3)
    try:
        state: dict[str, Tensor] = torch.load(old, map_location="cpu", weights_only=True)
    except Exception as error:  # the reader raises many kinds, all meaning that the file is not what it should be
        raise DataError(f"{old}: cannot be read: {str(error).splitlines()[0]}") from error
    return state


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """All tensors of a file, or a clear error."""
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file") from error
    except (SafetensorError, OSError) as error:
        raise DataError(f"{path}: broken or truncated: {error}") from error


def _translated(weights: dict[str, Tensor], position_offset: int) -> dict[str, Tensor]:
    """Their weights under our names, query, key and value of a layer joined."""
    ours: dict[str, Tensor] = {}
    parts: dict[str, Tensor] = {}
    prefix = re.compile(r"^(bert|roberta|distilbert|electra|mpnet|camembert)\.")
    layer_names = _BERT_LAYER | _DISTILBERT_LAYER | _MPNET_LAYER
    for key, tensor in weights.items():
        key = (
            prefix.sub("", key)
            .replace("LayerNorm.gamma", "LayerNorm.weight")
            .replace("LayerNorm.beta", "LayerNorm.bias")
        )
        stem, _, kind = key.rpartition(".")
        if key in _EMBEDDINGS:
            ours[_EMBEDDINGS[key]] = tensor
        elif stem in _EMBEDDINGS:
            ours[f"{_EMBEDDINGS[stem]}.{kind}"] = tensor
        elif (match := _KEY.fullmatch(key)) and match[2] in layer_names:
            parts[f"layers.{match[1]}.{layer_names[match[2]]}.{kind}"] = tensor
    if "positions.weight" in ours:
        ours["positions.weight"] = ours["positions.weight"][position_offset:]
    for key, tensor in parts.items():
        if ".attention.q." in key:
            joined = [parts.get(key.replace(".attention.q.", f".attention.{part}.")) for part in "qkv"]
            if all(part is not None for part in joined):
                ours[key.replace(".attention.q.", ".attention.qkv.")] = torch.cat([p for p in joined if p is not None])
        elif ".attention.k." not in key and ".attention.v." not in key:
            ours[key] = tensor
    return ours
