"""The status of each run of a table, and the time that the rest will take."""

from dataclasses import dataclass
from typing import Literal

from graph2graph.files import read_json
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.plans import PlannedRun, Plans
from graph2graph.reproduce.results import read_start
from graph2graph.training.lock import is_locked
from graph2graph.training.record import read_record

Kind = Literal["done", "outdated", "part done", "missing", "cannot run"]
PARSING, MAX_PARSING = 0.15, 10  # parsing both splits takes this share of the time limit, at most so many minutes


@dataclass(frozen=True)
class Status:
    """The status of a run."""

    kind: Kind
    detail: str = ""
    minutes: float = 0.0  # expected for the rest of the run, on the whole machine

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
            cores = "1 core" if result["threads"] == 1 else f"{result['threads']} cores"
            return Status("done", f"in {result['seconds'] / 60:.0f} min of {cores}")
        return Status("outdated", f"the row has changed since; to run it anew remove {paths.published(path)}")
    if lacking := paths.lacking(run):
        return Status("cannot run", lacking, expected_minutes(run, plans))
    if read_start(directory) is None:
        return Status("missing", minutes=expected_minutes(run, plans))
    share = _trained_share(run, paths)
    running = ", running now" if is_locked(directory / "lock") else ""
    return Status("part done", f"{100 * share:.0f} % of the training{running}", expected_minutes(run, plans, share))


def expected_minutes(run: PlannedRun, plans: Plans, share: float = 0.0) -> float:
    """Minutes expected for the rest of a run: from its time limit, or else from the paper's running times; 0 if unknown."""
    if run.minutes is not None:
        return run.minutes * (1 - share) + min(PARSING * run.minutes, MAX_PARSING)
    treebank = plans.table.treebanks.get(run.treebank)
    n_halves = 2 * treebank.sentences if treebank else 0
    return plans.profile.seconds.get(run.variant, 0.0) * n_halves * run.config.train.epochs * (1 - share) / 60


def _trained_share(run: PlannedRun, paths: Paths) -> float:
    """The share of a run's training that is done."""
    directory = paths.run(run)
    if (record := read_record(directory)) is not None and record.finished:
        return 1.0
    from graph2graph.training.checkpoint import DIRECTORY, progress_of

    progress = progress_of(directory / DIRECTORY)
    return 0.0 if progress is None else float(progress["step"] / progress["plan"]["n_steps"])
