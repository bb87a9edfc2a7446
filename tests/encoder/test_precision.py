"""int8: near the exact parser, the same in any batch, and refused where the machine has no products of integers."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from graph2graph.encoder.precision import Int8Linear
from graph2graph.errors import DataError
from graph2graph.parser.parser import Parser
from graph2graph.treebank.sentence import Sentence

pytestmark = pytest.mark.usefixtures("one_thread")


def trees(sentences: Iterable[Sentence]) -> list[Any]:
    return [(sentence.heads, sentence.deprels) for sentence in sentences]


@pytest.mark.slow
@torch.inference_mode()
def test_int8_is_near_and_batch_mates_change_nothing(any_parser: Parser, toy: list[Sentence], tmp_path: Path) -> None:
    any_parser.save(tmp_path)
    exact, parser = Parser.load(tmp_path), Parser.load(tmp_path, precision="int8")
    n_words = sum(map(len, toy))
    together = trees(parser.parse(toy))
    assert together == trees([next(parser.parse([sentence])) for sentence in toy])
    assert together == trees(parser.parse(toy[::-1], batch_tokens=70))[::-1]
    plain = trees(exact.parse(toy))
    same = sum(
        a == b for one, other in zip(plain, together, strict=True) for a, b in zip(one[0], other[0], strict=True)
    )
    assert same > 0.6 * n_words  # of wild weights; a fair coin would not get there
    linear = exact.model.encoder.layers[0].inner
    x = torch.randn(50, linear.in_features) * torch.logspace(-3, 3, 50)[:, None]
    off = (Int8Linear(linear)(x) - linear(x)).norm(dim=1) / linear(x).norm(dim=1)
    assert float(off.max()) < 0.03
    assert float(Int8Linear(linear)(torch.zeros(1, linear.in_features)).sub(linear.bias).abs().max()) == 0


def test_without_integer_products_int8_is_refused(
    any_parser: Parser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    any_parser.save(tmp_path / "model")
    monkeypatch.setattr(Int8Linear, "__init__", Mock(side_effect=NotImplementedError))
    with pytest.raises(DataError, match="use fp32"):
        Parser.load(tmp_path / "model", precision="int8")
