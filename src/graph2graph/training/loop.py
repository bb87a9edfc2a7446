"""The training loop: steps, scoring after each epoch, checkpoints, and a finished model at the end.

The directory of a run: config.json, labels.json, tokenizer.json; model.safetensors, the best model so far; metrics.jsonl and
learning_curve.png; run.json, what was asked and planned; checkpoints/, while it runs; README.md, the card, when it is done.
"""

import json
import math
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn

from graph2graph import scoring
from graph2graph.arrays import IntArray
from graph2graph.config import TrainConfig
from graph2graph.encoder import dropout
from graph2graph.errors import DataError
from graph2graph.models.parser_model import ParserModel
from graph2graph.parser.parser import Parser
from graph2graph.training import checkpoint
from graph2graph.training.examples import Example
from graph2graph.training.loss import BatchLoss, batch_loss, encode_only
from graph2graph.training.metrics import Metrics
from graph2graph.training.optimiser import optimiser, set_rate
from graph2graph.training.plan import QUICK, Plan, plan, timed
from graph2graph.training.processes import Processes
from graph2graph.training.sampling import Sampler, chunks
from graph2graph.training.supervision import Batch, GraphKind, StaleWeights, supervise, total_weight
from graph2graph.treebank.conllu import Sentence

LOG_EVERY = 20  # steps
DRAW_EVERY = 60  # seconds
PACE_EVERY = 50  # steps
CHUNK_BUDGETS = 2  # a chunk of a batch encodes at most this many times `batch_pieces`
BEHIND, AHEAD = 0.95, 1.15  # with time for less or more than these shares of the steps left, they are planned anew


class TeacherForcing(nn.Module):
    """The loss as a module, so that several processes can average its gradients."""

    def __init__(self, model: ParserModel, config: TrainConfig) -> None:
        super().__init__()
        self.model, self.config = model, config

    def forward(self, batch: Batch) -> BatchLoss:
        """The loss of a batch or of a chunk of one."""
        return batch_loss(self.model, batch, tag_loss=self.config.tag_loss, precision=self.precision())

    def precision(self) -> AbstractContextManager[Any]:
        """What the encoder computes in."""
        if self.config.precision == "fp32":
            return nullcontext()
        return torch.autocast(self.model.device.type, dtype=torch.bfloat16)


class Observer(Protocol):
    """Who is told how a run goes."""

    def planned(self, plan: Plan, resumed_at: int) -> None:
        """The plan is made; steps begin after `resumed_at`."""

    def stepped(self, step: int, loss: float) -> None:
        """A step is done."""

    def scored(self, step: int, epoch: int, scores: scoring.Scores, best: bool) -> None:
        """The development set, or the part of it used between epochs, is scored."""


