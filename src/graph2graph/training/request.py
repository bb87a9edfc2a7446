"""What a training run is asked to do; a run can only be resumed with the same request."""

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph2graph.config import Config
from graph2graph.errors import DataError
from graph2graph.files import read_json
from graph2graph.parser.migration import dump_config, parse_config


@dataclass(frozen=True)
class Request:
    """What to train, on what, and where to."""

    train: Path
    dev: Path
    output: Path
    config: Config
    encoder: str | None = None  # a name or a directory
    start: Path | None = None  # directory of a model to continue from, instead of an encoder
    time_limit: float | None = None  # seconds
    resume: bool = False
    license: str = "not stated"
    command: str = ""
    started: float | None = None  # when the time limit began, on the clock of time.monotonic; default: now

    @property
    def is_pretrained(self) -> bool:
        """Whether training does not begin with random weights."""
        return self.encoder is not None or self.start is not None

    def asked(self, n_processes: int) -> dict[str, Any]:
        """The values that must not change when a run is resumed; the time limit may, since the plan is saved."""
        return {
            "train": [str(self.train), _fingerprint(self.train)],
            "dev": [str(self.dev), _fingerprint(self.dev)],
            "encoder": self.encoder,
            "settings": dump_config(self.config),
            "processes": n_processes,
        } | ({"start": str(self.start)} if self.start else {})

    def is_finished(self, asked: dict[str, Any]) -> bool:
        """Whether this run is already finished in its output directory; an error if another run is there."""
        path = self.output / "run.json"
        if not path.exists():
            if (self.output / "model.safetensors").exists():
                raise DataError(f"{self.output}: there is a model already; choose another --output")
            return False
        if not self.resume:
            raise DataError(
                f"{self.output}: there is a run already; continue it with --resume, or choose another --output"
            )
        state: dict[str, Any] = read_json(path)
        before = state.get("asked", {})
        for key, value in asked.items():
            if key not in before or _comparable(key, before[key], path) != _comparable(key, value, path):
                raise DataError(f"{self.output}: cannot resume, {key} is not the same as when the run began")
        return bool(state.get("finished"))


def _fingerprint(file: Path) -> str:
    return f"{zlib.crc32(file.read_bytes()):08x}"


def _comparable(key: str, value: Any, path: Path) -> Any:
    """The part of a value that must not change: files may be moved, and older releases had other settings."""
    if key in ("train", "dev"):
        return value[-1]
    if key == "encoder" and value is not None:
        return Path(value).name
    return parse_config(value, str(path)) if key == "settings" else value
