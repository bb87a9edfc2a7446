"""Linear layers in 8-bit integers, for faster parsing on a CPU.

Weights: 7 bits, a scale for each output. (With 8, two products of an unsigned and a signed byte can overflow the 16 bits in
which CPUs without VNNI add them, and the trees would differ between machines.) Activations: 8 bits, a scale for each token, so
that the sentences of a batch do not change each other. The sums are of integers, exact, and therefore the same in any order.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from graph2graph.errors import DataError
from graph2graph.models.model import ParserModel

Precision = Literal["fp32", "int8"]

WEIGHT_LEVELS, ACTIVATION_LEVELS, ZERO = 63, 127, 128


class Int8Linear(nn.Module):
    """A linear layer whose product is one of integers."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach()
        scales = weight.abs().amax(dim=1).clamp(min=1e-12) / WEIGHT_LEVELS  # [out]
        integers = (weight / scales[:, None]).round().to(torch.int8)
        self.packed = torch.ops.onednn.qlinear_prepack(integers, None)
        self.scales = scales / ACTIVATION_LEVELS
        self.zeros = torch.zeros(len(scales), dtype=torch.int32)
        self.bias = linear.bias.detach()

    def forward(self, x: Tensor) -> Tensor:
        """[N, in] -> [N, out]."""
        sizes = x.abs().amax(dim=-1, keepdim=True).clamp_(min=1e-12)  # [N, 1]
        integers = (x * (ACTIVATION_LEVELS / sizes)).add_(ZERO + 0.5).to(torch.uint8)  # rounded, since it cuts
        product = torch.ops.onednn.qlinear_pointwise(
            integers, 1.0, ZERO, self.packed, self.scales, self.zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )
        return torch.addcmul(self.bias, product, sizes)


def to_int8(model: ParserModel) -> None:
    """Change the layers of a model's encoder, for good: from now on it can only parse."""
    if model.device.type != "cpu":
        raise DataError("int8 is for CPUs")
    for layer in model.encoder.layers:
        for module in list(layer.modules()):
            for name, child in list(module.named_children()):
                if isinstance(child, nn.Linear):
                    setattr(module, name, Int8Linear(child))
