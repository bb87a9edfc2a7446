"""Dropout that is cheap on a CPU, where torch's own spends a tenth of a training step on drawing random numbers.

Each element is decided by one random byte, eight of them from one draw. The random numbers follow from a seed that training
sets anew at every step, so a run that is resumed goes on with the same ones. On a GPU torch's dropout is used.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

_source = np.random.Generator(np.random.SFC64(0))


def seed(numbers: Sequence[int]) -> None:
    """Start the random numbers anew: of every `Dropout` on the CPU, and of torch's on a GPU."""
    global _source
    _source = np.random.Generator(np.random.SFC64(np.random.SeedSequence(numbers)))
    if torch.cuda.is_available():
        torch.cuda.manual_seed(int(_source.integers(2**62)))


class Dropout(nn.Module):
    """Zeroes elements with probability p (to the nearest 1/256) while training, and scales the others up."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Any shape."""
        if not self.training or not self.p:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.p)
        dropped = max(round(256 * self.p), 1)
        draws = _source.integers(0, 2**64 - 1, -(-x.numel() // 8), dtype=np.uint64, endpoint=True)
        keep = torch.from_numpy(draws.view(np.uint8)[: x.numel()]).view(x.shape) >= dropped
        return x * torch.where(keep, 256 / (256 - dropped), 0.0).to(x.dtype)

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}"
