"""Weights in 8 bits: rounded to within half a step, stored beside their scales, loaded as fp32 in every precision."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from conftest import wild
from graph2graph.encoder.precision import Precision
from graph2graph.errors import DataError
from graph2graph.parser import compression, migration, model_directory
from graph2graph.parser.compression import compressed, expanded, read_stored, rounded
from graph2graph.parser.parser import Parser
from graph2graph.treebank import conllu

TOY = Path(__file__).parents[1] / "data" / "toy.conllu"
WEIGHTS = "model.safetensors"


def test_a_number_is_off_by_half_a_step_of_its_group_at_most() -> None:
    weight = torch.randn(50, 96) * torch.logspace(-1, 4, 50)[:, None] * torch.logspace(-2, 1, 96)
    weight[7] = 0
    integers, scale = rounded(weight)
    assert (integers.dtype, scale.dtype, scale.shape) == (torch.int8, torch.float16, (50, 3))
    step = scale.float().repeat_interleave(32, dim=1)
    assert (
        (integers * step - weight).abs() <= 0.57 * step
    ).all()  # half a step, and what the scale itself is rounded by
    assert set(integers.unflatten(1, (3, 32)).abs().amax(dim=2).flatten().tolist()) == {0, 127}
    assert not integers[7].any()


def test_rows_that_cannot_be_divided_have_one_scale() -> None:
    assert rounded(torch.randn(5, 50))[1].shape == (5, 1)


def test_tiny_numbers_stay_tiny() -> None:
    weight = torch.randn(4, 32) * 1e-7
    integers, scale = rounded(weight)
    assert (integers * scale.float() - weight).abs().max() < 1e-4


def test_only_large_matrices_are_rounded() -> None:
    weights = {"large": torch.randn(300, 320), "small": torch.randn(3, 320), "long": torch.randn(100_000)}
    stored = compressed(weights)
    assert {name: tensor.dtype for name, tensor in stored.items()} == {
        "large": torch.int8,
        "large.scale": torch.float16,
        "small": torch.float16,
        "long": torch.float16,
    }
    found = expanded(stored, "x")
    assert {name: (tensor.dtype, tensor.shape) for name, tensor in found.items()} == {
        name: (torch.float32, tensor.shape) for name, tensor in weights.items()
    }
    assert torch.equal(found["large"][:, 32:64], stored["large"][:, 32:64] * stored["large.scale"].float()[:, 1:2])
    again = compressed(found)
    assert all(torch.equal(again[name], tensor) for name, tensor in stored.items())


@pytest.mark.parametrize("scale", [None, torch.ones(2), torch.ones(3, 1), torch.ones(2, 3), torch.ones(2, 0)])
def test_a_weight_without_its_scales_is_refused(scale: Tensor | None) -> None:
    stored = {"a.weight": torch.ones(2, 4, dtype=torch.int8)} | ({} if scale is None else {"a.weight.scale": scale})
    with pytest.raises(DataError, match=r"^m: a\.weight has 8 bits, but a\.weight\.scale does not have its scales$"):
        expanded(stored, "m")


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a compressed model, with weights of 64 numbers and more in 8 bits."""
    monkeypatch.setattr(compression, "LARGE", 64)
    parser = wild("sent-g2g", list(conllu.read(TOY)))
    parser.save_settings(tmp_path)
    model_directory.write_compressed(tmp_path, parser.model)
    return tmp_path


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_compressed_model_parses_as_its_weights_do(precision: Precision, small: Path) -> None:
    loaded, plain = Parser.load(small, precision=precision), small / "plain"
    loaded.save_settings(plain)
    save_file(expanded(load_file(small / WEIGHTS), "x"), plain / WEIGHTS)
    trees = [list(one.parse(conllu.read(TOY))) for one in (loaded, Parser.load(plain, precision=precision))]
    assert [tree.lines for tree in trees[0]] == [tree.lines for tree in trees[1]]
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {torch.float32}


def test_the_header_says_how_weights_are_stored(small: Path) -> None:
    parser = Parser.load(small)
    n_parameters = sum(weight.numel() for weight in parser.model.state_dict().values())
    assert read_stored(small / WEIGHTS) == (n_parameters, "int8")
    for half, precision in ((True, "fp16"), (False, "fp32")):
        parser.save(small, half=half)
        assert read_stored(small / WEIGHTS) == (n_parameters, precision)
    (small / WEIGHTS).write_bytes(b"broken")
    with pytest.raises(DataError, match=WEIGHTS):
        read_stored(small / WEIGHTS)


def test_releases_that_cannot_read_8_bits_refuse_them(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They know formats up to 2."""
    assert json.loads((small / "config.json").read_text())["format"] > 2
    monkeypatch.setattr(migration, "FORMAT", 2)
    with pytest.raises(DataError, match=r"config\.json: format 3; .* reads formats up to 2: install graph2graph"):
        Parser.load(small)
