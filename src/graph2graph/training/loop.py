"""The training loop: steps, scoring after each epoch, checkpoints. docs/training.md lists the files that it leaves."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from time import monotonic
from typing import Annotated, Any, Self

from annotated_types import Len
from pydantic import TypeAdapter

from graph2graph import scoring
from graph2graph.errors import DataError, first_line
from graph2graph.parser.parser import Parser
from graph2graph.training import checkpoint
from graph2graph.training.examples import Example
from graph2graph.training.learner import Learner, Update, optimiser, set_rate
from graph2graph.training.plan import QUICK, Plan, Speed, evenly_spaced, plan, timed
from graph2graph.training.processes import Processes
from graph2graph.training.report import MetricsLog, RunReport
from graph2graph.training.request import Request
from graph2graph.training.sampling import Sampler
from graph2graph.training.stopping import Stopped, StopRequest, stop_request
from graph2graph.training.supervision import GraphKind
from graph2graph.treebank.sentence import Sentence

LOG_EVERY = 20  # steps
DRAW_EVERY = 60  # seconds
PACE_EVERY = 50  # steps
N_KINDS = len(GraphKind)
TIMING_RATE = 1e-9  # the learning rate of the steps that are only timed


@dataclass
class Progress:
    """How far a run is; saved with each checkpoint."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # the next one of the epoch
    best: float = -1.0  # LAS
    best_step: int = 0
    epochs_since_best: int = 0
    scored_step: int = -1  # the step of the last scoring
    pieces: int = 0  # encoded so far
    updates: dict[str, int] = field(default_factory=dict)  # made so far in each precision
    # sums of the losses so far
    loss_kinds: Annotated[list[float], Len(N_KINDS, N_KINDS)] = field(default_factory=lambda: [0.0] * N_KINDS)

    @classmethod
    def read(cls, values: dict[str, Any]) -> Self:
        """The progress in a checkpoint; an older release may have saved less. A ValueError if it is something else."""
        return TypeAdapter(cls).validate_python(
            {one.name: values[one.name] for one in fields(cls) if one.name in values}
        )

    def add(self, update: Update, precision: str) -> None:
        """Count an update that was made in this precision."""
        self.updates = self.updates | {precision: self.updates.get(precision, 0) + 1}
        self.step, self.batch, self.pieces = self.step + 1, self.batch + 1, self.pieces + update.pieces
        self.loss_kinds = [before + float(now) for before, now in zip(self.loss_kinds, update.by_kind, strict=True)]

    def loss_shares(self) -> dict[str, float]:
        """The share of the loss that came from decisions on each kind of graph."""
        whole = sum(self.loss_kinds) or 1.0
        return {kind.name.lower(): round(self.loss_kinds[kind] / whole, 4) for kind in GraphKind}


@dataclass(frozen=True)
class Outcome:
    """The result of a finished run."""

    scores: scoring.Scores  # of the best model on the whole development set
    progress: Progress
    epochs: float
    seconds: float


