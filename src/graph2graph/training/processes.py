"""Training in several processes: what torchrun has told us, and what the processes must agree on.

One process works just as well: then none of this does anything.
"""

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Processes:
    """This process among all of them."""

    def __init__(self) -> None:
        self.count = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        local = int(os.environ.get("LOCAL_RANK", "0"))
        on_gpu = torch.cuda.is_available()
        self.device = torch.device("cuda", local) if on_gpu else torch.device("cpu")
        if self.count > 1:
            if on_gpu:
                torch.cuda.set_device(self.device)
            # the others wait while the first scores the development set
            dist.init_process_group("nccl" if on_gpu else "gloo", timeout=timedelta(hours=12))

    @property
    def is_first(self) -> bool:
        """Whether this process writes, scores and speaks."""
        return self.rank == 0

    def wrap(self, module: nn.Module) -> nn.Module:
        """The module with its gradients averaged over the processes."""
        if self.count == 1:
            return module
        devices = [self.device.index] if self.device.type == "cuda" else None
        return DistributedDataParallel(module, device_ids=devices, find_unused_parameters=True)

    def alone(self, module: nn.Module) -> AbstractContextManager[Any]:
        """While gradients of this process are added up, before the last of them is averaged with the others'."""
        return module.no_sync() if isinstance(module, DistributedDataParallel) else nullcontext()

    def total(self, value: float) -> float:
        """The sum of a number over the processes."""
        if self.count == 1:
            return value
        tensor = torch.tensor(value, dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor)
        return float(tensor)

    def agreed(self, value: Any) -> Any:
        """What the first process says."""
        if self.count == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, device=self.device)
        return box[0]

    def wait(self) -> None:
        """Until all are here."""
        if self.count > 1:
            dist.barrier()

    def finish(self) -> None:
        """When all is done: wait for the others, so that none leaves while the first is still writing, and end the process.

        It ends at once. Left to Python, it would now and then be aborted for a thread of torch's that is still at work, and
        torchrun would call the whole run failed.
        """
        if self.count > 1:
            self.wait()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)

    def close(self) -> None:
        """Leave the group."""
        if self.count > 1:
            dist.destroy_process_group()
