"""Model directories: those of older releases are loaded, and what is wrong with one is said in one line."""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from conftest import wild
from graph2graph.errors import DataError
from graph2graph.parser.parser import Parser
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence
from graph2graph.variants import VARIANTS

DATA = Path(__file__).parents[1] / "data"
FORMAT_1, TOY = DATA / "format1", DATA / "toy.conllu"


def model_of_15cd585(name: str, directory: Path) -> dict[str, Any]:
    """Write the model directory that commit 15cd585 wrote for a variant; return what else is known of it.

    The weights are made anew: random numbers, drawn for each weight in the order of the names.
    """
    known: dict[str, Any] = json.loads((FORMAT_1 / f"{name}.json").read_text())
    (directory / "config.json").write_text(json.dumps(known["config"]))
    for file in ("labels.json", "tokenizer.json"):
        shutil.copy(FORMAT_1 / file, directory)
    rng = np.random.default_rng(33)
    weights = {weight: rng.standard_normal(shape).astype(np.float32) for weight, shape in known["weights"].items()}
    save_file({weight: torch.from_numpy(values) for weight, values in weights.items()}, directory / "model.safetensors")
    return known


@pytest.mark.parametrize("name", VARIANTS)
def test_a_model_of_the_first_format_gives_the_same_trees(name: str, tmp_path: Path) -> None:
    known = model_of_15cd585(name, tmp_path)
    parser = Parser.load(tmp_path)
    parsed = list(parser.parse(conllu.read(TOY)))
    assert [sentence.heads for sentence in parsed] == known["heads"]
    assert [sentence.deprels for sentence in parsed] == known["deprels"]
    before = json.loads((tmp_path / "config.json").read_text())
    parser.save(tmp_path / "again")
    assert json.loads((tmp_path / "config.json").read_text()) == before
    again = Parser.load(tmp_path / "again")
    assert again.config == parser.config
    for file in ("labels.json", "tokenizer.json"):
        assert (tmp_path / "again" / file).read_bytes() == (tmp_path / file).read_bytes()
    weights = parser.model.state_dict()
    assert all(torch.equal(weight, weights[name]) for name, weight in again.model.state_dict().items())


