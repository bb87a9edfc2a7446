"""How far each run of a table is, and how long the rest will take."""

from dataclasses import dataclass
from typing import Literal

from graph2graph.files import read_json
from graph2graph.reproduce.places import Places
from graph2graph.reproduce.plans import Plans, Run
from graph2graph.reproduce.results import read_begun, same_plan
from graph2graph.reproduce.runner import is_locked

Kind = Literal["done", "outdated", "part done", "missing", "cannot run"]
PARSING, MAX_PARSING = 0.15, 10  # share of the budget, and minutes, for parsing both splits when the model is trained


@dataclass(frozen=True)
class State:
    """Of one run."""

    kind: Kind
    detail: str = ""
    share: float = 0.0  # of the training that is done
    minutes: float = 0.0  # of the whole machine, that the rest is expected to take, or would if it could be run

    @property
    def is_to_be_run(self) -> bool:
        """Whether there is something to be done that can be done."""
        return self.kind in ("part done", "missing")

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


def state(run: Run, plans: Plans, places: Places) -> State:
    """Where a run stands."""
    path, directory = places.result(run.table, run.profile, run.name), places.run(run)
    if path.exists():
        result = read_json(path)
        if same_plan(result, run):
            return State("done", f"in {result['seconds'] * result['threads'] / 60:.0f} core minutes", share=1.0)
        return State(
            "outdated", f"the row has been changed since; to run it anew remove {places.shown(path)}", share=1.0
        )
    lacking = places.lacking(run) or ("no GPU" if run.gpu and not _has_gpu() else None)
    if lacking is not None:
        return State("cannot run", lacking, minutes=expected_minutes(run, plans))
    begun = read_begun(directory / "begun.json")
    if begun is None:
        return State("missing", minutes=expected_minutes(run, plans))
    share = _trained(run, places)
    parts = [f"{100 * share:.0f} % of the training"] + ["running now"] * is_locked(directory / "lock")
    return State("part done", ", ".join(parts), share, expected_minutes(run, plans, share))


def expected_minutes(run: Run, plans: Plans, share: float = 0.0) -> float:
    """The rest of a run: from its budget, or, without one, from what the paper says of its GPU; 0 if it does not."""
    if run.minutes is not None:
        return run.minutes * (1 - share) + min(PARSING * run.minutes, MAX_PARSING)
    treebank = plans.table.treebanks.get(run.treebank)
    n_halves = 2 * treebank.sentences if treebank else 0
    return plans.profile.seconds.get(run.variant, 0.0) * n_halves * run.config.train.epochs * (1 - share) / 60


def _trained(run: Run, places: Places) -> float:
    """The share of its steps that is in the last checkpoint."""
    directory = places.run(run)
    if (directory / "run.json").exists() and read_json(directory / "run.json").get("finished"):
        return 1.0
    from graph2graph.training.checkpoint import progress_of

    progress = progress_of(directory / "checkpoints")
    return 0.0 if progress is None else float(progress["step"] / progress["plan"]["n_steps"])


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()
