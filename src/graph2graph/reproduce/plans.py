"""What is to be run for a table of the paper, from the TOML files of experiments/TABLE.

table.toml says what the table is and in which order its rows stand; cpu.toml and paper.toml are the two profiles: data,
encoder, budget and the settings that rows share, where `base` names a table whose profile they are laid over; every other file
is a row. The settings of a run, from the weakest to the
strongest: the profile's, its own for the variant, its own for models from scratch, the row's, the row's for the profile.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from graph2graph.config import Config, problem
from graph2graph.errors import DataError
from graph2graph.scoring import Punct
from graph2graph.variants import VARIANTS

ProfileName = Literal["cpu", "paper"]
Settings = dict[str, Any]  # nested, as in the config


class _Plan(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Figures(_Plan):
    """Published scores on one split."""

    uas: float | None = None
    las: float | None = None


class Published(_Plan):
    """What the paper has in its row."""

    dev: Figures = Figures()
    test: Figures = Figures()


class Change(_Plan):
    """What a row has of its own in one profile."""

    encoder: str | None = None
    treebank: str | None = None
    seeds: list[int] | None = None
    minutes: float | None = None  # instead of the profile's; 0: as many epochs as the settings say
    against: str | None = None
    settings: Settings = {}


class Row(_Plan):
    """A row of a table."""

    title: str
    variant: str = ""
    section: str = ""
    treebank: str | None = None  # default: the profile's
    scratch: bool = False  # without pretrained weights
    seeds: list[int] | None = None
    against: str | None = None  # the row that its relative error reduction refers to
    same_as: str | None = None  # TABLE/ROW: this is that run, shown again
    only: ProfileName | None = None  # not in the paper, and run in one profile
    settings: Settings = {}
    cpu: Change = Change()
    paper: Change = Change()
    published: Published = Published()


class Profile(_Plan):
    """What the runs of a table share."""

    about: str
    treebank: str | None = None
    encoder: str | None = None
    minutes: float | None = None  # of the whole machine, for each run; none: as many epochs as the settings say
    gpu: bool = False
    dev_sentences: int = 0  # of the development set, evenly spaced, that training looks at; 0 is all
    seeds: list[int] = [1]
    settings: Settings = {}
    variants: dict[str, Settings] = {}
    scratch: Settings = {}
    seconds: dict[str, float] = {}  # for half a sentence, in training, of each variant: the paper's running details


class Treebank(_Plan):
    """What there is to know of a treebank."""

    sentences: int = 0  # in the paper's training set
    note: str = ""  # how the files here differ from the paper's


class Table(_Plan):
    """A table of the paper."""

    title: str
    source: str  # where in the paper
    about: str = ""
    scorers: list[Punct] = ["include"]  # the first is the one that is shown
    average: bool = False  # over the rows of each section
    rows: list[str]
    treebanks: dict[str, Treebank] = {}


@dataclass(frozen=True)
class Run:
    """One row with one seed: everything that decides its result."""

    table: str
    profile: str  # with the minutes, where these are not the planned ones
    row: str
    seed: int
    title: str
    variant: str
    treebank: str
    encoder: str | None
    minutes: float | None
    settings: Settings = field(hash=False)
    gpu: bool = False
    dev_sentences: int = 0

    @property
    def name(self) -> str:
        """Of its files."""
        return f"{self.row}-{self.seed}"

    @property
    def plan(self) -> dict[str, Any]:
        """What must not change between its start and its end."""
        keys = ("variant", "treebank", "encoder", "minutes", "settings", *["dev_sentences"] * bool(self.dev_sentences))
        return {key: getattr(self, key) for key in keys}

    @property
    def config(self) -> Config:
        """Its settings, checked."""
        return Config.parse(VARIANTS[self.variant].complete(self.settings), f"{self.table}/{self.row}")


@dataclass(frozen=True)
class Plans:
    """A table with its rows, in one profile."""

    name: str
    profile_name: ProfileName
    table: Table
    profile: Profile
    rows: dict[str, Row]  # in the order of the table
    minutes: float | None = None  # instead of the profile's

    @classmethod
    def read(
        cls, experiments: Path, name: str, profile: ProfileName = "cpu", *, minutes: float | None = None
    ) -> "Plans":
        """The plans in experiments/NAME."""
        directory = experiments / name
        if not (directory / "table.toml").is_file():
            raise DataError(f"no table {name!r}; there are {', '.join(tables(experiments)) or 'none'}, and claims")
        table = read_toml(directory / "table.toml", Table)
        rows = {row: read_toml(directory / f"{row}.toml", Row) for row in table.rows}
        rows = {key: row for key, row in rows.items() if row.only in (None, profile)}
        found = cls(name, profile, table, read_profile(directory / f"{profile}.toml"), rows, minutes)
        for key, row in rows.items():
            found._check(directory / f"{key}.toml", row)
        return found

    @property
    def label(self) -> str:
        """The name of the profile; runs with another budget than planned are kept apart under another name."""
        return self.profile_name if self.minutes is None else f"{self.profile_name}-{self.minutes:g}m"

    def runs(self, rows: Sequence[str] | None = None, seeds: Sequence[int] | None = None) -> list[Run]:
        """The runs of these rows and seeds, all of them by default: every row once before any row twice."""
        for name in rows or ():
            if name not in self.rows:
                raise DataError(f"{self.name} has no row {name!r}; there are {', '.join(self.rows)}")
        wanted = [name for name in self.rows if (rows is None or name in rows) and name not in self.shared]
        found = [self.run(name, seed) for name in wanted for seed in seeds or self.seeds(name)]
        return sorted(found, key=lambda run: run.seed)

    @property
    def shared(self) -> list[str]:
        """The rows that are runs of another table."""
        return [name for name, row in self.rows.items() if row.same_as]

    def seeds(self, name: str) -> list[int]:
        """The seeds that are planned for a row."""
        row = self.rows[name]
        return self._change(row).seeds or row.seeds or self.profile.seeds

    def run(self, name: str, seed: int) -> Run:
        """A row with a seed."""
        row, profile = self.rows[name], self.profile
        change = self._change(row)
        encoder = change.encoder or profile.encoder
        encoder = None if row.scratch or encoder == "none" else encoder
        parts = [profile.settings, profile.variants.get(row.variant, {}), {} if encoder else profile.scratch]
        return Run(
            table=self.name,
            profile=self.label,
            row=name,
            seed=seed,
            title=row.title,
            variant=row.variant,
            treebank=change.treebank or row.treebank or profile.treebank or "",
            encoder=encoder,
            minutes=next((m for m in (self.minutes, change.minutes, profile.minutes) if m is not None), None) or None,
            settings=merged(*parts, row.settings, change.settings, {"train": {"seed": seed}}),
            gpu=profile.gpu,
            dev_sentences=profile.dev_sentences,
        )

    def against(self, name: str) -> str | None:
        """The row that a row is compared with."""
        row = self.rows[name]
        return self._change(row).against or row.against

    def _change(self, row: Row) -> Change:
        return row.cpu if self.profile_name == "cpu" else row.paper

    def _check(self, path: Path, row: Row) -> None:
        """What pydantic cannot see."""
        against = self.against(path.stem)
        if against is not None and against not in self.rows:
            raise DataError(f"{path}: against: no row {against!r}")
        if row.same_as is not None:
            return
        if row.variant not in VARIANTS:
            raise DataError(f"{path}: variant: expected one of {', '.join(VARIANTS)}")
        run = self.run(path.stem, 1)
        if not run.treebank:
            raise DataError(f"{path}: treebank: none here, and none in {self.profile_name}.toml")
        _ = run.config


def titles(row: Row, other: Row) -> tuple[str, str]:
    """Of two rows; with their sections, where they would be the same."""
    if row.title != other.title:
        return row.title, other.title
    return f"{row.title}, {row.section}", f"{other.title}, {other.section}"


def tables(experiments: Path) -> list[str]:
    """The tables there are."""
    return sorted(path.parent.name for path in experiments.glob("*/table.toml"))


def merged(*parts: Mapping[str, Any]) -> Settings:
    """Nested settings laid over each other, the later ones on top.

    >>> merged({"train": {"states": 8, "seed": 1}}, {"train": {"seed": 2}})
    {'train': {'states': 8, 'seed': 2}}
    """
    whole: Settings = {}
    for part in parts:
        for key, value in part.items():
            both = isinstance(value, dict) and isinstance(whole.get(key), dict)
            whole[key] = merged(whole[key], value) if both else merged(value) if isinstance(value, dict) else value
    return whole


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings by their dotted names.

    >>> flat({"train": {"states": 8}, "data": {"tags": "xpos"}})
    {'train.states': 8, 'data.tags': 'xpos'}
    """
    found: dict[str, Any] = {}
    for key, value in settings.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


P = TypeVar("P", bound=BaseModel)


def read_toml(path: Path, kind: type[P]) -> P:
    """A TOML file of this kind, or one line that says what is wrong with it."""
    return _valid(_values(path), kind, path)


def read_profile(path: Path) -> Profile:
    """A profile, laid over that of the table it is based on, which may have a base in turn."""
    return _valid(_based(path), Profile, path)


def _based(path: Path) -> dict[str, Any]:
    values = _values(path)
    base = values.pop("base", None)
    return merged(_based(path.parents[1] / str(base) / path.name), values) if base else values


def _values(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not TOML: {error}") from error


def _valid(values: dict[str, Any], kind: type[P], path: Path) -> P:
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise DataError(f"{path}: {problem(error)}") from error
