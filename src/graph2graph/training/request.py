"""What a training run is asked to do; a run can only be resumed with the same request."""

import zlib
from dataclasses import dataclass, replace
from pathlib import Path

from graph2graph.config import Config
from graph2graph.errors import DataError
from graph2graph.parser.migration import dump_config
from graph2graph.training.record import FILE, Asked, RunRecord, read_record
from graph2graph.training.sizes import is_sized, sized

NOT_STATED = "not stated"  # the licence


@dataclass(frozen=True)
class Request:
    """What to train, on what, and where to."""

    train: tuple[Path, ...]
    dev: Path
    output: Path
    config: Config
    encoder: str | None = None  # a name or a directory
    start: Path | None = None  # directory of a model to continue from, instead of an encoder
    time_limit: float | None = None  # seconds
    resume: bool = False
    license: str = NOT_STATED
    command: str = ""
    started: float | None = None  # when the time limit began, on the clock of time.monotonic; default: now
    processes: int = 1  # that the command starts

    @property
    def is_pretrained(self) -> bool:
        """Whether training does not begin with random weights."""
        return self.encoder is not None or self.start is not None

    def sized(self, n_words: int) -> "Request":
        """The request with a size of the parser: from scratch it follows the number of training words, unless it is set."""
        if self.is_pretrained or is_sized(self.config):
            return self
        return replace(self, config=sized(self.config, n_words))

    def asked(self, n_processes: int) -> Asked:
        """The values that must not change when a run is resumed, and the time limit, which may: the plan is saved."""
        return Asked(
            train=[part for file in self.train for part in (str(file), _fingerprint(file))],
            dev=[str(self.dev), _fingerprint(self.dev)],
            encoder=self.encoder,
            settings=dump_config(self.config),
            processes=n_processes,
            start=None if self.start is None else str(self.start),
            time_limit=self.time_limit,
            license=self.license,
        )

    def begun(self, asked: Asked) -> RunRecord | None:
        """The record of this run in its output directory, or None if it has not begun; an error if another run is there."""
        record = read_record(self.output)
        if record is None:
            if (self.output / "model.safetensors").exists():
                raise DataError(f"{self.output}: there is a model already; choose another --output")
            return None
        if not self.resume:
            raise DataError(
                f"{self.output}: there is a run already; continue it with --resume, or choose another --output"
            )
        if name := record.asked.difference(asked, str(self.output / FILE)):
            raise DataError(f"{self.output}: cannot resume, {name} is not the same as when the run began")
        return record


def _fingerprint(file: Path) -> str:
    return f"{zlib.crc32(file.read_bytes()):08x}"
