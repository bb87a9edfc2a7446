"""Results of runs: scores of both splits, settings and environment, and the number of right words in each sentence."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from graph2graph import __version__, scoring
from graph2graph.analysis.significance import Counts, correct_words
from graph2graph.errors import DataError
from graph2graph.files import read_json
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.plans import PlannedRun, Plans
from graph2graph.treebank import conllu

SPLITS = ("dev", "test")


@dataclass(frozen=True)
class RunStart:
    """How a run was started. It is resumed in the same way."""

    plan: dict[str, Any]
    threads: int
    time_limit: float | None  # seconds
    commit: str
    command: str  # with published paths


def read_start(directory: Path) -> RunStart | None:
    """The recorded start of the run in a directory, if there is one."""
    path = directory / "begun.json"
    if not path.exists():
        return None
    values = dict(read_json(path))
    if "train" in values:  # until November 2026 the file held the arguments of g2g train
        arguments, values["command"] = values.pop("train"), values.pop("shown")
        limit = arguments[arguments.index("--time-limit") + 1] if "--time-limit" in arguments else None
        values["time_limit"] = None if limit is None else float(limit.removesuffix("s"))
    try:
        return RunStart(**values)
    except TypeError as error:
        raise DataError(f"{path}: not a file of g2g reproduce; remove the directory to run it anew") from error


def collect(run: PlannedRun, start: RunStart, paths: Paths, parse_seconds: Mapping[str, float]) -> dict[str, Any]:
    """The result of a run that is trained and has parsed both splits."""
    import torch

    directory = paths.run(run)
    state = read_json(directory / "run.json")
    made = {key: state.get(key) for key in ("seconds", "epochs", "steps", "best_step", "pieces", "loss_shares")}
    scores, right_words = _scores(run, paths)
    return {
        **run.names,
        **scores,
        "parse_seconds": dict(parse_seconds),
        "threads": start.threads,
        **made,
        "precision": run.config.train.precision,
        "commit": start.commit,
        "command": f"OMP_NUM_THREADS={start.threads} {start.command}",
        "finished": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "versions": {"graph2graph": __version__} | {name: version(name) for name in ("torch", "tokenizers", "numpy")},
        "instructions": torch.backends.cpu.get_cpu_capability(),  # the speed of training depends on them
        "plan": run.plan,
        "config": read_json(directory / "config.json"),
        "right_words": right_words,
    }


def _scores(run: PlannedRun, paths: Paths) -> tuple[dict[str, Any], dict[str, str]]:
    """The scores of both splits by all scorers, and the number of words with the right head and label in each sentence."""
    files, scorers, right = paths.files(run), run.scorers, {}
    by_scorer = {punct: dict[str, Any]() for punct in scorers}
    for split in SPLITS:
        gold, parsed = list(conllu.read(files[split])), list(conllu.read(paths.run(run) / f"{split}.conllu"))
        for punct in scorers:
            scores = scoring.score(gold, parsed, punct=punct)
            counts = {"words": scores.words, "sentences": scores.sentences}
            by_scorer[punct][split] = scores.as_dict(digits=2) | counts
        right[split] = " ".join(map(str, correct_words(gold, parsed, punct=scorers[0])[0]))
    others = {punct: by_scorer[punct] for punct in scorers[1:]}
    return by_scorer[scorers[0]] | {"punctuation": scorers[0], "other_scorers": others}, right


def row_results(plans: Plans, paths: Paths, row: str) -> dict[int, dict[str, Any]]:
    """The results of a row by seed, of all runs whose plan is still the row's."""
    if same := plans.rows[row].same_as:
        table, row = same.split("/", 1)
        plans = Plans.read(paths.experiments, table, plans.profile_name, minutes=plans.minutes)
    found = {}
    for path in paths.result(plans.name, plans.label, row).parent.glob(f"{row}-*.json"):
        seed = path.stem.removeprefix(f"{row}-")
        if seed.isdigit() and (result := read_json(path)).get("plan") == plans.run(row, int(seed)).plan:
            found[int(seed)] = result
    return dict(sorted(found.items()))


def words_right(result: Mapping[str, Any], split: str) -> Counts:
    """The number of right words in each sentence."""
    return np.array(result["right_words"][split].split(), dtype=np.int64)
