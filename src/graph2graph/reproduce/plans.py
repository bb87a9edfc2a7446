"""Plans: the runs of a table in one profile, and everything that their results depend on.

The settings of a run, from the weakest to the strongest: the profile's, the profile's for the variant, the profile's for models
from scratch, the row's, the row's for the profile.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graph2graph.config import Config
from graph2graph.errors import DataError
from graph2graph.reproduce.rows import (
    Change,
    PaperTable,
    Profile,
    ProfileName,
    Settings,
    TableRow,
    merged,
    read_table,
    with_named_precision,
)
from graph2graph.scoring import Punct
from graph2graph.variants import VARIANTS


@dataclass(frozen=True)
class PlannedRun:
    """A row with a seed, and everything that its result depends on."""

    table: str
    profile: str  # the label of its Plans
    row: str
    seed: int
    title: str
    variant: str
    treebank: str
    encoder: str | None
    minutes: float | None
    settings: Settings = field(hash=False)
    scorers: list[Punct] = field(hash=False)
    gpu: bool = False
    dev_sentences: int = 0

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"{self.row}-{self.seed}"

    @property
    def names(self) -> dict[str, Any]:
        """The values by which results and dry runs identify it."""
        return {key: getattr(self, key) for key in ("table", "profile", "row", "title", "seed")}

    @property
    def plan(self) -> dict[str, Any]:
        """The values that must not change while it runs; if they change afterwards, its result is outdated."""
        plan = {key: getattr(self, key) for key in ("variant", "treebank", "encoder", "minutes", "settings")}
        return plan | ({"dev_sentences": self.dev_sentences} if self.dev_sentences else {})

    @property
    def config(self) -> Config:
        """Its settings, checked."""
        return Config.parse(
            VARIANTS[self.variant].complete(with_named_precision(self.settings)), f"{self.table}/{self.row}"
        )


@dataclass(frozen=True)
class Plans:
    """A table in one profile."""

    name: str
    profile_name: ProfileName
    table: PaperTable
    rows: dict[str, TableRow]  # those of the profile, in the table's order
    minutes: float | None = None  # instead of the profile's

    @classmethod
    def read(
        cls, experiments: Path, name: str, profile: ProfileName = "cpu", *, minutes: float | None = None
    ) -> "Plans":
        """The plans in experiments/NAME."""
        table = read_table(experiments, name)
        rows = {row: content for row, content in table.rows.items() if content.only in (None, profile)}
        plans = cls(name, profile, table, rows, minutes)
        for row in rows:
            plans._check(row)
        return plans

    @property
    def profile(self) -> Profile:
        """The settings and data that the runs share."""
        return self.table.cpu if self.profile_name == "cpu" else self.table.paper

    @property
    def label(self) -> str:
        """The profile's name, with the minutes if they are not the planned ones: such results have their own directory."""
        return self.profile_name if self.minutes is None else f"{self.profile_name}-{self.minutes:g}m"

    def runs(self, rows: Sequence[str] | None = None, seeds: Sequence[int] | None = None) -> list[PlannedRun]:
        """The runs of these rows and seeds, by default of all, ordered by seed."""
        for name in rows or ():
            if name not in self.rows:
                raise DataError(f"{self.name} has no row {name!r}; there are {', '.join(self.rows)}")
        wanted = [name for name, row in self.rows.items() if (rows is None or name in rows) and not row.same_as]
        runs = [self.run(name, seed) for name in wanted for seed in seeds or self.seeds(name)]
        return sorted(runs, key=lambda run: run.seed)

    def seeds(self, name: str) -> list[int]:
        """The seeds planned for a row."""
        return self._change(name).seeds or self.rows[name].seeds or self.profile.seeds

    def run(self, name: str, seed: int) -> PlannedRun:
        """A row with a seed."""
        row, profile, change = self.rows[name], self.profile, self._change(name)
        encoder = change.encoder or profile.encoder
        encoder = None if row.scratch or encoder == "none" else encoder
        limits = (self.minutes, change.minutes, profile.minutes)
        minutes = next((limit for limit in limits if limit is not None), None)
        shared = [profile.settings, profile.variants.get(row.variant, {}), {} if encoder else profile.scratch]
        return PlannedRun(
            table=self.name,
            profile=self.label,
            row=name,
            seed=seed,
            title=row.title,
            variant=row.variant,
            treebank=change.treebank or row.treebank or profile.treebank or "",
            encoder=encoder,
            minutes=minutes or None,  # 0: no limit
            settings=merged(*shared, row.settings, change.settings, {"train": {"seed": seed}}),
            scorers=self.table.scorers,
            gpu=profile.gpu,
            dev_sentences=profile.dev_sentences,
        )

    def against(self, name: str) -> str | None:
        """The row that a row is compared with."""
        return self._change(name).against or self.rows[name].against

    def _change(self, name: str) -> Change:
        row = self.rows[name]
        return row.cpu if self.profile_name == "cpu" else row.paper

    def _check(self, name: str) -> None:
        """Check what rows.py cannot: names of rows and variants, the treebank, the settings."""
        place, row, against = f"{self.name}/{name}", self.rows[name], self.against(name)
        if against is not None and against not in self.rows:
            raise DataError(f"{place}: against: no row {against!r}")
        if row.same_as is not None:
            return
        if row.variant not in VARIANTS:
            raise DataError(f"{place}: variant: expected one of {', '.join(VARIANTS)}")
        run = self.run(name, 1)
        if not run.treebank:
            raise DataError(f"{place}: treebank: neither the row nor profile {self.profile_name} has one")
        _ = run.config


def titles(row: TableRow, other: TableRow) -> tuple[str, str]:
    """The titles of two rows, with their sections if they are the same."""
    if row.title != other.title:
        return row.title, other.title
    return f"{row.title}, {row.section}", f"{other.title}, {other.section}"
