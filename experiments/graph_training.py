"""What makes the graph matter: small controlled runs, all for the same time on one core each.

    python experiments/graph_training.py [NAME…] [--every 6] [--minutes 12] [--workers 2]

Every nth sentence of English-EWT train, MiniLM-L6, one seed; each model is then scored on every second sentence of dev, with
its graph as built, withheld and with gold arcs, and without tags. Runs that are done are skipped. Results go to
experiments/results/graph-training.json; docs/design/graph-training.md says what they mean.
"""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from graph2graph.treebank import conllu

ROOT = Path(__file__).resolve().parent.parent
TREEBANK = Path(os.environ.get("G2G_TREEBANKS", ROOT.parent / "shared/treebanks")) / "en_ewt"
RUNS, RESULTS = ROOT / "runs/graph", ROOT / "experiments/results/graph-training.json"
DEV_EVERY, WATCHED_EVERY = 2, 8  # sentences; the few that are watched while training cost no time to speak of

COMMON = {"train.tag_dropout": 0.4}
SENT, GRAPH = {"model": "sent"}, {"model": "sent-g2g", "train.stale_weight": 1.0}
REGULAR = {"train.word_dropout": 0.1, "model.classifier_dropout": 0.33}
RUNS_BY_NAME: dict[str, dict[str, Any]] = {
    "sent": SENT,
    "sent-word-dropout": SENT | {"train.word_dropout": 0.1},
    "sent-classifier-dropout": SENT | {"model.classifier_dropout": 0.33},
    "sent-tagger": SENT | {"model.tagger": True},
    "sent-e5": SENT | {"encoder": "e5-small", "model.encoder.layers": 12},
    "sent-regular": SENT | REGULAR,
    "k1": GRAPH | {"train.states": 1},
    "k2": GRAPH | {"train.states": 2},
    "k2-stale-0.8": GRAPH | {"train.states": 2, "train.stale_weight": 0.8},
    "k2-regular": GRAPH | REGULAR | {"train.states": 2, "train.stale_weight": 0.8},
    "k1-late": GRAPH | REGULAR | {"train.states": 1, "train.stale_weight": 0.8, "train.empty_epochs": 4},
    "k2-labelled": GRAPH | {"train.states": 2, "model.labelled_relations": True},
    "k4-stale-0.8": GRAPH | {"train.states": 4, "train.stale_weight": 0.8},
}


def run(name: str, every: int, minutes: float, seed: int) -> dict[str, Any]:
    """Train and score one model."""
    settings = COMMON | RUNS_BY_NAME[name] | {"train.seed": seed}
    variant, encoder = settings.pop("model"), settings.pop("encoder", "minilm-l6")
    output = RUNS / f"{name}-{every}-{seed}-{minutes:g}m"
    command = [
        sys.executable,
        "-m",
        "graph2graph",
        "train",
        str(RUNS / f"train-{every}.conllu"),
        str(RUNS / "watched.conllu"),
    ]
    command += ["--output", str(output), "--encoder", str(ROOT / ".weights" / encoder), "--model", variant]
    command += ["--time-limit", f"{minutes}m", "--resume"]
    for key, value in settings.items():
        command += ["--set", f"{key}={json.dumps(value)}"]
    one_core = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run(command, check=True, env=one_core, stderr=subprocess.DEVNULL)
    state = json.loads((output / "run.json").read_text())
    row = {
        "name": name,
        "every": every,
        "seed": seed,
        "minutes": minutes,
        "epochs": state["epochs"],
        "settings": settings,
    }
    for tags in ("tags", "no_tags"):
        use = [sys.executable, str(ROOT / "experiments/graph_use.py"), str(output), str(RUNS / "dev.conllu"), "--json"]
        use += ["--no-tags", "--cases", "as_built", "withheld"] if tags == "no_tags" else []
        done = subprocess.run(use, check=True, env=one_core, capture_output=True, text=True)
        row[tags] = json.loads(done.stdout)
    return row


def kept(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The results so far, with these rows in place of older ones of the same name, seed and time."""
    old = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    table = {(row["name"], row["every"], row["seed"], row["minutes"]): row for row in [*old, *rows]}
    return list(table.values())


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(RUNS_BY_NAME), metavar="NAME", help=", ".join(RUNS_BY_NAME))
    parser.add_argument("--every", type=int, default=6, help="take every nth sentence of the training data")
    parser.add_argument("--minutes", type=float, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    RUNS.mkdir(parents=True, exist_ok=True)
    for name, split, every in (
        (f"train-{given.every}", "train", given.every),
        ("dev", "dev", DEV_EVERY),
        ("watched", "dev", WATCHED_EVERY),
    ):
        conllu.write(list(conllu.read(TREEBANK / f"{split}.conllu"))[::every], RUNS / f"{name}.conllu")
    with ThreadPoolExecutor(given.workers) as pool:
        for row in pool.map(lambda name: run(name, given.every, given.minutes, given.seed), given.names):
            cases = ("as_built", "withheld", "gold_arcs")
            las = [[row[tags].get(case, {}).get("las") for case in cases] for tags in ("tags", "no_tags")]
            print(row["name"], row["epochs"], las, file=sys.stderr)
            RESULTS.write_text(json.dumps(kept([row]), indent=1) + "\n")


if __name__ == "__main__":
    main()
