"""The content of experiments/TABLE/rows.toml: a table of the paper, two profiles for running it, and its rows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import model_validator

from graph2graph.config import FrozenModel
from graph2graph.errors import DataError
from graph2graph.files import read_toml
from graph2graph.scoring import Punct

ProfileName = Literal["cpu", "paper"]
Settings = dict[str, Any]  # nested, as in the config
FILE = "rows.toml"


class Figures(FrozenModel):
    """Published scores on one split; a pair in the file, [UAS, LAS]."""

    uas: float | None = None
    las: float | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_pair(cls, value: Any) -> Any:
        return dict(zip(("uas", "las"), value, strict=True)) if isinstance(value, list) else value


class Published(FrozenModel):
    """The paper's figures for a row."""

    dev: Figures = Figures()
    test: Figures = Figures()


class Change(FrozenModel):
    """The changes of a row in one profile."""

    encoder: str | None = None
    treebank: str | None = None
    seeds: list[int] | None = None
    minutes: float | None = None  # 0: no time limit, `epochs` decides
    against: str | None = None
    settings: Settings = {}


class TableRow(FrozenModel):
    """A row of a table."""

    title: str
    variant: str = ""
    section: str = ""
    treebank: str | None = None  # default: the profile's
    scratch: bool = False  # without pretrained weights
    seeds: list[int] | None = None
    against: str | None = None  # the row that its relative error reduction refers to
    same_as: str | None = None  # TABLE/ROW: the runs of that row, shown again
    only: ProfileName | None = None  # of a row that is not in the paper: the one profile that has it
    settings: Settings = {}
    cpu: Change = Change()
    paper: Change = Change()
    published: Published = Published()


class Profile(FrozenModel):
    """The settings and data that the runs of a table share."""

    about: str
    treebank: str | None = None
    encoder: str | None = None
    minutes: float | None = None  # time limit of each run, on the whole machine; default: none, `epochs` decides
    gpu: bool = False
    dev_sentences: int = 0  # of the development set, evenly spaced, on which checkpoints are chosen; 0 is all
    seeds: list[int] = [1]
    settings: Settings = {}
    variants: dict[str, Settings] = {}
    scratch: Settings = {}
    seconds: dict[str, float] = {}  # by variant, to train on half a sentence: from the paper's running details


class TreebankFacts(FrozenModel):
    """Facts about a treebank."""

    sentences: int = 0  # in the paper's training set
    note: str = ""  # how the files here differ from the paper's


class PaperTable(FrozenModel):
    """A table of the paper. A file groups rows in `sections`, or lists them under `rows` if there is only one group."""

    title: str
    source: str  # where in the paper
    about: str = ""
    scorers: list[Punct] = ["include"]  # the first is the one shown
    average: bool = False  # over the rows of each section
    treebanks: dict[str, TreebankFacts] = {}
    cpu: Profile
    paper: Profile
    rows: dict[str, TableRow]  # in the table's order

    @model_validator(mode="before")
    @classmethod
    def _rows_of_sections(cls, values: dict[str, Any]) -> dict[str, Any]:
        values = dict(values)
        rows = dict(values.get("rows", {}))
        for section in values.pop("sections", []):
            shared = merged({"section": section["title"]}, section.get("each", {}))
            rows |= {name: merged(shared, row) for name, row in section["rows"].items()}
        return values | {"rows": rows}


def table_names(experiments: Path) -> list[str]:
    """The tables that have a rows.toml."""
    return sorted(path.parent.name for path in experiments.glob(f"*/{FILE}"))


def read_table(experiments: Path, name: str) -> PaperTable:
    """The table in experiments/NAME, each profile laid over the one it is based on."""
    path = experiments / name / FILE
    if not path.is_file():
        raise DataError(f"no table {name!r}; there are {', '.join(table_names(experiments)) or 'none'}, and claims")
    values = read_toml(path)
    profiles = {profile: _profile(experiments, values, profile) for profile in get_args(ProfileName)}
    return PaperTable.parse(values | profiles, str(path))


def _profile(experiments: Path, values: Mapping[str, Any], profile: str) -> Settings:
    own = dict(values.get(profile, {}))
    base = own.pop("base", None)
    if base is None:
        return own
    return merged(_profile(experiments, read_toml(experiments / base / FILE), profile), own)


def merged(*parts: Mapping[str, Any]) -> Settings:
    """Nested settings laid over each other; later ones win.

    >>> merged({"train": {"states": 8, "seed": 1}}, {"train": {"seed": 2}})
    {'train': {'states': 8, 'seed': 2}}
    """
    whole: Settings = {}
    for part in parts:
        for key, value in part.items():
            is_group = isinstance(value, dict)
            below = whole.get(key)
            whole[key] = merged(below if isinstance(below, dict) else {}, value) if is_group else value
    return whole


def with_named_precision(settings: Settings) -> Settings:
    """Settings with a precision, fp32 unless they name one: results that are compared must not depend on the CPU."""
    return {**settings, "train": {"precision": "fp32", **settings.get("train", {})}}
