"""Dropout: it changes the output in training only, and follows from a seed."""

import pytest
import torch

from graph2graph.encoder import dropout
from small_encoder import small

pytestmark = pytest.mark.usefixtures("one_thread")


def test_dropout_only_in_training() -> None:
    tokens = torch.randint(40, (4, 9))
    for kind in ({"dropout": 0.5, "attention_dropout": 0.0}, {"dropout": 0.0, "attention_dropout": 0.5}):
        encoder = small(**kind)
        once = encoder(tokens)
        assert torch.equal(encoder(tokens), once)
        encoder.train()
        assert not torch.allclose(encoder(tokens), once, atol=1e-3)
        assert not torch.allclose(encoder(tokens), encoder(tokens), atol=1e-3)
    off = small(dropout=0, attention_dropout=0)
    assert torch.equal(off.train()(tokens), off.eval()(tokens))


def test_it_drops_the_right_share_and_is_repeatable() -> None:
    layer = dropout.Dropout(0.1).train()
    x = torch.ones(1000, 100)
    dropout.seed([1, 2, 3])
    first = layer(x)
    assert (first == 0).float().mean() == pytest.approx(26 / 256, abs=0.005)
    assert first.mean() == pytest.approx(1, abs=0.01)
    dropout.seed([1, 2, 3])
    assert torch.equal(layer(x), first)
    assert not torch.equal(layer(x), first)
    assert torch.equal(layer.eval()(x), x)
