"""The status of each run of a table, and the time that the rest will take."""

from dataclasses import dataclass
from typing import Literal

from graph2graph.files import read_json
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.plans import PlannedRun, Plans
from graph2graph.reproduce.results import read_start
from graph2graph.reproduce.runner import is_locked

Kind = Literal["done", "outdated", "part done", "missing", "cannot run"]
PARSING, MAX_PARSING = 0.15, 10  # share of the budget, and minutes, for parsing both splits with the trained model


@dataclass(frozen=True)
class Status:
    """The status of a run."""

    kind: Kind
    detail: str = ""
    minutes: float = 0.0  # of the whole machine, that the rest is expected to take, or would if it could be run

    @property
    def is_to_be_run(self) -> bool:
        """Whether the run is incomplete and can be run here."""
        return self.kind in ("part done", "missing")

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


def status(run: PlannedRun, plans: Plans, paths: Paths) -> Status:
    """The status of a run."""
    path, directory = paths.result(run.table, run.profile, run.name), paths.run(run)
    if path.exists():
        result = read_json(path)
        if result.get("plan") == run.plan:
            return Status("done", f"in {result['seconds'] * result['threads'] / 60:.0f} core minutes")
        return Status("outdated", f"the row has changed since; to run it anew remove {paths.published(path)}")
    if lacking := paths.lacking(run):
        return Status("cannot run", lacking, expected_minutes(run, plans))
    if read_start(directory) is None:
        return Status("missing", minutes=expected_minutes(run, plans))
    share = _trained_share(run, paths)
    parts = [f"{100 * share:.0f} % of the training"] + ["running now"] * is_locked(directory / "lock")
    return Status("part done", ", ".join(parts), expected_minutes(run, plans, share))


def expected_minutes(run: PlannedRun, plans: Plans, share: float = 0.0) -> float:
    """The time for the rest of a run: from its budget, or else from the paper's figures for its GPU; 0 if it has none."""
    if run.minutes is not None:
        return run.minutes * (1 - share) + min(PARSING * run.minutes, MAX_PARSING)
    treebank = plans.table.treebanks.get(run.treebank)
    n_halves = 2 * treebank.sentences if treebank else 0
    return plans.profile.seconds.get(run.variant, 0.0) * n_halves * run.config.train.epochs * (1 - share) / 60


def _trained_share(run: PlannedRun, paths: Paths) -> float:
    """The share of its steps that is in the last checkpoint."""
    directory = paths.run(run)
    if (directory / "run.json").exists() and read_json(directory / "run.json").get("finished"):
        return 1.0
    from graph2graph.training.checkpoint import progress_of

    progress = progress_of(directory / "checkpoints")
    return 0.0 if progress is None else float(progress["step"] / progress["plan"]["n_steps"])
