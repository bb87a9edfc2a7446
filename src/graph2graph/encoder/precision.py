"""Encoder layers with 8-bit integer products, for faster parsing on a CPU.

Weights have 7 bits and one scale for each output: with 8 bits, CPUs without VNNI can overflow the 16 bits in which they add two
products, and trees would differ between machines. Activations have 8 bits, scaled to the smallest and largest value of their
token, so that the sentences of a batch cannot influence each other. Wide layers scale each group of inputs by itself, because a
few large activations would leave the others few levels. Sums of integers are exact and do not depend on their order.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from graph2graph.encoder.encoder import GraphEncoder
from graph2graph.errors import DataError

Precision = Literal["fp32", "int8"]

WEIGHT_LEVELS, ACTIVATION_LEVELS = 63, 255
GROUP = 768  # inputs that share one scale, at most


class _Group(NamedTuple):
    """The weights of a group of inputs, I of them."""

    inputs: slice
    packed: Tensor  # integers, [out, I]
    scales: Tensor  # [out]
    sums: Tensor  # [out] of the weights of each output


class Int8Linear(nn.Module):
    """A linear layer that multiplies integers."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.bias = linear.bias.detach()
        self.no_bias, self.zeros = torch.zeros_like(self.bias), torch.zeros(len(self.bias), dtype=torch.int32)
        first, self.groups = 0, list[_Group]()
        for weight in torch.split(linear.weight.detach(), GROUP, dim=1):
            scales = weight.abs().amax(dim=1).clamp(min=1e-12) / WEIGHT_LEVELS
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


def to_int8(encoder: GraphEncoder) -> None:
    """Replace the linear layers of an encoder in place; afterwards it cannot be trained."""
    if encoder.words.weight.device.type != "cpu":
        raise DataError("int8 is for CPUs")
    try:
        for module in list(encoder.layers.modules()):
            for name, child in list(module.named_children()):
                if isinstance(child, nn.Linear):
                    module.add_module(name, Int8Linear(child))
    except (AttributeError, NotImplementedError, RuntimeError) as error:
        raise DataError(
            "int8 needs the integer products of oneDNN, absent from this build of torch; use fp32"
        ) from error