class Trainer:
    """One run, from its start or from its last checkpoint."""

    def __init__(
        self,
        parser: Parser,
        examples: Sequence[Example],
        dev: Sequence[Sentence],
        *,
        output: Path,
        pretrained: bool,
        processes: Processes,
        observer: Observer,
        time_limit: float | None = None,
        started: float | None = None,
    ) -> None:
        self.parser, self.dev, self.output, self.processes, self.observer = parser, dev, output, processes, observer
        self.config = parser.config.train
        self.time_limit, self.pretrained = time_limit, pretrained
        self.model = parser.model.to(processes.device)
        self.sampler = Sampler(examples, parser.config.model, self.config, mask=parser.pieces.mask)
        self.optimiser = optimiser(self.model, self.config, pretrained=pretrained)
        self.loss = TeacherForcing(self.model, self.config)
        self.module = processes.wrap(self.loss)
        self.loss_kinds = np.zeros(len(GraphKind))  # over all steps
        self.pieces = 0
        self.begin = time.monotonic() if started is None else started  # earlier sittings are counted in
        self.step = self.epoch = self.batch = 0  # the next batch is `batch` of `epoch`
        self.best, self.best_step, self.epochs_since_best = -1.0, 0, 0
        self.metrics = Metrics(output / "metrics.jsonl", tensorboard=self.config.tensorboard and processes.is_first)
        self.plan: Plan | None = None
        self.scores: scoring.Scores | None = None
        self.last_checkpoint = self.last_drawn = time.monotonic()
        self.sitting = 0, 0.0  # the step and the time at which this one began

    # ------------------------------------------------------------------ a run

    def run(self) -> scoring.Scores | None:
        """Train to the end; the first process returns the scores of the best model on the whole development set."""
        self._resume()
        if self.plan is None:
            self.plan = self._make_plan()
            self._checkpoint()
        self.observer.planned(self.plan, self.step)
        self.sitting = self.step, self.elapsed
        while self.step < self.plan.n_steps and not self._out_of_time():
            self._epoch()
            goes_on = self.step < self.plan.n_steps and not self._out_of_time()
            if goes_on and self.epoch % self.plan.eval_epochs:
                continue
            stop = self._score(self.plan) and self.time_limit is None
            if self.processes.agreed(stop):
                break
        if not self.processes.is_first:
            return None
        if self.best < 0:  # there was no time for a single step
            self._score(self.plan)
        if self.scores is None:  # of the best model on all of the development set
            best = Parser.load(self.output)
            best.model.to(self.processes.device)
            self.scores = score(best, self.dev)
        self.metrics.write(step=self.step, final=True, **self.scores.as_dict(), seconds=round(self.elapsed, 2))
        self.metrics.close()
        self._draw()
        return self.scores

    @property
    def elapsed(self) -> float:
        """Seconds since the start, all sittings together."""
        return time.monotonic() - self.begin

    @property
    def loss_shares(self) -> dict[str, float]:
        """The share of the loss, over all steps, that came from decisions on empty, exact and stale graphs."""
        whole = float(self.loss_kinds.sum()) or 1.0
        return {kind.name.lower(): round(float(self.loss_kinds[kind]) / whole, 4) for kind in GraphKind}

    @property
    def epochs_done(self) -> float:
        """Epochs, the last one perhaps in part."""
        return self.epoch + self.batch / len(self.sampler.batches(self.epoch))

    def _epoch(self) -> None:
        """The rest of the current epoch, or of the plan."""
        assert self.plan is not None
        batches = self.sampler.batches(self.epoch)
        self.model.train()
        while self.batch < len(batches) and self.step < self.plan.n_steps and not self._out_of_time():
            share = set_rate(self.optimiser, self.step, self.plan.n_steps, self.config.warmup)
            loss = self._step(batches[self.batch], self.optimiser)
            self.step, self.batch = self.step + 1, self.batch + 1
            if self.processes.is_first:
                self.observer.stepped(self.step, loss)
                if self.step % LOG_EVERY == 0:
                    self.metrics.write(
                        step=self.step, epoch=self.epoch, loss=loss, rate=share, seconds=round(self.elapsed, 2)
                    )
            self._checkpoint_if_due()
            if self.time_limit is not None and self.step % PACE_EVERY == 0:
                self._keep_pace(self.plan)
        if self.batch >= len(batches):
            self.epoch, self.batch = self.epoch + 1, 0

    def _step(self, batch: IntArray, optimiser: torch.optim.Optimizer, epoch: int | None = None) -> float:
        """One step on this process's share of a batch; return the mean loss of a decision over all shares."""
        share = batch[self.processes.rank :: self.processes.count]
        is_empty = len(share) == 0  # it must take part all the same
        samples = [
            self.sampler.sample(int(n), self.epoch if epoch is None else epoch)
            for n in (batch[:1] if is_empty else share)
        ]
        dropout.seed([self.config.seed, self.step, self.processes.rank])
        self.pieces += 0 if is_empty else int(self.sampler.costs[share].sum())
        # a batch is over its budget if one of its sentences is, as one with all its states may be
        budget, stale = CHUNK_BUDGETS * self.config.batch_pieces, StaleWeights.of(self.config)
        parts = [supervise(chunk, self.model.config, stale) for chunk in chunks(samples, self.model.config, budget)]
        whole = self.processes.total(0.0 if is_empty else total_weight(parts))
        optimiser.zero_grad(set_to_none=True)
        total = 0.0
        for number, part in enumerate(parts, 1):
            with nullcontext() if number == len(parts) else self.processes.alone(self.module):
                loss = self.module(part)
                (loss.total * (0 if is_empty else self.processes.count / whole)).backward()
            if not is_empty:
                total += float(loss.total.detach())
                self.loss_kinds += loss.by_kind.double().cpu().numpy() / whole
        nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        optimiser.step()
        mean = self.processes.total(total) / whole
        if not math.isfinite(mean):
            raise DataError(f"the loss is {mean} at step {self.step + 1}; try a lower train.learning_rate")
        return mean

    @torch.inference_mode()
    def _encode(self, batch: IntArray) -> None:
        """Encode a batch and learn nothing from it, which is most of what decoding does."""
        samples = [self.sampler.sample(int(n), 0) for n in batch]
        with self.loss.precision():
            for chunk in chunks(samples, self.model.config, CHUNK_BUDGETS * self.config.batch_pieces):
                encode_only(self.model, chunk)

    def _keep_pace(self, plan: Plan) -> None:
        """If the machine is slower than when it was timed, plan fewer steps: the rate is to come down to 0 in time.

        If it is much faster, plan more; but in the first half only, since the rate rises with it.
        """
        assert self.time_limit is not None
        first_step, began = self.sitting
        a_step = (self.elapsed - began) / (self.step - first_step)
        left = int((self.time_limit - self.elapsed - plan.finish_seconds(len(self.dev))) / a_step)
        planned = plan.n_steps - self.step
        is_ahead = left > AHEAD * planned and self.step < plan.n_steps / 2
        is_off = left < BEHIND * planned or is_ahead
        new = replace(plan, n_steps=self.step + max(left, 1)) if is_off else plan
        self.plan = self.processes.agreed(new)
        if self.plan is not plan:
            self._checkpoint()  # so that the run goes on the same way however often it is killed

    def _out_of_time(self) -> bool:
        """Whether there is just time left to score; happens only where the machine was slower than planned."""
        if self.time_limit is None or self.plan is None:
            return False
        over = self.elapsed + self.plan.finish_seconds(len(self.dev)) > self.time_limit
        return bool(self.processes.agreed(over))

    # ------------------------------------------------------------------ scoring

    def _score(self, plan: Plan) -> bool:
        """Score, keep the model if it is the best so far, and say whether patience is at an end."""
        if not self.processes.is_first:
            return False
        n_scored = plan.eval_sentences or len(self.dev)
        chosen = np.linspace(0, len(self.dev) - 1, min(n_scored, len(self.dev))).astype(int)
        is_quick = plan.quick_share < 1
        scores = score(self.parser, [self.dev[i] for i in chosen], reencode=QUICK if is_quick else None)
        self.model.train()
        # a part of the development set cannot tell models apart that are close: then the last one, with its rate down, is taken
        is_last_of_part = len(chosen) < len(self.dev) and self.step >= plan.n_steps
        is_best = scores.las > self.best - is_last_of_part * scores.las_error
        if is_best:
            self.best, self.best_step, self.epochs_since_best = scores.las, self.step, 0
            self.scores = scores if len(chosen) == len(self.dev) and not is_quick else None
            self.parser.save(self.output)
        else:
            self.epochs_since_best += 1
        self.metrics.write(
            step=self.step, epoch=self.epoch, **scores.as_dict(), best=is_best, seconds=round(self.elapsed, 2)
        )
        if time.monotonic() - self.last_drawn > DRAW_EVERY:
            self._draw()
        self.observer.scored(self.step, self.epoch, scores, is_best)
        return bool(self.config.patience) and self.epochs_since_best >= self.config.patience

    def _draw(self) -> None:
        self.metrics.draw(self.output / "learning_curve.png")
        self.last_drawn = time.monotonic()

    # ------------------------------------------------------------------ plan and checkpoints

    def _make_plan(self) -> Plan:
        """Time a few steps on the side, leaving the weights as they were, and plan."""
        weights = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}
        throw_away = optimiser(self.model, self.config, pretrained=self.pretrained)
        for group in throw_away.param_groups:
            group["lr"] = 1e-9
        self.model.train()
        seconds = timed(lambda batch: void(self._step(batch, throw_away, epoch=0)), self.sampler)
        self.loss_kinds[:], self.pieces = 0, 0
        self.model.eval()
        encoding_seconds = timed(self._encode, self.sampler)
        self.optimiser.zero_grad(set_to_none=True)
        self.model.load_state_dict(weights)
        left = None if self.time_limit is None else self.time_limit - self.elapsed
        features = [self.parser.featurizer(sentence) for sentence in self.dev]
        made = plan(
            self.sampler,
            features,
            self.parser.config.model,
            seconds_a_piece=seconds,
            encoding_seconds=encoding_seconds,
            seconds_left=left,
        )
        agreed: Plan = self.processes.agreed(made)
        return agreed

    def _resume(self) -> None:
        found = checkpoint.load(self.output / "checkpoints")
        if found is None:
            self.metrics.truncate(0)
            return
        tensors, progress = found
        checkpoint.restore(tensors, self.model, self.optimiser)
        self.plan = Plan(**progress["plan"])
        self.step, self.epoch, self.batch = progress["step"], progress["epoch"], progress["batch"]
        self.best, self.best_step = progress["best"], progress["best_step"]
        self.epochs_since_best = progress["epochs_since_best"]
        self.loss_kinds[:] = progress.get("loss_kinds", 0.0)
        self.pieces = progress.get("pieces", 0)
        self.begin = time.monotonic() - progress["elapsed"]
        if self.processes.is_first:
            self.metrics.truncate(progress["metrics_size"])

    def _checkpoint_if_due(self) -> None:
        if self.config.checkpoint_steps:
            due = self.step % self.config.checkpoint_steps == 0
        else:
            due = time.monotonic() - self.last_checkpoint > 60 * self.config.checkpoint_minutes
        if self.processes.agreed(due):
            self._checkpoint()

    def _checkpoint(self) -> None:
        assert self.plan is not None
        if self.processes.is_first:
            progress = {
                "step": self.step,
                "epoch": self.epoch,
                "batch": self.batch,
                "best": self.best,
                "best_step": self.best_step,
                "epochs_since_best": self.epochs_since_best,
                "loss_kinds": self.loss_kinds.tolist(),
                "pieces": self.pieces,
                "elapsed": self.elapsed,
                "metrics_size": self.metrics.size(),
                "plan": asdict(self.plan),
            }
            checkpoint.save(self.output / "checkpoints", self.step, self.model, self.optimiser, progress)
        self.last_checkpoint = time.monotonic()


def score(parser: Parser, gold: Sequence[Sentence], *, reencode: float | None = None) -> scoring.Scores:
    """Parse sentences anew and score against the trees they have."""
    parser.model.eval()
    return scoring.score(gold, parser.parse(gold, reencode=reencode))


def void(_: object) -> None:
    """Drop a value."""


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Write a small file so that it is there whole or not at all."""
    part = path.with_suffix(".part")
    try:
        part.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error
