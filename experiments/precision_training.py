"""Training in bf16 against training in fp32: SentTr, two seeds each, equal updates on the same batches; scores on dev.

    python experiments/precision_training.py [--epochs 4] [--write]

On the Penn Treebank sample with MiniLM-L6, settings as in table `graph`. Finished runs are skipped. On one core of a CPU with
avx512_bf16, an epoch takes half a minute in bf16 and a minute and a half in fp32.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from graph2graph.files import write_json
from graph2graph.reproduce import trainings
from graph2graph.reproduce.jobs import Job, results_of
from graph2graph.reproduce.paths import Paths

PATHS = Paths.find(start=Path(__file__).parent)
RESULT = PATHS.experiments / "results/precision-training.json"


def job(precision: str, seed: int, epochs: int) -> Job:
    """One training."""
    treebank = PATHS.treebanks / "wsj_sample"
    name = f"{precision}-{seed}"
    settings = {
        "data": {"tags": "xpos"},
        "train": {
            "epochs": epochs,
            "batch_sentences": 16,
            "tag_dropout": 0,
            "patience": 0,
            "precision": precision,
            "seed": seed,
        },
    }
    request = trainings.training(
        PATHS,
        treebank / "train.conllu",
        treebank / "dev.conllu",
        (PATHS.root / f"runs/precision-{epochs}" / name).absolute(),
        "sent",
        settings,
        encoder=".weights/minilm-l6",
    )
    return Job(name, trainings.train, (request, PATHS.root))


def main() -> None:
    """Train, print, and write on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--write", action="store_true", help=f"write {PATHS.published(RESULT)}")
    given = parser.parse_args()
    found: dict[str, Any] = {"epochs": given.epochs}
    jobs = [job(precision, seed, given.epochs) for precision in ("bf16", "fp32") for seed in (1, 2)]
    for done, result in results_of(jobs, workers=1):
        keys = ("uas", "las")
        found[done.name] = {key: round(result["dev"][key], 3) for key in keys} | {"steps": result["steps"]}
    print(json.dumps(found, indent=1))
    if given.write:
        write_json(RESULT, found, indent=1)


if __name__ == "__main__":
    main()
