"""The options of `g2g train`, and the request that they make: of a new run, or of one that is resumed.

In a resumed run, an option that is not given is what the run began with, and one that contradicts the run is refused by name.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

from graph2graph.config import Config
from graph2graph.errors import DataError
from graph2graph.files import read_toml
from graph2graph.parser import catalogue
from graph2graph.training.record import FILE, Asked, last_part, read_record
from graph2graph.training.request import NOT_STATED, Request
from graph2graph.training.sizes import PAPER_SIZE, paper_size
from graph2graph.variants import changed, flat, resolve, variant_of

FROM_SCRATCH = "none", PAPER_SIZE  # in the place of an encoder


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """What the user chose; None, or nothing, was not given."""

    train: Sequence[Path] = ()
    dev: Path | None = None
    encoder: str | None = None
    start: str | None = None
    variant: str | None = None
    file: Path | None = None  # settings, and perhaps an encoder and a variant
    tags: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)  # by dotted name
    time_limit: float | None = None  # seconds
    license: str | None = None
    processes: int | None = None

    def request(self, output: Path, *, resume: bool, command: str, started: float | None = None) -> Request:
        """The request of a new run; with `resume`, of the run in `output` if there is one."""
        chosen, record = _Chosen.of(self), read_record(output) if resume else None
        if record is None:
            options, config, encoder = self, chosen.config(), chosen.pretrained
        else:
            options, config, encoder = (
                self._filled(record.asked),
                record.asked.config(str(output / FILE)),
                record.asked.encoder,
            )
            chosen.check(record.asked, config, output)
        if options.dev is None:
            raise DataError(f"{output}: there is no run to resume; give TRAIN and DEV to begin one")
        return Request(
            train=tuple(options.train),
            dev=options.dev,
            output=output,
            config=config,
            encoder=encoder,
            start=None if options.start is None else catalogue.find(options.start),
            time_limit=options.time_limit,
            resume=resume,
            license=options.license or NOT_STATED,
            command=(record and record.command) or command,
            started=started,
            processes=options.processes or 1,
        )

    def _filled(self, asked: Asked) -> "TrainOptions":
        """These options, the rest as a run was asked for."""
        train, dev = asked.files
        return replace(
            self,
            train=self.train or train,
            dev=self.dev or dev,
            start=asked.start,
            time_limit=self.time_limit or asked.time_limit,
            license=self.license or asked.license,
            processes=self.processes or asked.processes,
        )


@dataclass(frozen=True)
class _Chosen:
    """Options with the content of the file of settings; an option is stronger than the file."""

    options: TrainOptions
    encoder: str | None
    variant: str | None
    values: Mapping[str, Any]  # of the file, nested

    @classmethod
    def of(cls, options: TrainOptions) -> "_Chosen":
        values = {} if options.file is None else read_toml(options.file)
        encoder, variant = values.pop("encoder", None), values.pop("variant", None)
        return cls(options, options.encoder or encoder, options.variant or variant, values)

    @property
    def pretrained(self) -> str | None:
        """The pretrained encoder, if there is to be one."""
        return None if self.encoder in FROM_SCRATCH else self.encoder

    @property
    def size(self) -> dict[str, Any]:
        """The settings that stand for a size in the place of an encoder; those of the file are stronger."""
        return {
            name: value
            for name, value in (paper_size() if self.encoder == PAPER_SIZE else {}).items()
            if name not in flat(self.values)
        }

    def config(self) -> Config:
        """All settings of a new run."""
        tags = {} if self.options.tags is None else {"data.tags": self.options.tags}
        return resolve(self.values, self.size | tags | dict(self.options.settings), variant=self.variant)

    def check(self, asked: Asked, config: Config, output: Path) -> None:
        """Refuse an option that contradicts what the run in `output` was asked to do."""
        for option, given, before in (*self._settings(config), *self._others(asked, config)):
            if given is not None and given != before:
                way_out = "leave it out, or choose another --output"
                raise DataError(f"{output}: {option} contradicts the run to be resumed, which has {before}: {way_out}")

    def _settings(self, config: Config) -> list[tuple[str, Any, Any]]:
        """Each setting that is given: its option, its value, and that of the run."""
        options, given = self.options, dict[str, tuple[str, Any]]()
        given |= {name: (f"--encoder {PAPER_SIZE}", value) for name, value in self.size.items()}
        given |= {name: (f"{name} in --config {options.file}", value) for name, value in flat(self.values).items()}
        given |= {} if options.tags is None else {"data.tags": (f"--tags {options.tags}", options.tags)}
        for setting, value in options.settings.items():
            given |= {name: (f"--set {name}={_shown(one)}", one) for name, one in flat({setting: value}).items()}
        found = []
        for name, (option, value) in given.items():
            after = changed(config.model_dump(), {name: value})
            found.append((option, _setting(after, name), _setting(config, name)))
        return found

    def _others(self, asked: Asked, config: Config) -> list[tuple[str, Any, Any]]:
        """The same of the other options; older releases did not record the time limit and the licence."""
        options, variant = self.options, variant_of(config.model)
        encoder = "none" if self.encoder in FROM_SCRATCH else last_part(self.encoder)
        start = None if options.start is None else str(catalogue.find(options.start))
        found = [
            (f"--encoder {self.encoder}", encoder, last_part(asked.encoder) or "none"),
            (f"--start {options.start}", start, asked.start or "none"),
            (f"--model {self.variant}", self.variant, variant.name if variant else "no variant of the paper"),
            (f"--processes {options.processes}", options.processes, asked.processes),
        ]
        if asked.license is not None:
            limit, before = _minutes(options.time_limit), _minutes(asked.time_limit) or "none"
            found += [
                (f"--time-limit {limit}", limit, before),
                (f"--license {options.license}", options.license, asked.license),
            ]
        return found


def _setting(config: Config, name: str) -> Any:
    """The value of a setting, by its dotted name."""
    return reduce(getattr, name.split("."), config)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _minutes(seconds: float | None) -> str | None:
    """A time limit as the command line has it."""
    return None if seconds is None else f"{seconds / 60:g}m"
