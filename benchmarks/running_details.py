"""The paper's table of running details, on this machine: parameters, time a transition, sentences and tokens a second.

    python benchmarks/running_details.py [FILE.conllu] [--encoder .weights/mpnet-base] [--sentences 16] [--threads 2] [--json]

The models have the paper's size: six layers of 768. Training is the paper's, with every state of a sentence an example;
evaluation is exact greedy decoding of the same sentences. SWAP is ruled out, since untrained classifiers would swap all the
time. The paper counts 79,664 transitions in 39,832 sentences, two to a sentence, where there are two to a word: its "second a
transition" is one for half a sentence. The table has our time for half a sentence beside it, and the time of a real transition
in another column. With --write the result goes to experiments/results/running-details.json and
docs/tables/running-details.md.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from graph2graph.analysis.tables import Table
from graph2graph.files import write_json, write_text
from graph2graph.transition.state import Action
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence
from graph2graph.variants import VARIANTS
from machine import seconds
from training_steps import TrainingSteps

ROOT = Path(__file__).resolve().parent.parent
# Parameters in millions; seconds for half a sentence in training and evaluation; sentences and tokens a second: on a V100.
PAPER = {
    "state": (90.33, 0.098, 0.031, 16.2, 388.13),
    "state-g2g": (105.78, 0.226, 0.071, 7.05, 168.91),
    "sent": (63.23, 0.112, 0.026, 19.27, 460.6),
    "sent-g2g": (63.27, 0.138, 0.031, 16.2, 388.13),
}
SETTINGS: dict[str, Any] = {
    "model": {"encoder": {"layers": 6}},
    "train": {"states": 0, "stale_weight": 0, "empty_stale_weight": 0, "tag_dropout": 0, "batch_pieces": 10**9},
    "data": {"tags": "xpos"},
}


def training_seconds(steps: TrainingSteps, at_once: int) -> float:
    """The time of a pass over the sentences, some at a time, with weights that stay as they are."""
    for group in steps.optimiser.param_groups:
        group["lr"] = 0.0
    order = np.argsort(steps.sampler.costs)
    steps.step(order[:1])  # warm up
    begin = time.perf_counter()
    for first in range(0, len(order), at_once):
        steps.step(order[first : first + at_once])
    return time.perf_counter() - begin


def row(variant: str, sentences: list[Sentence], encoder: Path | None, at_once: int) -> dict[str, Any]:
    """The figures of a model."""
    steps = TrainingSteps(variant, sentences, encoder, SETTINGS)
    parser = steps.parser
    with torch.no_grad():
        parser.model.exist.out.bias[Action.SWAP] = -1e9
    training = training_seconds(steps, 50 if variant == "sent" else at_once)
    parser.model.eval()
    list(parser.parse(sentences[:1]))
    parsing = seconds(lambda: list(parser.parse(sentences)))
    n_sentences, n_words = len(sentences), sum(map(len, sentences))
    paper = zip(("parameters_m", "train", "evaluation", "sentences", "tokens"), PAPER[variant], strict=True)
    return {
        "model": variant,
        "parameters": sum(parameter.numel() for parameter in parser.model.parameters()),
        "train_seconds_a_half_sentence": training / (2 * n_sentences),
        "train_seconds_a_transition": training / (2 * n_words),
        "evaluation_seconds_a_half_sentence": parsing / (2 * n_sentences),
        "evaluation_seconds_a_transition": parsing / (2 * n_words),
        "sentences_per_second": n_sentences / parsing,
        "tokens_per_second": n_words / parsing,
        "paper": dict(paper),
    }


def table(rows: list[dict[str, Any]], about: str) -> Table:
    """A line for each model here, and one for the paper's."""
    header = ["", "parameters", "training, s / half sentence", "s / transition", "evaluation, s / half sentence"]
    header += ["s / transition", "sentences/s", "tokens/s"]
    lines = []
    for found in rows:
        paper, title = found["paper"], VARIANTS[found["model"]].title
        times = [
            f"{found[f'{kind}_seconds_a_{unit}']:.4f}"
            for kind in ("train", "evaluation")
            for unit in ("half_sentence", "transition")
        ]
        speeds = [f"{found['sentences_per_second']:.2f}", f"{found['tokens_per_second']:.1f}"]
        lines.append([f"{title}, here", f"{found['parameters'] / 1e6:.2f}M", *times, *speeds])
        times = [str(paper["train"]), "", str(paper["evaluation"]), ""]
        speeds = [str(paper["sentences"]), str(paper["tokens"])]
        lines.append([f"{title}, paper (V100)", f"{paper['parameters_m']}M", *times, *speeds])
    return Table("running-details", "Running details", header, lines, about)


def caption(sample: list[Sentence], encoder: Path | None, threads: int) -> str:
    """What was measured, and how."""
    mean_length = sum(map(len, sample)) / len(sample)
    weights = encoder.name if encoder else "random weights"
    return (
        f"Six layers of 768 ({weights}), {len(sample)} sentences of {mean_length:.1f} words on average, threads on this CPU: "
        f"{threads}, fp32. The paper's seconds are for half a sentence, since it counts two transitions for a sentence. "
        "Training is the paper's, with every state of a sentence. Made by `python benchmarks/running_details.py --write`."
    )


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=ROOT.parent / "shared/treebanks/wsj_sample/dev.conllu")
    parser.add_argument("--encoder", type=Path, default=ROOT / ".weights/mpnet-base")
    parser.add_argument("--models", nargs="+", choices=PAPER, default=list(PAPER))
    parser.add_argument("--sentences", type=int, default=16)
    parser.add_argument("--at-once", type=int, default=4, help="sentences in a training step, but for SentTr")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="write the result and the page of the docs")
    return parser.parse_args()


def main() -> None:
    """Measure the models one after the other."""
    given = arguments()
    torch.set_num_threads(given.threads)
    sentences = list(conllu.read(given.file))
    chosen = np.linspace(0, len(sentences) - 1, min(given.sentences, len(sentences))).astype(int)
    sample = [sentences[number] for number in chosen]
    encoder = given.encoder if given.encoder.is_dir() else None
    rows = [row(variant, sample, encoder, given.at_once) for variant in given.models]
    text = table(rows, caption(sample, encoder, given.threads)).markdown()
    if given.write:
        n_words = sum(map(len, sample))
        result = {"threads": given.threads, "sentences": len(sample), "words": n_words, "rows": rows}
        write_json(ROOT / "experiments/results/running-details.json", result, indent=1)
        write_text(ROOT / "docs/tables/running-details.md", text.replace("## ", "# ", 1))
    print(json.dumps(rows, indent=1) if given.json else text)


if __name__ == "__main__":
    main()
