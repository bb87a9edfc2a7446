"""What a run reports: lines for the user, metrics.jsonl, a learning curve, and TensorBoard on request."""

import io
import json
import os
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph2graph.errors import DataError
from graph2graph.files import errors_naming, write_bytes
from graph2graph.scoring import Scores

if TYPE_CHECKING:
    from graph2graph.training.loop import Outcome
    from graph2graph.training.plan import Plan

SMOOTHING = 0.95  # of the loss that is shown


class RunReport:
    """Reports the plan and each scoring in a line; the trainer calls it in the first process."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self.note = note  # is called with each line
        self.loss: float | None = None  # smoothed

    def planned(self, plan: "Plan", resumed_at: int) -> None:
        """Report the plan; steps begin after `resumed_at`."""
        scored = f"{plan.eval_sentences:,} sentences of" if plan.eval_sentences else "all of"
        when = "each epoch" if plan.eval_epochs == 1 else f"every {plan.eval_epochs} epochs"
        minutes = (plan.train_seconds + plan.score_seconds) / 60
        self.note(
            f"plan: {plan.n_steps:,} steps, about {minutes:.0f} minutes "
            f"({1 / plan.seconds_a_piece:,.0f} pieces a second); {scored} the development set after {when}"
        )
        if resumed_at:
            self.note(f"continuing after step {resumed_at:,}")

    def stepped(self, step: int, loss: float) -> None:  # noqa: ARG002 - for subclasses
        """Keep the loss of a step for the next line."""
        self.loss = loss if self.loss is None else SMOOTHING * self.loss + (1 - SMOOTHING) * loss

    def scored(self, step: int, epoch: int, scores: Scores, best: bool) -> None:
        """Report a scoring; a star marks the best so far."""
        loss = "" if self.loss is None else f"loss {self.loss:.3f}, "
        mark = " *" if best else ""
        self.note(f"epoch {epoch}, step {step:,}: {loss}UAS {scores.uas:.2f}, LAS {scores.las:.2f}{mark}")

    def replanned(self, plan: "Plan") -> None:
        """The number of steps has changed, since the machine is slower or faster than it was."""

    def finished(self, output: Path, dev: Path, outcome: "Outcome") -> None:
        """Report the result."""
        scores, steps, minutes = outcome.scores, outcome.progress.step, outcome.seconds / 60
        self.note(
            f"{output}: UAS {scores.uas:.2f}, LAS {scores.las:.2f} on {dev.name}; "
            f"{steps:,} steps, {outcome.epochs:.1f} epochs, {minutes:.1f} minutes"
        )


class MetricsLog:
    """The file metrics.jsonl of a run. A resumed run drops the lines written after its checkpoint."""

    def __init__(self, path: Path, *, tensorboard: bool = False) -> None:
        self.path = path
        self.writer: Any = None
        if tensorboard:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError as error:
                raise DataError("train.tensorboard needs pip install 'graph2graph[tensorboard]'") from error
            self.writer = SummaryWriter(str(path.parent / "tensorboard"))

    def write(self, *, step: int, **values: Any) -> None:
        """Append a line."""
        with errors_naming(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step} | values) + "\n")
        if self.writer is not None:
            for name, value in values.items():
                if isinstance(value, float):
                    self.writer.add_scalar(name, value, step)

    def size(self) -> int:
        """The length of the file in bytes, for `truncate`."""
        return self.path.stat().st_size if self.path.exists() else 0

    def truncate(self, size: int) -> None:
        """Drop everything after the first `size` bytes, and check what is left."""
        if size > self.size():
            warnings.warn(f"{self.path}: its lines from before the checkpoint are missing", stacklevel=2)
        elif self.path.exists():
            with errors_naming(self.path):
                os.truncate(self.path, size)
        self.lines()

    def lines(self) -> list[dict[str, Any]]:
        """All lines."""
        if not self.path.exists():
            return []
        with errors_naming(self.path):
            lines = self.path.read_bytes().splitlines()
        return [self._read(line, number) for number, line in enumerate(lines, 1)]

    def _read(self, line: bytes, number: int) -> dict[str, Any]:
        """A line, if it is one that the learning curve can be drawn from."""
        try:
            values = dict(json.loads(line))
            for name in ("step", *({"loss", "uas", "las"} & values.keys())):
                float(values[name])
            return values
        except (ValueError, TypeError, KeyError) as error:
            way_out = "remove the file to go on without it"
            raise DataError(f"{self.path}:{number}: not a line of a training's metrics; {way_out}") from error

    def close(self) -> None:
        """Close the TensorBoard log."""
        if self.writer is not None:
            self.writer.close()

    def draw(self, path: Path) -> None:
        """Draw the learning curve: training loss, and UAS and LAS on the development set."""
        if find_spec("matplotlib") is None:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            write_bytes(path, _curve(self.lines()))


def _curve(lines: list[dict[str, Any]]) -> bytes:
    """The learning curve as PNG."""
    from matplotlib.figure import Figure

    losses = [(line["step"], line["loss"]) for line in lines if "loss" in line]
    scores = [(line["step"], line["uas"], line["las"]) for line in lines if "las" in line and not line.get("final")]
    figure = Figure(figsize=(7, 4), layout="constrained")
    left = figure.subplots()
    left.set_xlabel("step")
    left.set_ylabel("mean loss of a decision")
    if losses:
        left.plot(*zip(*losses, strict=True), color="#999999", linewidth=1, label="training loss")
    right = left.twinx()
    right.set_ylabel("score on the development set")
    if scores:
        steps, uas, las = zip(*scores, strict=True)
        right.plot(steps, uas, color="#0072B2", marker="o", markersize=4, label="UAS")
        right.plot(steps, las, color="#D55E00", marker="s", markersize=4, label="LAS")
        right.legend(loc="center right")
    image = io.BytesIO()
    figure.savefig(image, dpi=120, format="png")
    return image.getvalue()
