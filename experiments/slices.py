"""Every variant on real slices: 500 sentences of English and of Turkish, a few minutes each.

    python experiments/slices.py [--workers 2]

From scratch (a small encoder) in both languages, and from MiniLM-L6 in English. Each must end at least 20 LAS above attaching
every word to its left neighbour with the commonest label. Finished runs are skipped, so the script can be stopped and started
again. Writes experiments/results/slices.json and docs/slices.md.
"""

import argparse
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from graph2graph import markdown, scoring
from graph2graph.files import read_json, write_json, write_text
from graph2graph.reproduce import trainings
from graph2graph.reproduce.jobs import Job, results_of
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.rows import Settings
from graph2graph.treebank import conllu
from graph2graph.variants import VARIANTS

PATHS = Paths.find(start=Path(__file__).parent)
RUNS = PATHS.root / "runs/slices"
RESULTS, PAGE = PATHS.experiments / "results/slices.json", PATHS.root / "docs/slices.md"
N_TRAIN, N_DEV, MARGIN = 500, 100, 20
LENGTHS = range(4, 16)  # words: the time of state models is quadratic in them
BATCH, CLS_BATCH = 1000, 500  # pieces a step
STATES = 8  # a sentence: composition is computed once for all of them
SCRATCH = {"layers": 3, "width": 192, "heads": 6, "inner_width": 768, "vocab_size": 4000}
SETTINGS = {
    "English, from scratch": ("en_ewt", None),
    "English, MiniLM-L6": ("en_ewt", ".weights/minilm-l6"),
    "Turkish, from scratch": ("tr_imst", None),
}


class Budget(NamedTuple):
    """The time and the settings of a run."""

    minutes: float
    settings: Settings


def budget(setting: str, variant: str) -> Budget:
    """CLS needs 600 steps, of whatever size, to learn where to look. Turkish has so little text that words are hidden."""
    treebank, encoder = SETTINGS[setting]
    has_cls = variant in ("state-cls", "state-g2cls")
    train: Settings = {"batch_pieces": CLS_BATCH if has_cls else BATCH}
    if variant.startswith("state"):
        train |= {"states": STATES, "stale_weight": 0}
    if treebank == "tr_imst":
        train["word_dropout"] = 0.2
    if encoder is not None:
        return Budget(12 if has_cls else 4, {"train": train})
    minutes = (9 if treebank == "tr_imst" else 6) if has_cls else 2.5
    return Budget(minutes, {"train": train, "model": {"encoder": SCRATCH}})


def slice_file(treebank: str, split: str) -> Path:
    """The file of a slice."""
    return RUNS / f"{treebank}-{split}.conllu"


def write_slice(treebank: str, split: str, n_sentences: int) -> None:
    """Write the first sentences of middling length."""
    sentences = conllu.read(PATHS.treebanks / treebank / f"{split}.conllu")
    fitting = (sentence for sentence in sentences if len(sentence) in LENGTHS)
    RUNS.mkdir(parents=True, exist_ok=True)
    conllu.write(islice(fitting, n_sentences), slice_file(treebank, split))


def baseline(treebank: str) -> float:
    """LAS of attaching each word to the one on its left, the first to ROOT, with the commonest label."""
    train, gold = (list(conllu.read(slice_file(treebank, split))) for split in ("train", "dev"))
    [(label, _)] = Counter(deprel for sentence in train for deprel in sentence.deprels).most_common(1)
    guesses = [s.with_tree(list(range(len(s))), ["root"] + [label] * (len(s) - 1)) for s in gold]
    return scoring.score(gold, guesses).las


def job(setting: str, variant: str) -> Job[dict[str, Any]]:
    """A run on one core; the name of its directory is the job's."""
    treebank, encoder = SETTINGS[setting]
    minutes, settings = budget(setting, variant)
    request = trainings.training(
        PATHS,
        slice_file(treebank, "train"),
        slice_file(treebank, "dev"),
        RUNS / f"{treebank}-{'scratch' if encoder is None else Path(encoder).name}-{variant}",
        variant,
        settings,
        encoder=encoder,
        time_limit=60 * minutes,
    )
    return Job(request.output.name, trainings.train, (request, PATHS.root))


def result_row(setting: str, variant: str, state: dict[str, Any]) -> dict[str, Any]:
    """The row of a run, from its run.json."""
    return {
        "setting": setting,
        "model": variant,
        "seed": state["asked"]["settings"]["train"]["seed"],
        "minutes": budget(setting, variant).minutes,
        "seconds": state["seconds"],
        "epochs": state["epochs"],
        "uas": round(state["dev"]["uas"], 2),
        "las": round(state["dev"]["las"], 2),
    }


def page(rows: dict[tuple[str, str], dict[str, Any]], floors: dict[str, float]) -> str:
    """The page of the docs."""
    table = [["floor (LAS)", *(f"{floors[setting]:.2f}" for setting in SETTINGS)]]
    for variant in VARIANTS:
        cells = [rows[setting, variant] for setting in SETTINGS]
        scores = (f"{cell['uas']:.2f} / {cell['las']:.2f} ({cell['minutes']:g} min)" for cell in cells)
        table.append([VARIANTS[variant].title, *scores])
    return f"""\
# Every variant on small treebanks

Does every variant learn to parse in a few minutes? `python experiments/slices.py` trains each on the first {N_TRAIN} sentences
of {LENGTHS[0]} to {LENGTHS[-1]} words of UD English-EWT and UD Turkish-IMST, on one core, and scores it on {N_DEV} such
sentences of dev (UAS / LAS, seed 1). The floor attaches every word to its left neighbour with the most frequent label.

{markdown.table(["model", *SETTINGS], table)}
Models from scratch have {SCRATCH["layers"]} layers × {SCRATCH["width"]}. A step has {BATCH:,} pieces, or {CLS_BATCH}
with CLS, which takes more steps to learn where to look.
"""


def main() -> None:
    """Run what is missing and write each result as it comes; write the page when all are there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    floors = {}
    for setting, (treebank, _) in SETTINGS.items():
        write_slice(treebank, "train", N_TRAIN)
        write_slice(treebank, "dev", N_DEV)
        floors[setting] = baseline(treebank)
    known = read_json(RESULTS)["rows"] if RESULTS.exists() else []
    rows = {(row["setting"], row["model"]): row for row in known}
    missing = [(s, v) for s in SETTINGS for v in VARIANTS if (s, v) not in rows]
    jobs = {job(*run): run for run in sorted(missing, key=lambda run: budget(*run).minutes)}
    for done, state in results_of(jobs, given.workers):
        rows[jobs[done]] = result_row(*jobs[done], state)
        ordered = [rows[s, v] for s in SETTINGS for v in VARIANTS if (s, v) in rows]
        write_json(RESULTS, {"floors": floors, "rows": ordered}, indent=1)
    write_text(PAGE, page(rows, floors))
    low = [row for row in rows.values() if row["las"] < floors[row["setting"]] + MARGIN]
    for row in low:
        print(f"too low: {row}", file=sys.stderr)
    sys.exit(bool(low))


if __name__ == "__main__":
    main()
