"""What makes the graph matter: small controlled runs, all for the same time on one core each.

    python experiments/graph_training.py [NAME…] [--every 6] [--minutes 12] [--workers 2]

Every nth sentence of English-EWT train, MiniLM-L6, one seed; each model is then scored on every second sentence of dev, with
its graph as built, withheld and with gold arcs, and without tags. Finished runs are skipped. Results go to
experiments/results/graph-training.json; docs/design/graph-training.md discusses them.
"""

import argparse
import sys
from itertools import islice
from pathlib import Path
from typing import Any

from graph_use import CASES, graph_use

from graph2graph.files import read_json, write_json
from graph2graph.parser.parser import Parser
from graph2graph.reproduce.jobs import Job, results_of
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.rows import Settings, merged
from graph2graph.reproduce.trainings import train, training
from graph2graph.training.request import Request
from graph2graph.treebank import conllu
from graph2graph.variants import flat

PATHS = Paths.find(start=Path(__file__).parent)
TREEBANK = PATHS.treebanks / "en_ewt"
RUNS, RESULTS = PATHS.root / "runs/graph", PATHS.experiments / "results/graph-training.json"
DEV_EVERY, WATCHED_EVERY = 2, 8  # few sentences are scored while training, so that scoring costs next to no time

COMMON: Settings = {"train": {"tag_dropout": 0.4}}
REGULAR: Settings = {"train": {"word_dropout": 0.1}, "model": {"classifier_dropout": 0.33}}


def graphs(n_states: int, **train: float) -> Settings:
    """The settings of a graph model that encodes so many states of a sentence."""
    return {"train": {"stale_weight": 1.0, "states": n_states} | train}


MODELS: dict[str, tuple[str, Settings]] = {
    "sent": ("sent", {}),
    "sent-word-dropout": ("sent", {"train": {"word_dropout": 0.1}}),
    "sent-classifier-dropout": ("sent", {"model": {"classifier_dropout": 0.33}}),
    "sent-tagger": ("sent", {"model": {"tagger": True}}),
    "sent-e5": ("sent", {"model": {"encoder": {"layers": 12}}}),
    "sent-regular": ("sent", REGULAR),
    "k1": ("sent-g2g", graphs(1)),
    "k2": ("sent-g2g", graphs(2)),
    "k2-stale-0.8": ("sent-g2g", graphs(2, stale_weight=0.8)),
    "k2-regular": ("sent-g2g", merged(REGULAR, graphs(2, stale_weight=0.8))),
    "k1-late": ("sent-g2g", merged(REGULAR, graphs(1, stale_weight=0.8, empty_epochs=4))),
    "k2-labelled": ("sent-g2g", merged(graphs(2), {"model": {"labelled_relations": True}})),
    "k4-stale-0.8": ("sent-g2g", graphs(4, stale_weight=0.8)),
}


def job(name: str, given: argparse.Namespace) -> Job[dict[str, Any]]:
    """Train and score a model on one core."""
    variant, changes = MODELS[name]
    settings = merged(COMMON, changes, {"train": {"seed": given.seed}})
    request = training(
        PATHS,
        RUNS / f"train-{given.every}.conllu",
        RUNS / "watched.conllu",
        RUNS / f"{name}-{given.every}-{given.seed}-{given.minutes:g}m",
        variant,
        settings,
        encoder=".weights/e5-small" if name == "sent-e5" else ".weights/minilm-l6",
        time_limit=60 * given.minutes,
    )
    row = {"name": name, "every": given.every, "seed": given.seed, "minutes": given.minutes}
    return Job(name, train_and_score, (request, settings, row))


def train_and_score(request: Request, settings: Settings, row: dict[str, Any]) -> dict[str, Any]:
    """Train a model or resume its training; return the row with its scores, with tags and without."""
    state = train(request, PATHS.root)
    parser, gold = Parser.load(request.output), list(conllu.read(RUNS / "dev.conllu"))
    return row | {
        "epochs": state["epochs"],
        "settings": flat(settings),
        "tags": graph_use(parser, gold),
        "no_tags": graph_use(parser, gold, tags=False, cases=("as_built", "withheld")),
    }


def add_result(row: dict[str, Any]) -> None:
    """Add a row to the results, in place of an older one of the same name, seed and time."""
    old = read_json(RESULTS) if RESULTS.exists() else []
    table = {(one["name"], one["every"], one["seed"], one["minutes"]): one for one in [*old, row]}
    write_json(RESULTS, list(table.values()), indent=1)


def main() -> None:
    """Run the named models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(MODELS), metavar="NAME", help=", ".join(MODELS))
    parser.add_argument("--every", type=int, default=6, help="take every nth sentence of the training data")
    parser.add_argument("--minutes", type=float, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    parts = (
        (f"train-{given.every}", "train", given.every),
        ("dev", "dev", DEV_EVERY),
        ("watched", "dev", WATCHED_EVERY),
    )
    RUNS.mkdir(parents=True, exist_ok=True)
    for name, split, every in parts:
        conllu.write(islice(conllu.read(TREEBANK / f"{split}.conllu"), 0, None, every), RUNS / f"{name}.conllu")
    for _, row in results_of((job(name, given) for name in given.names), given.workers):
        las = [[row[tags].get(case, {}).get("las") for case in CASES] for tags in ("tags", "no_tags")]
        print(row["name"], row["epochs"], las, file=sys.stderr)
        add_result(row)


if __name__ == "__main__":
    main()
