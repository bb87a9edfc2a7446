"""Linear layers whose weights are packed for parsing on a CPU: fp32 and bf16 by oneDNN, and 8-bit integers.

In all of them a row of the result is the same, bit for bit, whatever other rows are multiplied with it and by however many
threads: the products of a row are added up in one order, in fp32 or as integers. `probe.py` checks that on each machine.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from graph2graph.encoder import cpu

POST_OPERATIONS = {"gelu": ("gelu", "none"), "gelu_new": ("gelu", "tanh"), "relu": ("relu", ""), "none": ("none", "")}
ACTIVATION_LEVELS = 255
GROUP = 384  # inputs that share one scale, at most


class PackedLinear(nn.Module):
    """A linear layer, and perhaps the activation after it, in fp32 or bf16; it cannot be trained."""

    def __init__(
        self,
        linear: nn.Linear,
        dtype: torch.dtype = torch.float32,
        *,
        activation: str = "none",
        out: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias  # as they are saved
        self.dtype, self.out_dtype = dtype, out
        self.post, self.algorithm = POST_OPERATIONS[activation]
        self.packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach().to(dtype).contiguous(), None)
        self.packed_bias = None if linear.bias is None else linear.bias.detach().to(dtype)

    def forward(self, x: Tensor) -> Tensor:
        """[N, in] -> [N, out]."""
        if len(x) == 1:  # oneDNN adds up the products of a single row in another order
            x = x.expand(2, -1)
            return self.forward(x)[:1]
        multiply, x = torch.ops.mkldnn._linear_pointwise, x.to(self.dtype)
        out: Tensor = multiply(x, self.packed, self.packed_bias, self.post, [], self.algorithm)
        return out.to(self.out_dtype)


class NarrowLinear(nn.Module):
    """A linear layer with few outputs, whose products torch adds up row by row: a call of oneDNN takes five times as long."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias

    def forward(self, x: Tensor) -> Tensor:
        """[N, in] -> [N, out]."""
        return (x[:, None] * self.weight).sum(2) + self.bias  # [N, out, in] -> [N, out]


class _Group(NamedTuple):
    """The weights of a group of inputs, I of them."""

    inputs: slice
    packed: Tensor  # integers, [out, I]
    scales: Tensor  # [out]
    sums: Tensor  # [out] of the weights of each output


class Int8Linear(nn.Module):
    """A linear layer that multiplies 8-bit integers.

    Weights have 8 bits and one scale for each output, or 7 bits on a CPU without VNNI, where two products can overflow the 16
    bits in which they are added. Activations have 8 bits, scaled to the smallest and largest value of their token, so that the
    sentences of a batch cannot influence each other. Wide layers scale each group of inputs by itself, because a few large
    activations would leave the others few levels.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias  # as they are saved
        self.no_bias, self.zeros = torch.zeros_like(self.bias), torch.zeros(len(self.bias), dtype=torch.int32)
        first, self.groups = 0, list[_Group]()
        levels = 127 if cpu.multiplies_integers() else 63
        for weight in torch.split(linear.weight.detach(), GROUP, dim=1):
            scales = weight.abs().amax(dim=1).clamp(min=1e-12) / levels
            integers = (weight / scales[:, None]).round().to(torch.int8)
            packed = torch.ops.onednn.qlinear_prepack(integers, None)
            inputs = slice(first, first := first + weight.shape[1])
            self.groups.append(_Group(inputs, packed, scales, integers.sum(dim=1) * scales))

    def forward(self, x: Tensor) -> Tensor:
        """[N, in] -> [N, out]."""
        first, *others = self.groups
        out = self._product(x[:, first.inputs], first, self.bias)
        for group in others:
            out += self._product(x[:, group.inputs], group, self.no_bias)
        return out

    def _product(self, x: Tensor, group: _Group, bias: Tensor) -> Tensor:
        """The part of a group of inputs plus the bias, [N, out]; an input is approximately least + integer · step."""
        least = x.amin(dim=-1, keepdim=True)  # [N, 1]
        step = (x.amax(dim=-1, keepdim=True) - least).div_(ACTIVATION_LEVELS).clamp_(min=1e-12)
        integers = (x - least).div_(step).add_(0.5).to(torch.uint8)  # rounds, since the conversion truncates
        product = torch.ops.onednn.qlinear_pointwise(
            integers, 1.0, 0, group.packed, group.scales, self.zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )
        return torch.addcmul(bias, product, step, out=product).addcmul_(least, group.sums)
