"""Learning rates for table `graph`: the same short search on dev for each model, with equal updates.

    python experiments/rates.py [--variants sent sent-g2g] [--write]

Each candidate trains two epochs of the Penn Treebank sample as the rows of the table do, but with four states a sentence for
the graph model, and is scored on dev. Finished runs are skipped. On one core of an AVX-512 machine, in bf16, a candidate takes
one minute for SentTr and five for SentTr+G2GTr.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from graph2graph.files import write_json
from graph2graph.reproduce import trainings
from graph2graph.reproduce.jobs import Job, results_of
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.rows import Settings

PATHS = Paths.find(start=Path(__file__).parent)
RESULT = PATHS.experiments / "results/rates.json"
CANDIDATES: dict[str, Settings] = {
    "paper, one": {"one_optimiser": True, "learning_rate": 1e-5},
    "paper, two": {"learning_rate": 1e-5, "new_learning_rate": 1e-4},
    "one, 1e-4": {"one_optimiser": True, "learning_rate": 1e-4},
    "one, 3e-4": {"one_optimiser": True, "learning_rate": 3e-4},
    "two, 1e-4 and 1e-3": {"learning_rate": 1e-4, "new_learning_rate": 1e-3},
    "two, 3e-4 and 2e-3": {"learning_rate": 3e-4, "new_learning_rate": 2e-3},
}
GRAPH_RATES = (1e-2, 4e-2)  # of relation tables and label embeddings, with the best candidate that has two optimisers
SHARED: Settings = {
    "epochs": 2,
    "states": 4,
    "batch_sentences": 16,
    "stale_weight": 0,
    "empty_stale_weight": 0,
    "tag_dropout": 0,
    "patience": 0,
    "precision": "bf16",
}


def score(variant: str, rates: Settings, directory: Path) -> dict[str, Any]:
    """The scores on dev after two epochs with these rates."""
    treebank = PATHS.treebanks / "wsj_sample"
    request = trainings.training(
        PATHS,
        treebank / "train.conllu",
        treebank / "dev.conllu",
        directory.absolute(),
        variant,
        {"data": {"tags": "xpos"}, "train": SHARED | rates},
        encoder=".weights/minilm-l6",
    )
    [(_, found)] = results_of([Job(request.output.name, trainings.train, (request, PATHS.root))], workers=1)
    return {
        "uas": found["dev"]["uas"],
        "las": found["dev"]["las"],
        "seconds": found["seconds"],
        "steps": found["steps"],
    }


def search(variant: str, runs: Path) -> dict[str, dict[str, Any]]:
    """The scores of all candidates; a graph model tries its best with two optimisers again, with higher rates for the graph."""
    scores = {name: score(variant, rates, runs / name.replace(", ", "-")) for name, rates in CANDIDATES.items()}
    if variant.endswith("g2g"):
        best = max((name for name in CANDIDATES if "two" in name), key=lambda name: scores[name]["las"])
        for rate in GRAPH_RATES:
            rates = CANDIDATES[best] | {"graph_learning_rate": rate}
            scores[f"{best}; graph {rate:g}"] = score(variant, rates, runs / f"graph-{rate:g}")
    return scores


def main() -> None:
    """Search, print, and write on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", nargs="+", default=["sent", "sent-g2g"])
    parser.add_argument("--runs", type=Path, default=PATHS.root / "runs/rates")
    parser.add_argument("--write", action="store_true", help=f"write {PATHS.published(RESULT)}")
    given = parser.parse_args()
    found = {variant: search(variant, given.runs / variant) for variant in given.variants}
    print(json.dumps(found, indent=1))
    if given.write:
        write_json(RESULT, found, indent=1)


if __name__ == "__main__":
    main()
