"""Precisions: near fp32, the same in any batch, resolved from what works here, and refused in one line where they do not."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from graph2graph.encoder import cpu, precision, probe
from graph2graph.encoder.packed import Int8Linear, NarrowLinear, PackedLinear
from graph2graph.encoder.precision import VARIABLE, resolve
from graph2graph.encoder.probe import Trial
from graph2graph.errors import DataError
from graph2graph.parser.parser import Parser
from graph2graph.treebank.sentence import Sentence

pytestmark = pytest.mark.usefixtures("one_thread")

LARGEST_ERROR = {"fp32": 1e-5, "bf16": 0.02, "int8": 0.03}  # of a product, relative to its norm


def trees(sentences: Iterable[Sentence]) -> list[Any]:
    return [(sentence.heads, sentence.deprels) for sentence in sentences]


@pytest.fixture
def every_precision_is_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    """No trial: emulated or not, all of them compute."""
    monkeypatch.setattr(probe, "trials", lambda: [Trial("parse", name, 1.0) for name in probe.PRECISIONS])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fp32", "bf16", "int8"])
@pytest.mark.usefixtures("every_precision_is_forced")
@torch.inference_mode()
def test_trees_are_near_and_batch_mates_change_nothing(
    name: Any, any_parser: Parser, toy: list[Sentence], tmp_path: Path
) -> None:
    any_parser.save(tmp_path)
    parser = Parser.load(tmp_path, precision=name)
    assert parser.precision == name
    together = trees(parser.parse(toy))
    assert together == trees([next(parser.parse([sentence])) for sentence in toy])
    assert together == trees(parser.parse(toy[::-1], batch_tokens=70))[::-1]
    plain = trees(any_parser.parse(toy))
    pairs = zip(plain, together, strict=True)
    same = sum(a == b for one, other in pairs for a, b in zip(one[0], other[0], strict=True))
    assert same > 0.6 * sum(map(len, toy))  # of wild weights; a fair coin would not get there


@pytest.mark.parametrize("name", ["fp32", "bf16", "int8"])
@torch.inference_mode()
def test_products_are_near_and_a_row_does_not_depend_on_the_others(name: str) -> None:
    for n_in, n_out in ((384, 1152), (1536, 384), (500, 4), (24, 7)):
        linear = torch.nn.Linear(n_in, n_out)
        packed = Int8Linear(linear) if name == "int8" else PackedLinear(linear, precision._dtype(name))  # type: ignore[arg-type]
        x = torch.randn(70, n_in) * torch.logspace(-3, 3, 70)[:, None]
        out = packed(x)
        off = (out - linear(x)).norm(dim=1) / linear(x).norm(dim=1)
        assert float(off.max()) < LARGEST_ERROR[name]
        for rows in (slice(0, 1), slice(3, 5), slice(5, 38)):
            torch.set_num_threads(1 + rows.start % 2)
            assert torch.equal(packed(x[rows]), out[rows])
        zero = packed(torch.zeros(1, n_in)) - linear.bias
        assert float(zero.abs().max()) < 1e-2 * (name == "bf16") + 1e-9


@torch.inference_mode()
def test_a_narrow_product_is_that_of_the_layer_and_a_row_does_not_depend_on_the_others() -> None:
    linear = torch.nn.Linear(500, 4)
    narrow, x = NarrowLinear(linear), torch.randn(200, 500) * torch.logspace(-3, 3, 200)[:, None]
    torch.testing.assert_close(narrow(x), linear(x), rtol=1e-4, atol=1e-5)
    for rows in (slice(0, 1), slice(5, 8), slice(9, 22), slice(100, 164)):
        assert torch.equal(narrow(x[rows]), narrow(x)[rows])


def test_an_activation_is_computed_with_the_product() -> None:
    linear, x = torch.nn.Linear(20, 30), torch.randn(9, 20)
    for name, function in (("gelu", torch.nn.functional.gelu), ("relu", torch.relu)):
        torch.testing.assert_close(PackedLinear(linear, activation=name)(x), function(linear(x)))
    tanh = PackedLinear(linear, activation="gelu_new")(x)
    torch.testing.assert_close(tanh, torch.nn.functional.gelu(linear(x), approximate="tanh"))


def test_without_vnni_weights_have_seven_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    linear = torch.nn.Linear(40, 8)
    for has_vnni, levels in ((True, 127), (False, 63)):
        monkeypatch.setattr(cpu, "multiplies_integers", lambda has=has_vnni: has)
        [group] = Int8Linear(linear).groups
        torch.testing.assert_close(group.scales * levels, linear.weight.detach().abs().amax(dim=1))


@pytest.mark.usefixtures("every_precision_is_forced")
def test_without_onednn_only_fp32_is_left(any_parser: Parser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    any_parser.save(tmp_path / "model")
    monkeypatch.setattr(Int8Linear, "__init__", Mock(side_effect=NotImplementedError))
    monkeypatch.setattr(PackedLinear, "__init__", Mock(side_effect=AttributeError))
    for name in ("int8", "bf16"):
        with pytest.raises(DataError, match="use fp32"):
            Parser.load(tmp_path / "model", precision=name)  # type: ignore[arg-type]
    assert Parser.load(tmp_path / "model", precision="fp32").precision == "fp32"


def test_a_loaded_parser_can_be_saved(any_parser: Parser, tmp_path: Path) -> None:
    any_parser.save(tmp_path / "first")
    Parser.load(tmp_path / "first", precision="fp32").save(tmp_path / "second")
    first, second = (tmp_path / name / "model.safetensors" for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()


def fake_trials(monkeypatch: pytest.MonkeyPatch, **seconds: float) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(cpu, "flags", lambda: frozenset({"avx2", "avx512_bf16"}))
    found = [Trial(*name.split("_"), took) for name, took in seconds.items()]
    monkeypatch.setattr(probe, "trials", lambda: found)


def test_auto_is_the_fastest_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_trials(monkeypatch, parse_fp32=3.0, parse_bf16=1.0, parse_int8=0.95, train_fp32=3.0, train_bf16=2.0)
    assert (resolve("auto"), resolve("auto", "train")) == ("bf16", "bf16")
    fake_trials(monkeypatch, parse_fp32=3.0, parse_bf16=1.0, parse_int8=0.5)
    assert resolve("auto") == "int8"
    fake_trials(monkeypatch, parse_fp32=1.0, parse_bf16=0.95, train_fp32=1.0, train_bf16=1.5)
    assert (resolve("auto"), resolve("auto", "train")) == ("fp32", "fp32")
    wrong = [Trial("parse", "fp32", 3.0), Trial("parse", "bf16", 1.0, 0.5), Trial("parse", "int8", 1.0, 0.0, False)]
    monkeypatch.setattr(probe, "trials", lambda: wrong)
    assert resolve("auto") == "fp32"


def test_auto_tries_nothing_where_nothing_can_be_gained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(cpu, "flags", frozenset)
    monkeypatch.setattr(probe, "trials", Mock(side_effect=AssertionError))
    assert (resolve("auto"), resolve("auto", "train"), resolve("fp32")) == ("fp32", "fp32", "fp32")


def test_a_variable_forbids_or_forces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "trials", Mock(side_effect=AssertionError))
    monkeypatch.setenv(VARIABLE, "int8")
    assert (resolve("auto"), resolve("auto", "train"), resolve("fp32")) == ("int8", "fp32", "fp32")
    monkeypatch.setenv(VARIABLE, "fp16")
    with pytest.raises(DataError, match="G2G_PRECISION: expected auto, fp32, bf16, int8, found fp16"):
        resolve("auto")


def test_what_does_not_work_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_trials(monkeypatch, parse_fp32=1.0)
    with pytest.raises(DataError, match="bf16 does not work on this CPU"):
        resolve("bf16")
