"""What is kept of a run: scores of both splits, what made them, and which words each sentence has right, for tests later on."""

import json
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from graph2graph import __version__, scoring
from graph2graph.analysis.significance import Counts, correct
from graph2graph.errors import DataError
from graph2graph.files import read_json
from graph2graph.reproduce.places import Places
from graph2graph.reproduce.plans import Plans, Run
from graph2graph.scoring import Punct
from graph2graph.treebank import conllu

SPLITS = ("dev", "test")


@dataclass(frozen=True)
class Begun:
    """How a run was begun; it goes on in the same way, whoever starts it again."""

    plan: dict[str, Any]
    train: list[str]  # arguments of g2g
    threads: int
    commit: str
    shown: str  # the command, without the paths of this machine


def collect(
    run: Run, begun: Begun, places: Places, scorers: list[Punct], parse_seconds: dict[str, float]
) -> dict[str, Any]:
    """The result of a run that is trained and has parsed both splits."""
    import torch

    directory, files = places.run(run), places.files(run)
    state = read_json(directory / "run.json")
    scores: dict[str, dict[str, Any]] = {punct: {} for punct in scorers}
    right: dict[str, str] = {}
    for split in SPLITS:
        gold, parsed = list(conllu.read(files[split])), list(conllu.read(directory / f"{split}.conllu"))
        for punct in scorers:
            scores[punct][split] = _scores(scoring.score(gold, parsed, punct=punct))
        right[split] = " ".join(map(str, correct(gold, parsed, punct=scorers[0])[0]))
    return {
        "table": run.table,
        "profile": run.profile,
        "row": run.row,
        "title": run.title,
        "seed": run.seed,
        **{split: scores[scorers[0]][split] for split in SPLITS},
        "punctuation": scorers[0],
        "other_scorers": {punct: scores[punct] for punct in scorers[1:]},
        "seconds": state["seconds"],
        "parse_seconds": parse_seconds,
        "threads": begun.threads,
        "epochs": state["epochs"],
        "steps": state["steps"],
        "best_step": state["best_step"],
        "pieces": state.get("pieces"),
        "loss_shares": state.get("loss_shares"),
        "precision": run.config.train.precision,
        "commit": begun.commit,
        "command": begun.shown,
        "finished": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "versions": {"graph2graph": __version__} | {name: version(name) for name in ("torch", "tokenizers", "numpy")},
        "instructions": torch.backends.cpu.get_cpu_capability(),  # how much fits into the minutes depends on them
        "plan": run.plan,
        "config": read_json(directory / "config.json"),
        "right_words": right,  # with head and label, of each sentence in turn
    }


def _scores(scores: scoring.Scores) -> dict[str, float]:
    return scores.as_dict(digits=2) | {"words": scores.words, "sentences": scores.sentences}


def results(plans: Plans, places: Places, row: str) -> dict[int, dict[str, Any]]:
    """The results of a row that there are, by seed: all that were run as the row now says, with the budget of the table."""
    if same := plans.rows[row].same_as:
        table, row = same.split("/", 1)
        plans = Plans.read(places.experiments, table, plans.profile_name, minutes=plans.minutes)
    found = {}
    for path in places.result(plans.name, plans.label, row).parent.glob(f"{row}-*.json"):
        seed = path.stem.removeprefix(f"{row}-")
        if seed.isdigit() and same_plan(result := read_json(path), plans.run(row, int(seed))):
            found[int(seed)] = result
    return dict(sorted(found.items()))


def right_words(result: dict[str, Any], split: str) -> Counts:
    """How many words of each sentence are right."""
    return np.array(result["right_words"][split].split(), dtype=np.int64)


def same_plan(result: dict[str, Any], run: Run) -> bool:
    """Whether a result was made by what the row now says."""
    return bool(result.get("plan") == json.loads(json.dumps(run.plan)))


def read_begun(path: Path) -> Begun | None:
    """How a run was begun, if it was."""
    if not path.exists():
        return None
    try:
        return Begun(**read_json(path))
    except TypeError as error:
        raise DataError(f"{path}: not what g2g reproduce writes; remove the directory to run it anew") from error
