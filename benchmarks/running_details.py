"""The paper's table of running details, on this machine: parameters, time a transition, sentences and tokens a second.

    python benchmarks/running_details.py [FILE.conllu] [--encoder .weights/mpnet-base] [--sentences 16] [--threads 2] [--json]

The paper's size: six layers of 768. Training is the paper's, every state of a sentence an example; evaluation is exact greedy
decoding of the same sentences. SWAP is ruled out, since untrained classifiers would swap all the time. The paper counts 79,664
transitions in 39,832 sentences, two to a sentence, where there are two to a word: its "second a transition" is one for half
a sentence, and that is what stands beside it here, with the time of a real transition in a column of its own. With --write the
result goes to experiments/results/running-details.json and docs/tables/running-details.md.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from graph2graph.analysis.tables import Table
from graph2graph.config import Config
from graph2graph.files import write_json, write_text
from graph2graph.parser.parser import Parser
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.training.examples import training_examples
from graph2graph.training.loss import batch_loss
from graph2graph.training.optimiser import optimiser
from graph2graph.training.sampling import Sampler
from graph2graph.training.supervision import supervise, total_weight
from graph2graph.transition.state import Action
from graph2graph.treebank import conllu
from graph2graph.variants import VARIANTS

ROOT = Path(__file__).resolve().parent.parent
# Parameters in millions; seconds for half a sentence in training and evaluation; sentences and tokens a second: on a V100.
PAPER = {
    "state": (90.33, 0.098, 0.031, 16.2, 388.13),
    "state-g2g": (105.78, 0.226, 0.071, 7.05, 168.91),
    "sent": (63.23, 0.112, 0.026, 19.27, 460.6),
    "sent-g2g": (63.27, 0.138, 0.031, 16.2, 388.13),
}


def untrained(variant: str, sentences: list[conllu.Sentence], encoder: Path | None) -> Parser:
    """A parser of the paper's size: on an encoder, or from nothing."""
    train = {"states": 0, "stale_weight": 0, "empty_stale_weight": 0, "tag_dropout": 0, "batch_pieces": 10**9}
    model = VARIANTS[variant].model | {"encoder": {"layers": 6}}
    config = Config.parse({"model": model, "train": train, "data": {"tags": "xpos"}}, "benchmark")
    torch.manual_seed(1)
    forms = (form for sentence in sentences for form in sentence.forms)
    parser = Parser.create(config, Vocabulary.of(sentences, "xpos"), encoder=encoder, forms=forms)
    with torch.no_grad():
        parser.model.exist.out.bias[Action.SWAP] = -1e9
    return parser


def training_seconds(parser: Parser, sentences: list[conllu.Sentence], at_once: int) -> float:
    """A pass over the sentences, forward, backward and optimiser, some at a time; the first few warm up."""
    config = parser.config
    sampler = Sampler(training_examples(parser, sentences), config.model, config.train)
    model, adam = parser.model.train(), optimiser(parser.model, config.train, pretrained=True)
    for group in adam.param_groups:
        group["lr"] = 0.0  # the weights are wanted as they are

    def step(some: list[int]) -> None:
        batch = supervise([sampler.sample(number, 0) for number in some], config.model)
        adam.zero_grad(set_to_none=True)
        (batch_loss(model, batch).total / total_weight([batch])).backward()
        adam.step()

    order = np.argsort(sampler.costs).tolist()
    step(order[:1])
    begin = time.perf_counter()
    for first in range(0, len(order), at_once):
        step(order[first : first + at_once])
    return time.perf_counter() - begin


def row(variant: str, sentences: list[conllu.Sentence], encoder: Path | None, at_once: int) -> dict[str, Any]:
    """One model."""
    parser = untrained(variant, sentences, encoder)
    training = training_seconds(parser, sentences, 50 if variant == "sent" else at_once)
    parser.model.eval()
    list(parser.parse(sentences[:1]))
    begin = time.perf_counter()
    list(parser.parse(sentences))
    parsing = time.perf_counter() - begin
    n_sentences, n_words = len(sentences), sum(map(len, sentences))
    return {
        "model": variant,
        "parameters": sum(parameter.numel() for parameter in parser.model.parameters()),
        "train_seconds_a_half_sentence": training / (2 * n_sentences),
        "train_seconds_a_transition": training / (2 * n_words),
        "evaluation_seconds_a_half_sentence": parsing / (2 * n_sentences),
        "evaluation_seconds_a_transition": parsing / (2 * n_words),
        "sentences_per_second": n_sentences / parsing,
        "tokens_per_second": n_words / parsing,
        "paper": dict(zip(("parameters_m", "train", "evaluation", "sentences", "tokens"), PAPER[variant], strict=True)),
    }


def table(rows: list[dict[str, Any]], about: str) -> Table:
    header = ["", "parameters", "training, s / half sentence", "s / transition", "evaluation, s / half sentence"]
    header += ["s / transition", "sentences/s", "tokens/s"]
    lines = []
    for found in rows:
        paper, title = found["paper"], VARIANTS[found["model"]].title
        here = [f"{found['parameters'] / 1e6:.2f}M"]
        here += [
            f"{found[f'{kind}_seconds_a_{unit}']:.4f}"
            for kind in ("train", "evaluation")
            for unit in ("half_sentence", "transition")
        ]
        lines.append(
            [f"{title}, here", *here, f"{found['sentences_per_second']:.2f}", f"{found['tokens_per_second']:.1f}"]
        )
        there = [f"{paper['parameters_m']}M", str(paper["train"]), "", str(paper["evaluation"]), ""]
        lines.append([f"{title}, paper (V100)", *there, str(paper["sentences"]), str(paper["tokens"])])
    return Table("running-details", "Running details", header, lines, about)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=ROOT.parent / "shared/treebanks/wsj_sample/dev.conllu")
    parser.add_argument("--encoder", type=Path, default=ROOT / ".weights/mpnet-base")
    parser.add_argument("--models", nargs="+", choices=PAPER, default=list(PAPER))
    parser.add_argument("--sentences", type=int, default=16)
    parser.add_argument("--at-once", type=int, default=4, help="sentences in a training step, but for SentTr")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="write the result and the page of the docs")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    sentences = list(conllu.read(given.file))
    chosen = np.linspace(0, len(sentences) - 1, min(given.sentences, len(sentences))).astype(int)
    sample = [sentences[number] for number in chosen]
    encoder = given.encoder if given.encoder.is_dir() else None
    rows = [row(variant, sample, encoder, given.at_once) for variant in given.models]
    n_words = sum(map(len, sample))
    size = f"{encoder.name if encoder else 'random weights'}), {len(sample)} sentences of {n_words / len(sample):.1f} words"
    about = (
        f"Six layers of 768 ({size} on average, threads on this CPU: {given.threads}, fp32. The paper's seconds are for half a "
        "sentence: it counts two transitions to a sentence. Training is the paper's, with every state of a sentence. "
        "Made by `python benchmarks/running_details.py --write`."
    )
    if given.write:
        result = {"threads": given.threads, "sentences": len(sample), "words": n_words, "rows": rows}
        write_json(ROOT / "experiments/results/running-details.json", result, indent=1)
        page = table(rows, about).markdown().replace("## ", "# ", 1)
        write_text(ROOT / "docs/tables/running-details.md", page)
    print(json.dumps(rows, indent=1) if given.json else table(rows, about).markdown())


if __name__ == "__main__":
    main()
