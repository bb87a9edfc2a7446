"""How large a parser from scratch should be: dev LAS of several sizes on treebanks of several sizes, in equal time.

    python experiments/scratch_sizes.py [--sentences 300 3000] [--sizes 3x192 4x256 6x768] [--minutes 2]

Evenly spaced sentences of English-EWT, SentTr+G2GTr without an encoder, scored on every fifth sentence of dev. The time limit
is CPU time of one thread, so that other work on the machine does not count. Finished runs are skipped. Results go to
experiments/results/scratch-sizes.json; the sizes in graph2graph/training/sizes.py rest on them.
"""

import argparse
import time
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from graph2graph.files import read_json, write_json
from graph2graph.reproduce import trainings
from graph2graph.reproduce.paths import Paths
from graph2graph.training import loop, plan
from graph2graph.treebank import conllu

PATHS = Paths.find(start=Path(__file__).parent)
TREEBANK, RUNS = PATHS.treebanks / "en_ewt", PATHS.root / "runs/scratch-sizes"
RESULTS = PATHS.experiments / "results/scratch-sizes.json"
WATCHED_EVERY = 5  # sentences of dev
CANDIDATES = {  # layers, width, heads
    "3x192": (3, 192, 6),
    "4x256": (4, 256, 4),
    "6x768": (6, 768, 12),
}


def sample(split: str, n_sentences: int) -> Path:
    """A file with so many sentences of a split, evenly spaced."""
    path = RUNS / f"{split}-{n_sentences}.conllu"
    if not path.exists():
        whole = list(conllu.read(TREEBANK / f"{split}.conllu"))
        RUNS.mkdir(parents=True, exist_ok=True)
        conllu.write(islice(whole, 0, None, max(len(whole) // n_sentences, 1)), path)
    return path


def run(name: str, n_sentences: int, minutes: float) -> dict[str, Any]:
    """Train one size on one sample; return its row."""
    layers, width, heads = CANDIDATES[name]
    shape = {"layers": layers, "width": width, "heads": heads, "inner_width": 4 * width}
    request = trainings.training(
        PATHS,
        sample("train", n_sentences),
        sample("dev", 2001 // WATCHED_EVERY),
        RUNS / f"{n_sentences}-{name}-{minutes:g}m",
        "sent-g2g",
        {"model": {"encoder": shape}},
        time_limit=60 * minutes,
    )
    state = trainings.train(request, PATHS.root)
    scores = {key: round(state["dev"][key], 2) for key in ("uas", "las")}
    return {"sentences": n_sentences, "size": name, "minutes": minutes, "epochs": state["epochs"]} | scores


def main() -> None:
    """Run what is missing and write all results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, nargs="+", default=[300, 3000])
    parser.add_argument("--sizes", nargs="+", choices=CANDIDATES, default=list(CANDIDATES))
    parser.add_argument("--minutes", type=float, default=2)
    given = parser.parse_args()
    torch.set_num_threads(1)
    loop.monotonic = plan.monotonic = time.process_time  # type: ignore[attr-defined]
    rows: list[dict[str, Any]] = read_json(RESULTS) if RESULTS.exists() else []
    for n_sentences in given.sentences:
        for name in given.sizes:
            row = run(name, n_sentences, given.minutes)
            same = [old for old in rows if (old["sentences"], old["size"], old["minutes"]) == tuple(row.values())[:3]]
            rows = sorted(
                [old for old in rows if old not in same] + [row],
                key=lambda one: (one["sentences"], one["minutes"], list(CANDIDATES).index(one["size"])),
            )
            print(row, flush=True)
            write_json(RESULTS, rows, indent=1)


if __name__ == "__main__":
    main()
