"""Which learning rates each model gets for table `graph`: the same short search on dev for both, at equal updates.

    python experiments/rates.py [--variants sent sent-g2g] [--write]

Each candidate trains two epochs of the Penn Treebank sample as the rows of the table do, but with four states a sentence for
the graph model, and is scored on dev alone. Runs that are done are not run again. On one core of an AVX-512 machine in bf16
SentTr takes one minute a candidate and SentTr+G2GTr five.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "experiments/results/rates.json"
CANDIDATES: dict[str, dict[str, object]] = {
    "paper, one": {"one_optimiser": True, "learning_rate": 1e-5},
    "paper, two": {"learning_rate": 1e-5, "new_learning_rate": 1e-4},
    "one, 1e-4": {"one_optimiser": True, "learning_rate": 1e-4},
    "one, 3e-4": {"one_optimiser": True, "learning_rate": 3e-4},
    "two, 1e-4 and 1e-3": {"learning_rate": 1e-4, "new_learning_rate": 1e-3},
    "two, 3e-4 and 2e-3": {"learning_rate": 3e-4, "new_learning_rate": 2e-3},
}
GRAPH_RATES = (
    1e-2,
    4e-2,
)  # of relation tables and label embeddings, with the best of the candidates with two optimisers


def train(variant: str, rates: dict[str, object], directory: Path) -> dict[str, float]:
    """The scores on dev after two epochs with these rates."""
    done = directory / "run.json"
    settings = {"epochs": 2, "states": 4, "batch_sentences": 16, "stale_weight": 0, "empty_stale_weight": 0}
    settings |= {"tag_dropout": 0, "patience": 0, "precision": "bf16"} | rates
    flags = [f"--set=train.{key}={json.dumps(value)}" for key, value in settings.items()]
    data = [str(ROOT.parent / f"shared/treebanks/wsj_sample/{split}.conllu") for split in ("train", "dev")]
    command = [
        sys.executable,
        "-m",
        "graph2graph",
        "train",
        *data,
        "-o",
        str(directory),
        "--model",
        variant,
        "--resume",
    ]
    command += ["--encoder", str(ROOT / ".weights/minilm-l6"), "--tags", "xpos", *flags]
    subprocess.run(command, check=True, cwd=ROOT)
    found = json.loads(done.read_text(encoding="utf-8"))
    return {
        "uas": found["dev"]["uas"],
        "las": found["dev"]["las"],
        "seconds": found["seconds"],
        "steps": found["steps"],
    }


def search(variant: str, runs: Path) -> dict[str, dict[str, float]]:
    """All candidates of a variant; for a graph model the best with two optimisers again, with higher rates for the graph."""
    scores = {name: train(variant, rates, runs / name.replace(", ", "-")) for name, rates in CANDIDATES.items()}
    if variant.endswith("g2g"):
        best = max((name for name in CANDIDATES if "two" in name), key=lambda name: scores[name]["las"])
        for rate in GRAPH_RATES:
            name = f"{best}; graph {rate:g}"
            scores[name] = train(variant, CANDIDATES[best] | {"graph_learning_rate": rate}, runs / f"graph-{rate:g}")
    return scores


def main() -> None:
    """Search, print, and write on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", nargs="+", default=["sent", "sent-g2g"])
    parser.add_argument("--runs", type=Path, default=ROOT / "runs/rates")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.relative_to(ROOT)}")
    given = parser.parse_args()
    found = {variant: search(variant, given.runs / variant) for variant in given.variants}
    text = json.dumps(found, indent=1) + "\n"
    print(text)
    if given.write:
        RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
