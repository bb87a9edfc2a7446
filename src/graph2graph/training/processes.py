"""Training in several processes, started by torchrun. In a single process these methods have no effect."""

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
    """All processes of a run, as seen from this one."""

    def __init__(self) -> None:
        self.count = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        local = int(os.environ.get("LOCAL_RANK", "0"))
        on_gpu = torch.cuda.is_available()
        self.device = torch.device("cuda", local) if on_gpu else torch.device("cpu")
        if self.count > 1:
            if on_gpu:
                torch.cuda.set_device(self.device)
            # the others wait while the first one scores the development set
            dist.init_process_group("nccl" if on_gpu else "gloo", timeout=timedelta(hours=12))

    @property
    def is_first(self) -> bool:
        """Whether this process writes files, scores and prints."""
        return self.rank == 0

    def wrap(self, module: nn.Module) -> nn.Module:
        """The module, with gradients averaged over all processes."""
        if self.count == 1:
            return module
        devices = [self.device.index] if self.device.type == "cuda" else None
        return DistributedDataParallel(module, device_ids=devices, find_unused_parameters=True)

    def alone(self, module: nn.Module) -> AbstractContextManager[Any]:
        """A context in which gradients stay in this process: for all chunks of a batch but the last."""
        return module.no_sync() if isinstance(module, DistributedDataParallel) else nullcontext()

    def total(self, value: float) -> float:
        """The sum of a number over all processes."""
        if self.count == 1:
            return value
        tensor = torch.tensor(value, dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor)
        return float(tensor)

    def agreed(self, value: Any) -> Any:
        """The first process's value, for all of them to use."""
        if self.count == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, device=self.device)
        return box[0]

    def wait(self) -> None:
        """Wait for all processes to get here."""
        if self.count > 1:
            dist.barrier()

    def finish(self) -> None:
        """Wait for the others, then end the process at once.

        In a normal exit, a torch thread that is still running sometimes aborts the process, and torchrun reports a failed run.
        """
        if self.count > 1:
            self.wait()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)

    def close(self) -> None:
        """Leave the process group."""
        if self.count > 1:
            dist.destroy_process_group()