class Trainer:
    """One run, from its start or from its last checkpoint."""

    plan: Plan  # made or read when the run begins
    stop: StopRequest  # noted while it runs

    def __init__(
        self,
        request: Request,
        parser: Parser,
        examples: Sequence[Example],
        dev: Sequence[Sentence],
        processes: Processes,
        report: RunReport,
    ) -> None:
        self.request, self.parser, self.dev, self.processes, self.report = request, parser, dev, processes, report
        self.config = parser.config.train
        self.sampler = Sampler(examples, parser.config.model, self.config, mask=parser.pieces.mask)
        self.learner = Learner(parser.model, self.sampler, processes)
        self.optimiser = optimiser(parser.model, self.config, pretrained=request.is_pretrained)
        has_tensorboard = self.config.tensorboard and processes.is_first
        self.metrics = MetricsLog(request.output / "metrics.jsonl", tensorboard=has_tensorboard)
        self.progress = Progress()
        self.scores: scoring.Scores | None = None  # of the best model, once it has parsed the whole development set
        self.began = monotonic() if request.started is None else request.started  # earlier sessions count
        self.last_checkpoint = self.last_drawn = monotonic()
        self.session = 0, 0.0  # the step and the time at which this session began

    @property
    def elapsed(self) -> float:
        """Seconds since the start, all sessions together."""
        return monotonic() - self.began

    def run(self) -> Outcome | None:
        """Train to the end; the first process returns the outcome. A signal stops the run at a new checkpoint."""
        with stop_request() as self.stop:
            if not self._resume():
                self.plan = self._new_plan()
                self._checkpoint()
            if self.processes.is_first:
                self.report.planned(self.plan, self.progress.step)
            self.session = self.progress.step, self.elapsed
            while self._goes_on():
                if not self._was_stopped_while_scoring():
                    self._epoch()
                if self._has_steps_left() and self.progress.epoch % self.plan.eval_epochs:
                    continue
                self._evaluate()
                self._stop_if_asked()
            return self._finish() if self.processes.is_first else None

    def _goes_on(self) -> bool:
        """Whether there are steps left, or the last ones are not scored yet, as in a run that was killed while scoring."""
        patience = self.config.patience if self.request.time_limit is None else 0
        if self.processes.agreed(0 < patience <= self.progress.epochs_since_best):
            return False
        return self._has_steps_left() or self.progress.scored_step < self.progress.step

    def _was_stopped_while_scoring(self) -> bool:
        """Whether the epoch that has just ended is to be scored, before the next one begins."""
        progress = self.progress
        is_new = progress.step > 0 and progress.batch == 0 and progress.epoch % self.plan.eval_epochs == 0
        return is_new and progress.scored_step < progress.step

    def _stop_if_asked(self) -> None:
        """End the session with a checkpoint if a signal has asked for it."""
        if number := self.processes.agreed(self.stop.signal):
            self._checkpoint()
            self.processes.wait()  # the first process is writing
            raise Stopped(number, self.progress.step)

    def _finish(self) -> Outcome:
        scores = self.scores or self._final_scores()
        self._write(final=True, **scores.as_dict())
        self.metrics.close()
        self._draw()
        epochs = self.progress.epoch + self.progress.batch / len(self.sampler.batches(self.progress.epoch))
        return Outcome(scores, self.progress, epochs, self.elapsed)

    def _final_scores(self) -> scoring.Scores:
        """The scores of the best model on the whole development set."""
        best = Parser.load(self.request.output)
        best.model.to(self.processes.device)
        scores = score(best, self.dev, stop=self.stop)
        if scores is None:
            self._checkpoint()
            raise Stopped(self.stop.signal, self.progress.step)
        return scores

    def _has_steps_left(self) -> bool:
        has_steps = self.progress.step < self.plan.n_steps
        if not has_steps or self.request.time_limit is None:
            return has_steps
        return bool(self.processes.agreed(self._seconds_left() >= 0))  # negative if the machine is slower than planned

    def _seconds_left(self) -> float:
        """The time left for steps."""
        limit = math.inf if self.request.time_limit is None else self.request.time_limit
        return limit - self.elapsed - self.plan.finish_seconds(len(self.dev))

    def _epoch(self) -> None:
        """Make the remaining steps of the epoch, or of the plan."""
        progress, batches = self.progress, self.sampler.batches(self.progress.epoch)
        self.parser.model.train()
        while progress.batch < len(batches) and self._has_steps_left():
            rate = set_rate(self.optimiser, progress.step, self.plan.n_steps, self.config.warmup)
            numbers = batches[progress.batch]
            update = self.learner.update(numbers, self.optimiser, epoch=progress.epoch, step=progress.step)
            progress.add(update, self.config.precision)
            if self.processes.is_first:
                self.report.stepped(progress.step, update.loss)
                if progress.step % LOG_EVERY == 0:
                    self._write(epoch=progress.epoch, loss=update.loss, rate=rate)
            self._checkpoint_if_due()
            is_measured = progress.step - self.session[0] >= PACE_EVERY
            if self.request.time_limit is not None and progress.step % PACE_EVERY == 0 and is_measured:
                self._keep_pace()
        if progress.batch >= len(batches):
            progress.epoch, progress.batch = progress.epoch + 1, 0

    def _write(self, **values: Any) -> None:
        self.metrics.write(step=self.progress.step, **values, seconds=round(self.elapsed, 2))

    def _evaluate(self) -> None:
        """Score, and keep the model if it is the best so far; do nothing if the run is asked to stop meanwhile."""
        progress, dev = self.progress, self.dev
        if not self.processes.is_first:
            progress.scored_step = progress.step
            return
        chosen, is_quick = evenly_spaced(dev, self.plan.eval_sentences), self.plan.quick_share < 1
        scores = score(self.parser, chosen, reencode=QUICK if is_quick else None, stop=self.stop)
        self.parser.model.train()
        if scores is None:
            return
        progress.scored_step = progress.step
        # a part of the development set cannot rank close models; of these the last is kept: it had the lowest learning rate
        is_last_of_part = len(chosen) < len(dev) and progress.step >= self.plan.n_steps
        is_best = scores.las > progress.best - is_last_of_part * scores.las_error
        if is_best:
            progress.best, progress.best_step, progress.epochs_since_best = scores.las, progress.step, 0
            self.scores = scores if len(chosen) == len(dev) and not is_quick else None
            self.parser.save(self.request.output)
        else:
            progress.epochs_since_best += 1
        self._write(epoch=progress.epoch, **scores.as_dict(), best=is_best)
        if monotonic() - self.last_drawn > DRAW_EVERY:
            self._draw()
        self.report.scored(progress.step, progress.epoch, scores, is_best)

    def _draw(self) -> None:
        self.metrics.draw(self.request.output / "learning_curve.png")
        self.last_drawn = monotonic()

    def _new_plan(self) -> Plan:
        speed, limit = self._speed(), self.request.time_limit
        features = [self.parser.featurizer(sentence) for sentence in self.dev]
        left = None if limit is None else limit - self.elapsed
        agreed: Plan = self.processes.agreed(plan(self.sampler, features, speed, seconds_left=left))
        return agreed

    def _speed(self) -> Speed:
        """Time a few steps; they leave the weights unchanged."""
        model = self.parser.model
        weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        throw_away = optimiser(model, self.config, pretrained=self.request.is_pretrained)
        for group in throw_away.param_groups:
            group["lr"] = TIMING_RATE
        model.train()
        training = timed(lambda batch: self.learner.update(batch, throw_away, epoch=0, step=0), self.sampler)
        model.eval()
        encoding = timed(self.learner.encode, self.sampler)
        self.optimiser.zero_grad(set_to_none=True)
        model.load_state_dict(weights)
        return Speed(training, encoding)

    def _keep_pace(self) -> None:
        """Change the plan if the machine is slower than when it was timed, or much faster."""
        first_step, began = self.session
        seconds_a_step = (self.elapsed - began) / (self.progress.step - first_step)
        before = self.plan
        self.plan = self.processes.agreed(before.at_pace(self.progress.step, seconds_a_step, self._seconds_left()))
        if self.plan != before:
            self._checkpoint()  # so that a killed run is resumed with this plan
            self.report.replanned(self.plan)

    def _resume(self) -> bool:
        """Continue from the last checkpoint; False if there is none."""
        directory = self.request.output / checkpoint.DIRECTORY
        found = checkpoint.load(directory)
        n_logged = 0
        if found is not None:
            tensors, saved = found
            try:
                checkpoint.restore(tensors, self.parser.model, self.optimiser)
                self.plan, self.progress = TypeAdapter(Plan).validate_python(saved["plan"]), Progress.read(saved)
                self.began, n_logged = monotonic() - float(saved["elapsed"]), int(saved["metrics_size"])
            except (KeyError, TypeError, ValueError, RuntimeError) as error:
                way_out = "remove the directory to start from the beginning"
                raise DataError(f"{directory}: not a checkpoint of this run: {first_line(error)}; {way_out}") from error
        if self.processes.is_first:
            self.metrics.truncate(n_logged)
        return found is not None

    def _checkpoint_if_due(self) -> None:
        if self.config.checkpoint_steps:
            is_due = self.progress.step % self.config.checkpoint_steps == 0
        else:
            is_due = monotonic() - self.last_checkpoint > 60 * self.config.checkpoint_minutes
        is_due, is_asked = self.processes.agreed((is_due, bool(self.stop.signal)))
        if is_asked:
            self._stop_if_asked()
        elif is_due:
            self._checkpoint()

    def _checkpoint(self) -> None:
        if self.processes.is_first:
            session = {"elapsed": self.elapsed, "metrics_size": self.metrics.size(), "plan": asdict(self.plan)}
            saved, directory = asdict(self.progress) | session, self.request.output / checkpoint.DIRECTORY
            checkpoint.save(directory, self.progress.step, self.parser.model, self.optimiser, saved)
        self.last_checkpoint = monotonic()


def score(
    parser: Parser, gold: Sequence[Sentence], *, reencode: float | None = None, stop: StopRequest | None = None
) -> scoring.Scores | None:
    """The scores of a parser on sentences with gold trees, or None if it is asked to stop; it is left in evaluation mode."""
    parser.model.eval()
    parsed = []
    for sentence in parser.parse(gold, reencode=reencode):
        if stop is not None and stop.signal:
            return None
        parsed.append(sentence)
    return scoring.score(gold, parsed)
