"""How fast a training step is: pieces a second, GFLOPS, share of the machine's own matmul speed, share spent in products.

    python benchmarks/train.py TRAIN.conllu --encoder .weights/minilm-l6 [--json]

GFLOPS are 6 × (parameters of the layers) × real pieces / time: padding, embeddings, classifiers and the optimiser count as
time but not as work. The peak is that of a 2048 × 2048 fp32 product, timed in between. A share of the time in products is
read from torch's profiler in steps of their own.
"""

import argparse
import itertools
import json
import time
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch.profiler import ProfilerActivity, profile

from graph2graph.config import Config
from graph2graph.parser.parser import Parser
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.training.examples import training_examples
from graph2graph.training.loss import batch_loss
from graph2graph.training.optimiser import optimiser
from graph2graph.training.sampling import Sampler
from graph2graph.training.supervision import StaleWeights, supervise, total_weight
from graph2graph.treebank import conllu
from graph2graph.variants import VARIANTS
from machine import matmul_gflops

PRODUCTS = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::addmm_", "aten::mkldnn_linear"}


class Steps:
    """Real training steps of one variant."""

    def __init__(self, variant: str, sentences: list[conllu.Sentence], encoder: Path | None, batch_pieces: int) -> None:
        values = {"model": VARIANTS[variant].model, "train": {"batch_pieces": batch_pieces}}
        config = Config.parse(values, "benchmark")
        vocabulary = Vocabulary.of(sentences)
        torch.manual_seed(1)
        self.parser = Parser.create(config, vocabulary, encoder=encoder, forms=(f for s in sentences for f in s.forms))
        self.sampler = Sampler(training_examples(self.parser, sentences), config.model, config.train)
        self.model = self.parser.model.train()
        self.optimiser = optimiser(self.model, config.train, pretrained=encoder is not None)
        self.batches = itertools.cycle(self.sampler.batches(0))
        layers = sum(p.numel() for name, p in self.model.named_parameters() if ".layers." in name)
        self.flop_a_piece = 6 * layers

    def step(self) -> int:
        """One step; the pieces it encoded."""
        batch = next(self.batches)
        samples = [self.sampler.sample(int(number), 0) for number in batch]
        supervised = supervise(samples, self.model.config, StaleWeights.of(self.parser.config.train))
        self.optimiser.zero_grad(set_to_none=True)
        (batch_loss(self.model, supervised).total / total_weight([supervised])).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        if self.model.config.input == "state":
            return sum(len(d.steps) * (d.example.features.n_words + 4) for d in samples)  # CLS, ROOT, two SEP
        return sum(len(d.steps) * d.example.features.n_pieces for d in samples)


def product_share(steps: Steps, n_steps: int) -> float:
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(n_steps):
            steps.step()
    events = [event for event in profiler.key_averages() if event.self_cpu_time_total > 0]
    products = sum(event.self_cpu_time_total for event in events if event.key in PRODUCTS)
    return products / sum(event.self_cpu_time_total for event in events)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("train", nargs="?", type=Path, default=root.parent / "shared/treebanks/en_ewt/train.conllu")
    parser.add_argument("--encoder", type=Path, default=root / ".weights/minilm-l6")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=["sent", "sent-g2g", "state-g2g"])
    parser.add_argument("--sentences", type=int, default=3000)
    parser.add_argument("--batch-pieces", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=4, help="in each round")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    sentences = list(itertools.islice(conllu.read(given.train), given.sentences))
    runs = {variant: Steps(variant, sentences, given.encoder, given.batch_pieces) for variant in given.variants}
    for steps in runs.values():
        steps.step()
    matmul_gflops()
    speeds: dict[str, list[float]] = {variant: [] for variant in runs}
    peaks = []
    for _ in range(given.rounds):
        for variant, steps in runs.items():
            peaks.append(matmul_gflops())
            begin = time.perf_counter()
            pieces = sum(steps.step() for _ in range(given.steps))
            speeds[variant].append(pieces / (time.perf_counter() - begin))
    rows = []
    for variant, steps in runs.items():
        gflops = max(speeds[variant]) * steps.flop_a_piece / 1e9
        rows.append(
            {
                "model": variant,
                "pieces_per_second": round(max(speeds[variant])),
                "gflops": round(gflops, 1),
                "peak_gflops": round(max(peaks), 1),
                "share_of_peak": round(gflops / max(peaks), 3),
                "share_in_products": round(product_share(steps, 2), 3),
                "median_pieces_per_second": round(float(np.median(speeds[variant]))),
            }
        )
    if given.json:
        print(json.dumps(rows, indent=2))
        return
    table = Table(*rows[0])
    for row in rows:
        table.add_row(
            VARIANTS[str(row["model"])].title, *(str(value) for name, value in row.items() if name != "model")
        )
    Console().print(table)


if __name__ == "__main__":
    main()
