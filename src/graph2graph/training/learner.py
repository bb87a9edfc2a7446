"""One update of the weights from one batch, by AdamW with a learning rate for each group of parameters."""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from graph2graph.arrays import FloatArray, IntArray
from graph2graph.config import TrainConfig
from graph2graph.encoder import dropout
from graph2graph.errors import DataError
from graph2graph.models.parser_model import ParserModel
from graph2graph.training.examples import Sample
from graph2graph.training.loss import BatchLoss, batch_loss, encode_only
from graph2graph.training.processes import Processes
from graph2graph.training.sampling import Sampler, chunks
from graph2graph.training.supervision import Batch, GraphKind, StaleWeights, supervise, total_weight

CHUNK_BUDGETS = 2  # a chunk of a batch encodes at most this many times `batch_pieces`


class TeacherForcing(nn.Module):
    """The loss as a module, so that several processes can average its gradients."""

    def __init__(self, model: ParserModel, config: TrainConfig) -> None:
        super().__init__()
        self.model, self.config = model, config

    def forward(self, batch: Batch) -> BatchLoss:
        """The loss of a batch or of a chunk of one."""
        return batch_loss(self.model, batch, tag_loss=self.config.tag_loss, precision=self.precision())

    def precision(self) -> AbstractContextManager[Any]:
        """A context that gives the encoder the precision in the settings."""
        if self.config.precision != "bf16":  # auto has been resolved when a run begins
            return nullcontext()
        return torch.autocast(self.model.device.type, dtype=torch.bfloat16)


class Update(NamedTuple):
    """The losses of one update: means over the decisions of the batch."""

    loss: float  # over all processes
    by_kind: FloatArray  # [3] parts of this process, by GraphKind
    pieces: int  # encoded by this process


class Learner:
    """A model that learns from batches, perhaps together with other processes."""

    def __init__(self, model: ParserModel, sampler: Sampler, processes: Processes) -> None:
        self.model, self.sampler, self.processes = model.to(processes.device), sampler, processes
        self.config = sampler.train
        self.loss = TeacherForcing(self.model, self.config)
        self.shared_loss = processes.wrap(self.loss)

    def update(self, numbers: IntArray, optimiser: torch.optim.Optimizer, *, epoch: int, step: int) -> Update:
        """Update the weights from this process's share of the sentences with these numbers."""
        share = numbers[self.processes.rank :: self.processes.count]
        is_idle = len(share) == 0  # then this process takes part with a loss of 0: the others wait for its gradients
        samples = [self.sampler.sample(int(number), epoch) for number in (numbers[:1] if is_idle else share)]
        dropout.seed([self.config.seed, step, self.processes.rank])
        stale = StaleWeights(self.config.empty_stale_weight, self.config.stale_weight)
        batches = [supervise(chunk, self.model.config, stale) for chunk in self._chunks(samples)]
        weight = self.processes.total(0.0 if is_idle else total_weight(batches))
        optimiser.zero_grad(set_to_none=True)
        total, by_kind = self._backward(batches, 0.0 if is_idle else self.processes.count / weight)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        optimiser.step()
        mean = self.processes.total(0.0 if is_idle else total) / weight
        if not math.isfinite(mean):
            raise DataError(f"the loss is {mean} at step {step + 1}; try a lower train.learning_rate")
        pieces = 0 if is_idle else int(self.sampler.costs[share].sum())
        return Update(mean, by_kind * (not is_idle) / weight, pieces)

    def _chunks(self, samples: Sequence[Sample]) -> list[list[Sample]]:
        """A batch in chunks that fit in memory: one sentence with all its states may exceed `batch_pieces` by far."""
        return list(chunks(samples, self.model.config, CHUNK_BUDGETS * self.config.batch_pieces))

    def _backward(self, batches: Sequence[Batch], scale: float) -> tuple[float, FloatArray]:
        """Add up the gradients of all chunks, scaled; return the total loss, and its sums by GraphKind."""
        total, by_kind = 0.0, np.zeros(len(GraphKind))
        for number, batch in enumerate(batches, 1):
            with nullcontext() if number == len(batches) else self.processes.alone(self.shared_loss):
                loss = self.shared_loss(batch)
                (loss.total * scale).backward()
            total += float(loss.total.detach())
            by_kind += loss.by_kind.double().cpu().numpy()
        return total, by_kind

    @torch.inference_mode()
    def encode(self, numbers: IntArray) -> None:
        """Encode a batch without learning from it; decoding spends most of its time on this."""
        samples = [self.sampler.sample(int(number), 0) for number in numbers]
        with self.loss.precision():
            for chunk in self._chunks(samples):
                encode_only(self.model, chunk)


def optimiser(model: ParserModel, config: TrainConfig, *, pretrained: bool) -> torch.optim.AdamW:
    """AdamW over all parameters of a model.

    Pretrained parameters use `learning_rate`; newly initialised ones use `new_learning_rate`, as in the paper. Without a
    pretrained encoder all use `scratch_learning_rate`; with `one_optimiser`, all use `learning_rate`. There are two exceptions:
    composition has its own rate, since it is applied at every step of a sentence and its noise adds up; relation tables and
    label embeddings can have one, since few pairs of words are related and give them gradients.
    """
    groups: dict[float, list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        groups.setdefault(_rate(name, config, pretrained=pretrained), []).append(parameter)
    return torch.optim.AdamW(
        [{"params": parameters, "lr": rate, "full_rate": rate} for rate, parameters in groups.items()],
        betas=config.adam_betas,
        eps=config.adam_epsilon,
        weight_decay=config.weight_decay,
        fused=True,
    )


def _rate(name: str, config: TrainConfig, *, pretrained: bool) -> float:
    """The full learning rate of the parameter with this name."""
    is_relation = ".relation_" in name
    if config.graph_learning_rate is not None and (is_relation or name.startswith("labels.")):
        return config.graph_learning_rate
    if config.one_optimiser:
        return config.learning_rate
    if name.startswith("composition."):
        return config.composition_learning_rate
    if not pretrained:
        return config.scratch_learning_rate
    is_new = is_relation or not name.startswith("encoder.")
    return config.new_learning_rate if is_new else config.learning_rate


def set_rate(optimiser: torch.optim.Optimizer, step: int, n_steps: int, warmup: float) -> float:
    """Set the learning rates of a step, counted from 0; return their share of the full rates.

    They rise linearly over the share `warmup` of the steps, then fall linearly to 0.
    """
    n_warmup = warmup * n_steps
    share = (step + 1) / n_warmup if step + 1 < n_warmup else (n_steps - step) / max(n_steps - n_warmup, 1)
    share = min(share, 1.0)
    for group in optimiser.param_groups:
        group["lr"] = group["full_rate"] * share
    return share