def test_a_newer_model_is_refused(tmp_path: Path) -> None:
    model_of_15cd585("sent", tmp_path)
    (tmp_path / "config.json").write_text('{"format": 99, "release": "7.0.0"}')
    with pytest.raises(DataError, match=r"config\.json: format 99; .*: install graph2graph 7\.0\.0 or newer$"):
        Parser.load(tmp_path)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model directory as this release writes it."""
    directory = tmp_path_factory.mktemp("saved") / "model"
    wild("state-g2g-c", list(conllu.read(TOY))).save(directory)
    return directory


def _without(name: str) -> Callable[[Path], None]:
    return lambda model: (model / name).unlink()


def _truncated(model: Path) -> None:
    content = (model / "model.safetensors").read_bytes()
    (model / "model.safetensors").write_bytes(content[: len(content) // 2])


def _weights(change: Callable[[dict[str, Tensor]], object]) -> Callable[[Path], None]:
    def apply(model: Path) -> None:
        weights = load_file(model / "model.safetensors")
        change(weights)
        save_file(weights, model / "model.safetensors")

    return apply


def _json(name: str, change: Callable[[Any], object]) -> Callable[[Path], None]:
    def apply(model: Path) -> None:
        values = json.loads((model / name).read_text())
        change(values)
        (model / name).write_text(json.dumps(values))

    return apply


def _text(name: str, text: str) -> Callable[[Path], None]:
    return lambda model: (model / name).write_text(text) and None


def _first_value(value: float) -> Callable[[dict[str, Tensor]], object]:
    return lambda weights: weights["root"].__setitem__(0, value)


def _encoder(**values: object) -> Callable[[Path], None]:
    return _json("config.json", lambda config: config["model"]["encoder"].update(values))


def _header(start: bytes) -> Callable[[Path], None]:
    """Replace the first bytes of the weights: the length of their header."""

    def apply(model: Path) -> None:
        path = model / "model.safetensors"
        path.write_bytes(start + path.read_bytes()[len(start) :])

    return apply


def _tensors(tensors: dict[str, tuple[str, list[int], int, int]], n_bytes: int) -> Callable[[Path], None]:
    """Replace the weights by zeros with this header: the type, shape, first and last offset of each tensor."""
    header = json.dumps(
        {name: {"dtype": kind, "shape": shape, "data_offsets": at} for name, (kind, shape, *at) in tensors.items()}
    ).encode()
    content = len(header).to_bytes(8, "little") + header + bytes(n_bytes)
    return lambda model: (model / "model.safetensors").write_bytes(content) and None


BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "no directory": (shutil.rmtree, "model: no such model directory"),
    "no config": (_without("config.json"), "config.json: No such file"),
    "no labels": (_without("labels.json"), "labels.json: No such file"),
    "no tokeniser": (_without("tokenizer.json"), "no tokeniser"),
    "no weights": (_without("model.safetensors"), "model.safetensors: no such file"),
    "half the weights": (_truncated, "model.safetensors: broken or truncated"),
    "no safetensors": (_text("model.safetensors", "weights"), "model.safetensors: broken or truncated"),
    "wrong shape": (
        _weights(lambda weights: weights.update(root=torch.zeros(7))),
        r"model.safetensors: root has shape \[7\]; expected \[32\]",
    ),
    "missing weight": (_weights(lambda weights: weights.pop("root")), "model.safetensors: root is missing"),
    "unknown weight": (
        _weights(lambda weights: weights.update(leaf=torch.zeros(7))),
        "model.safetensors: leaf is not a weight of this model",
    ),
    "unknown key": (
        _json("config.json", lambda values: values["model"].update(colour="red")),
        "config.json: model.colour: unknown key",
    ),
    "wrong value": (
        _json("config.json", lambda values: values["model"]["encoder"].update(layers=0)),
        "config.json: model.encoder.layers: ",
    ),
    "config is no JSON": (_text("config.json", "{"), "config.json: not JSON"),
    "config is a list": (_text("config.json", "[]"), "config.json: "),
    "labels are no JSON": (_text("labels.json", "{"), "labels.json: not JSON"),
    "labels are a list": (_text("labels.json", "[]"), "labels.json: expected labels, tags and root"),
    "labels lack the tags": (
        _json("labels.json", lambda values: values.pop("tags")),
        "labels.json: expected labels, tags and root",
    ),
    "labels are numbers": (
        _json("labels.json", lambda values: values.update(labels=[1, 2])),
        "labels.json: labels: expected a list of strings",
    ),
    "no root label": (
        _json("labels.json", lambda values: values.update(root="top")),
        "labels.json: root: expected one of at least two labels, found 'top'",
    ),
    "one label more": (
        _json("labels.json", lambda values: values["labels"].append("new")),
        "model.safetensors: .* has shape",
    ),
    "tokeniser is no JSON": (_text("tokenizer.json", "{"), "tokenizer.json: not a tokeniser"),
    "another tokeniser": (
        _json("config.json", lambda values: values["model"]["encoder"].update(vocab_size=20)),
        "tokenizer.json: .* pieces, of which the model knows only 20",
    ),
    "piece beyond the table": (
        _json("tokenizer.json", lambda values: values["model"]["vocab"].update(dog=10**9)),
        "tokenizer.json: 1000000001 pieces, of which",
    ),
    "a tokeniser at which its library panics": (  # found by fuzzing
        _json("tokenizer.json", lambda values: values.update(normalizer={"type": "Precompiled"})),
        "tokenizer.json: not a tokeniser: ",
    ),
    "no number": (_weights(_first_value(math.nan)), "model.safetensors: root: a value of nan"),
    "infinite": (_weights(_first_value(-math.inf)), "model.safetensors: root: a value of -inf"),
    "beyond any training": (_weights(_first_value(1e30)), r"model.safetensors: root: a value of 1e\+30"),
    "integers": (
        _weights(lambda weights: weights.update(root=weights["root"].long())),
        "model.safetensors: root: expected floating-point numbers, found int64",
    ),
    "complex numbers": (
        _weights(lambda weights: weights.update(root=weights["root"].to(torch.complex64))),
        "model.safetensors: root: expected floating-point numbers, found complex64",
    ),
    "too many layers": (_encoder(layers=100_000), "config.json: model.encoder.layers: .* less than or equal to 1000"),
    "too wide": (_encoder(width=10**9), "config.json: model.encoder.width: .* less than or equal to 65536"),
    "more layers than weights": (
        _encoder(layers=1000),
        r"config.json: an encoder of at least 8,\d+,\d+ parameters; only",
    ),
    "other relations": (_encoder(relations=7), "config.json: model.encoder: its relations or segments are not those"),
    "too few segments": (_encoder(n_segments=0), "config.json: model.encoder: its relations or segments are not those"),
    "buckets of no distance": (
        _encoder(position_buckets=1),
        "config.json: model.encoder: .*position_buckets: expected 0",
    ),
    "no epsilon": (_encoder(layer_norm_eps=math.nan), "config.json: model.encoder.layer_norm_eps: "),
    "empty embeddings": (_encoder(embedding_width=0), "config.json: model.encoder.embedding_width: "),
    "control characters in a key": (
        _json("config.json", lambda values: values.update({"\x1b]0;evil\x07\n": 1})),
        r"config.json: \\x1b]0;evil\\x07\\n: unknown key",
    ),
    "labels that break lines": (
        _json("labels.json", lambda values: values.update(labels=["root", "a\nb"])),
        r"labels.json: labels: 'a\\nb' is empty, or has a tab, a line break",
    ),
    "a label twice": (
        _json("labels.json", lambda values: values["labels"].append("root")),
        "labels.json: labels: one is listed twice",
    ),
    "one label": (
        _json("labels.json", lambda values: values.update(labels=["root"])),
        "labels.json: root: expected one of",
    ),
    "header of 100 MB": (_header((10**8 + 1).to_bytes(8, "little")), "model.safetensors: broken or truncated"),
    "header beyond the file": (_header((10**6).to_bytes(8, "little")), "model.safetensors: broken or truncated"),
    "overlapping weights": (
        _tensors({"a": ("F32", [1], 0, 4), "b": ("F32", [1], 0, 4)}, 4),
        "model.safetensors: broken or truncated",
    ),
    "weights with a gap": (
        _tensors({"a": ("F32", [1], 0, 4), "b": ("F32", [1], 8, 12)}, 12),
        "model.safetensors: broken or truncated",
    ),
    "weights beyond the file": (
        _tensors({"a": ("F32", [2**61], 0, 2**63)}, 4),
        "model.safetensors: broken or truncated",
    ),
    "bytes that are no weights": (_tensors({"a": ("F32", [1], 0, 4)}, 9), "model.safetensors: broken or truncated"),
    "a shape that overflows": (
        _tensors({"a": ("F32", [2**32, 2**32, 2**32], 0, 4)}, 4),
        "model.safetensors: broken or truncated",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_model_directory_is_described_in_one_line(name: str, saved: Path, tmp_path: Path) -> None:
    broken, message = BROKEN[name]
    model = tmp_path / "model"
    shutil.copytree(saved, model)
    broken(model)
    with pytest.raises(DataError, match=message) as caught:
        Parser.load(model)
    assert "\n" not in str(caught.value)
    assert str(model) in str(caught.value)


@pytest.mark.parametrize("file", ["config.json", "labels.json", "tokenizer.json", "model.safetensors"])
def test_a_model_that_is_cut_off_anywhere_is_described_in_one_line(file: str, saved: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(saved, model)
    content = (saved / file).read_bytes().rstrip()
    for n_bytes in sorted({0, 1, 7, 8, 9, *range(10, len(content), len(content) // 20)}):
        (model / file).write_bytes(content[:n_bytes])
        with pytest.raises(DataError, match=file) as caught:
            Parser.load(model)
        assert str(caught.value).isprintable()


def test_a_word_that_the_tokeniser_cannot_split_is_an_error_of_the_model(saved: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(saved, model)
    change = _json("tokenizer.json", lambda values: values["model"].update(unk_token="[NONE]"))
    change(model)
    parser = Parser.load(model)
    with pytest.raises(DataError, match=r"tokenizer\.json: not a tokeniser: .*Missing"):
        list(parser.parse([Sentence.from_words(["漢"])]))


def test_half_precision_is_loaded_as_single(saved: Path, tmp_path: Path) -> None:
    Parser.load(saved).save(tmp_path, half=True)
    assert (tmp_path / "model.safetensors").stat().st_size < 0.6 * (saved / "model.safetensors").stat().st_size
    loaded = Parser.load(tmp_path)
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {torch.float32}
    assert all(sentence.parsed for sentence in loaded.parse(conllu.read(TOY)))
