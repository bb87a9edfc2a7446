"""The record of a training run, run.json: what was asked for when it began, and in the end the result."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict

from graph2graph.config import Config, EncoderConfig, FrozenModel
from graph2graph.errors import DataError
from graph2graph.files import read_json, write_json
from graph2graph.parser.migration import migrated

FILE = "run.json"


class Asked(FrozenModel):
    """What a run was asked to do."""

    model_config = ConfigDict(extra="ignore")  # of other releases

    train: list[str]  # path and checksum of each file, one after the other
    dev: list[str]
    encoder: str | None
    settings: dict[str, Any]  # all of them, with their format
    processes: int
    start: str | None = None
    time_limit: float | None = None  # seconds; releases before November 2026 did not record it
    license: str | None = None  # nor this

    @property
    def files(self) -> tuple[list[Path], Path]:
        """The training files and the development file."""
        return [Path(name) for name in self.train[::2]], Path(self.dev[0])

    def config(self, source: str) -> Config:
        """The settings; the number of layers is open if it is the default and the encoder may have fewer."""
        values = migrated(self.settings, source)
        config = Config.parse(values, source)
        if self.encoder is None or config.model.encoder.layers != EncoderConfig().layers:
            return config
        values.get("model", {}).get("encoder", {}).pop("layers", None)
        return Config.parse(values, source)

    def difference(self, other: "Asked", source: str) -> str | None:
        """What another run was asked to do differently, so that it cannot continue this one; files may have moved."""
        pairs: dict[str, Sequence[object]] = {
            "train": (self.train[1::2], other.train[1::2]),
            "dev": (self.dev[1], other.dev[1]),
            "encoder": (last_part(self.encoder), last_part(other.encoder)),
            "start": (self.start, other.start),
            "settings": (self.config(source), other.config(source)),
            "processes": (self.processes, other.processes),
        }
        return next((name for name, (ours, theirs) in pairs.items() if ours != theirs), None)


class RunRecord(FrozenModel):
    """The content of run.json that a resumed run needs."""

    model_config = ConfigDict(extra="ignore")  # the result

    asked: Asked
    command: str = ""
    precision: Literal["fp32", "bf16"] | None = None  # when it began; releases before November 2026 did not record it
    finished: bool = False


def read_record(directory: Path) -> RunRecord | None:
    """The record of the run in a directory, or None if there is no run."""
    path = directory / FILE
    if not path.exists():
        return None
    try:
        record = RunRecord.parse(read_json(path), str(path))
        if len(record.asked.dev) != 2 or len(record.asked.train) % 2 or not record.asked.train:
            raise DataError(f"{path}: asked: expected a path and a checksum for each file")
        record.asked.config(str(path))
    except DataError as error:
        raise DataError(
            f"{error}; this is not the record of a run that can be resumed: choose another --output"
        ) from error
    return record


def write_record(directory: Path, record: RunRecord, result: dict[str, Any] | None = None) -> None:
    """Write the record of a run that begins, or that is finished with a result."""
    write_json(directory / FILE, record.model_dump() | {"finished": result is not None} | (result or {}))


def last_part(name: str | None) -> str | None:
    """The last part of an encoder's name: its directory may have moved."""
    return None if name is None else Path(name).name
