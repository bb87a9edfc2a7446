"""Dropout changes the output in training, and only then."""

import pytest
import torch

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
