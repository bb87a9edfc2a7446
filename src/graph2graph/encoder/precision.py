"""Linear layers in 8-bit integers, for faster parsing on a CPU.

Weights: 7 bits, a scale for each output. (With 8, two products of an unsigned and a signed byte can overflow the 16 bits in
which CPUs without VNNI add them, and the trees would differ between machines.) Activations: 8 bits from the least to the
greatest of a token's, so that the sentences of a batch do not change each other; those of wide layers in groups, since a few
large ones would leave the others few levels. The sums are of integers, exact, and therefore the same in any order.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from graph2graph.errors import DataError
from graph2graph.models.parser_model import ParserModel

Precision = Literal["fp32", "int8"]

WEIGHT_LEVELS, ACTIVATION_LEVELS = 63, 255
GROUP = 768  # inputs that share their levels, at most


class _Group(NamedTuple):
    """The weights of some inputs."""

    inputs: slice
    packed: Tensor
    scales: Tensor  # [out]
    sums: Tensor  # of each output's weights, [out]


class Int8Linear(nn.Module):
    """A linear layer whose products are of integers."""

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
        """Of the inputs of a group, each about least + integer · step."""
        least = x.amin(dim=-1, keepdim=True)  # [N, 1]
        step = (x.amax(dim=-1, keepdim=True) - least).div_(ACTIVATION_LEVELS).clamp_(min=1e-12)
        integers = (x - least).div_(step).add_(0.5).to(torch.uint8)  # rounded, since it cuts
        product = torch.ops.onednn.qlinear_pointwise(
            integers, 1.0, 0, group.packed, group.scales, self.zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )
        return torch.addcmul(bias, product, step, out=product).addcmul_(least, group.sums)


def to_int8(model: ParserModel) -> None:
    """Change the layers of a model's encoder, for good: from now on it can only parse."""
    if model.device.type != "cpu":
        raise DataError("int8 is for CPUs")
    for layer in model.encoder.layers:
        for module in list(layer.modules()):
            for name, child in list(module.named_children()):
                if isinstance(child, nn.Linear):
                    setattr(module, name, _converted(child))


def _converted(linear: nn.Linear) -> Int8Linear:
    try:
        return Int8Linear(linear)
    except (AttributeError, NotImplementedError, RuntimeError) as error:
        raise DataError("int8 needs the integer products of oneDNN, which this torch has not; use fp32") from error
