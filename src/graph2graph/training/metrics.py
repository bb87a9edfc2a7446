"""What a run measures: JSON lines always, a picture of the learning curve where matplotlib is there, TensorBoard on request."""

import json
import os
import warnings
from pathlib import Path
from typing import Any

from graph2graph.errors import DataError


class Metrics:
    """The file metrics.jsonl of a run. A resumed run drops what was written after its checkpoint."""

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
        """Add a line."""
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"step": step} | values) + "\n")
        except OSError as error:
            raise DataError(f"{self.path}: {error.strerror}") from error
        if self.writer is not None:
            for name, value in values.items():
                if isinstance(value, float):
                    self.writer.add_scalar(name, value, step)

    def size(self) -> int:
        """The length of the file, to be given to `truncate` later."""
        return self.path.stat().st_size if self.path.exists() else 0

    def truncate(self, size: int) -> None:
        """Forget what came after."""
        if self.path.exists():
            os.truncate(self.path, min(size, self.size()))

    def lines(self) -> list[dict[str, Any]]:
        """All lines."""
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]

    def close(self) -> None:
        """End the TensorBoard log."""
        if self.writer is not None:
            self.writer.close()

    def draw(self, path: Path) -> None:
        """The learning curve: training loss, and UAS and LAS on the development set."""
        try:
            import matplotlib as mpl

            mpl.use("Agg")
            from matplotlib import pyplot
        except ImportError:
            return
        lines = self.lines()
        losses = [(line["step"], line["loss"]) for line in lines if "loss" in line]
        scores = [(line["step"], line["uas"], line["las"]) for line in lines if "las" in line and not line.get("final")]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            figure, left = pyplot.subplots(figsize=(7, 4), layout="constrained")
            left.set_xlabel("step")
            left.set_ylabel("loss of a decision")
            if losses:
                left.plot(*zip(*losses, strict=True), color="#999999", linewidth=1, label="training loss")
            right = left.twinx()
            right.set_ylabel("score on the development set")
            if scores:
                steps, uas, las = zip(*scores, strict=True)
                right.plot(steps, uas, color="#0072B2", marker="o", markersize=4, label="UAS")
                right.plot(steps, las, color="#D55E00", marker="s", markersize=4, label="LAS")
                right.legend(loc="center right")
            part = path.with_suffix(".part.png")
            figure.savefig(part, dpi=120)
            part.replace(path)
            pyplot.close(figure)
