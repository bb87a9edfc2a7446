"""Packing and spreading tokens, and the gradients of the operations that do it."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graph2graph.encoder.layout import Layout, add_at, rearrange

pytestmark = pytest.mark.usefixtures("one_thread")


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6).filter(any), st.integers(0, 3))
def test_layout_packs_and_pads(lengths: list[int], more: int) -> None:
    layout = Layout(torch.tensor(lengths), max(lengths) + more)
    packed = torch.arange(1, sum(lengths) + 1)[:, None].repeat(1, 2)
    padded = layout.pad(packed)
    assert padded.shape == (len(lengths), max(lengths) + more, 2)
    assert torch.equal(layout.pack(padded), packed)
    assert torch.equal(padded[..., 0] > 0, layout.is_real)
    assert layout.n_tokens == sum(lengths)
    assert layout.columns.tolist() == [column for length in lengths for column in range(length)]


def test_gradients_are_those_of_autograd() -> None:
    rows = torch.randn(6, 3, dtype=torch.double, requires_grad=True)
    order, unused = torch.tensor([4, 0, 5, 2]), torch.tensor([1, 3])
    inverse = torch.tensor([1, 0, 3, 0, 0, 2])  # of the unused rows anything
    assert torch.autograd.gradcheck(lambda x: rearrange(x, order, inverse, unused), [rows])
    permutation = torch.randperm(6)
    assert torch.autograd.gradcheck(lambda x: rearrange(x, permutation, permutation.argsort()), [rows])
    values = torch.randn(4, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, y: add_at(x * 1, torch.tensor([0, 17, 4, 5]), y), [rows, values])
