"""Every variant on real slices: 500 sentences of English and of Turkish, a few minutes each.

    python experiments/slices.py [--workers 2]

From scratch (a small encoder) in both languages, and from MiniLM-L6 in English. Each must end at least 20 LAS above attaching
every word to its left neighbour with the commonest label. Runs that are done are skipped, so it can be stopped and started
again. Writes experiments/results/slices.json and docs/slices.md.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from graph2graph import markdown, scoring
from graph2graph.treebank import conllu
from graph2graph.variants import VARIANTS

ROOT = Path(__file__).resolve().parent.parent
TREEBANKS = Path(os.environ.get("G2G_TREEBANKS", ROOT.parent / "shared/treebanks"))
RUNS = ROOT / "runs/slices"
RESULTS, PAGE = ROOT / "experiments/results/slices.json", ROOT / "docs/slices.md"
N_TRAIN, N_DEV, MARGIN = 500, 100, 20
LENGTHS = range(4, 16)  # words: the state models' time is quadratic in them
BATCH, STATES = 1000, 8  # pieces a step; states a sentence: composition is computed once for all of them
CLS_BATCH = 500
SCRATCH = {"layers": 3, "width": 192, "heads": 6, "inner_width": 768, "vocab_size": 4000}
SETTINGS = {
    "English, from scratch": ("en_ewt", None),
    "English, MiniLM-L6": ("en_ewt", ".weights/minilm-l6"),
    "Turkish, from scratch": ("tr_imst", None),
}


class Plan(NamedTuple):
    """What a run gets."""

    minutes: float
    settings: dict[str, object]


def plan_of(setting: str, variant: str) -> Plan:
    """CLS must first learn where to look: 600 steps, of whatever size. Turkish has so little text that words are hidden."""
    treebank, encoder = SETTINGS[setting]
    from_cls = variant in ("state-cls", "state-g2cls")
    settings: dict[str, object] = {"train.batch_pieces": CLS_BATCH if from_cls else BATCH}
    if variant.startswith("state"):
        settings |= {"train.states": STATES, "train.stale_weight": 0}
    if treebank == "tr_imst":
        settings["train.word_dropout"] = 0.2
    if encoder is None:
        for name, value in SCRATCH.items():
            settings[f"model.encoder.{name}"] = value
        return Plan((9 if treebank == "tr_imst" else 6) if from_cls else 2.5, settings)
    return Plan(12 if from_cls else 4, settings)


def sliced(treebank: str, split: str, n_sentences: int) -> Path:
    """The first sentences of middling length, in a file of their own outside the repository's history."""
    path = RUNS / f"{treebank}-{split}.conllu"
    path.parent.mkdir(parents=True, exist_ok=True)
    fitting = (s for s in conllu.read(TREEBANKS / treebank / f"{split}.conllu") if len(s) in LENGTHS)
    conllu.write(islice(fitting, n_sentences), path)
    return path


def baseline(train: Path, dev: Path) -> float:
    """LAS of attaching each word to the one on its left, the first to ROOT, with the commonest label."""
    [(label, _)] = Counter(deprel for s in conllu.read(train) for deprel in s.deprels).most_common(1)
    gold = list(conllu.read(dev))
    guesses = [s.with_tree(list(range(len(s))), ["root"] + [label] * (len(s) - 1)) for s in gold]
    return scoring.score(gold, guesses).las


def train_one(setting: str, variant: str) -> dict[str, object]:
    """One run of the real command, on one core; its result."""
    treebank, encoder = SETTINGS[setting]
    output = RUNS / f"{treebank}-{'scratch' if encoder is None else Path(encoder).name}-{variant}"
    files = [str(RUNS / f"{treebank}-{split}.conllu") for split in ("train", "dev")]
    command = [sys.executable, "-m", "graph2graph", "train", *files, "--output", str(output), "--model", variant]
    plan = plan_of(setting, variant)
    command += ["--time-limit", f"{plan.minutes:g}m", "--resume"]
    for key, value in plan.settings.items():
        command += ["--set", f"{key}={json.dumps(value)}"]
    if encoder is not None:
        command += ["--encoder", str(ROOT / encoder)]
    subprocess.run(command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, stderr=subprocess.DEVNULL)
    state = json.loads((output / "run.json").read_text())
    print(f"{setting}, {variant}: LAS {state['dev']['las']:.2f}", file=sys.stderr)
    return {
        "setting": setting,
        "model": variant,
        "seed": state["asked"]["settings"]["train"]["seed"],
        "minutes": plan.minutes,
        "seconds": state["seconds"],
        "epochs": state["epochs"],
        "uas": round(state["dev"]["uas"], 2),
        "las": round(state["dev"]["las"], 2),
    }


def page(rows: list[dict[str, object]], floors: dict[str, float]) -> str:
    """The table of the docs."""
    lines = [
        "# Every variant on real slices",
        "",
        f"The first {N_TRAIN} training sentences of {LENGTHS[0]} to {LENGTHS[-1]} words of UD English-EWT and UD Turkish-IMST,",
        f"one core each, for the minutes given, seed 1, scored (UAS / LAS) on {N_DEV} such development sentences.",
        f"From scratch: {SCRATCH['layers']} layers × {SCRATCH['width']}. {BATCH:,} pieces a step, the CLS models {CLS_BATCH},",
        "since CLS must first learn where to look.",
        "The floor attaches every word to its left neighbour with the commonest label. Made by `python experiments/slices.py`.",
        "",
    ]
    table = [["floor (LAS)", *(f"{floors[setting]:.2f}" for setting in SETTINGS)]]
    by_place = {(row["setting"], row["model"]): row for row in rows}
    for variant in VARIANTS:
        cells = [by_place[setting, variant] for setting in SETTINGS]
        scores = (f"{cell['uas']:.2f} / {cell['las']:.2f} ({cell['minutes']:g} min)" for cell in cells)
        table.append([VARIANTS[variant].title, *scores])
    return "\n".join(lines) + "\n" + markdown.table(["model", *SETTINGS], table)


def results() -> dict[tuple[str, str], dict[str, object]]:
    """What is done."""
    rows = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    return {(row["setting"], row["model"]): row for row in rows}


def main() -> None:
    """Run what is missing, and write down each result when it is there; the page when all are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    floors = {}
    for setting, (treebank, _) in SETTINGS.items():
        floors[setting] = baseline(sliced(treebank, "train", N_TRAIN), sliced(treebank, "dev", N_DEV))
    done = results()
    missing = [(s, v) for s in SETTINGS for v in VARIANTS if (s, v) not in done]
    missing.sort(key=lambda run: plan_of(*run).minutes)
    with ThreadPoolExecutor(given.workers) as pool:
        for job in as_completed([pool.submit(train_one, *run) for run in missing]):
            row = job.result()
            done[str(row["setting"]), str(row["model"])] = row
            rows = [done[s, v] for s in SETTINGS for v in VARIANTS if (s, v) in done]
            RESULTS.write_text(json.dumps({"floors": floors, "rows": rows}, indent=1) + "\n")
    rows = [done[s, v] for s in SETTINGS for v in VARIANTS]
    PAGE.write_text(page(rows, floors))
    low = [row for row in rows if float(str(row["las"])) < floors[str(row["setting"])] + MARGIN]
    for row in low:
        print(f"too low: {row}", file=sys.stderr)
    sys.exit(bool(low))


if __name__ == "__main__":
    main()
