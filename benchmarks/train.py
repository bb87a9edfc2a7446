"""How fast a training step is: pieces a second, GFLOPS, share of the machine's own matmul speed, share spent in products.

    python benchmarks/train.py TRAIN.conllu --encoder .weights/minilm-l6 [--precisions fp32 bf16] [--json]

GFLOPS are 6 × (parameters of the layers) × real pieces / time: padding, embeddings, classifiers and the optimiser count as
time but not as work. The peak is that of a 2048 × 2048 fp32 product, timed in between. The share of the time in products is
read from torch's profiler, in steps that are not timed.
"""

import argparse
import itertools
import json
import time
from pathlib import Path
from statistics import median
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch.profiler import ProfilerActivity, profile

from graph2graph.treebank import conllu
from graph2graph.variants import VARIANTS
from machine import describe, matmul_gflops
from training_steps import TrainingSteps

PRODUCTS = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::addmm_", "aten::mkldnn_linear"}


def product_share(steps: TrainingSteps, n_steps: int) -> float:
    """The share of a step's time that is spent in matrix products."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(n_steps):
            steps.step()
    events = [event for event in profiler.key_averages() if event.self_cpu_time_total > 0]
    products = sum(event.self_cpu_time_total for event in events if event.key in PRODUCTS)
    return float(products / sum(event.self_cpu_time_total for event in events))


def time_in_turns(runs: dict[str, TrainingSteps], rounds: int, n_steps: int) -> tuple[dict[str, list[float]], float]:
    """Pieces a second of each variant in each round, and the best matmul speed in between."""
    speeds: dict[str, list[float]] = {variant: [] for variant in runs}
    peaks = []
    for _ in range(rounds):
        for variant, steps in runs.items():
            peaks.append(matmul_gflops())
            begin = time.perf_counter()
            pieces = sum(steps.step() for _ in range(n_steps))
            speeds[variant].append(pieces / (time.perf_counter() - begin))
    return speeds, max(peaks)


def row(variant: str, steps: TrainingSteps, speeds: list[float], peak: float) -> dict[str, Any]:
    """The figures of a variant."""
    gflops = max(speeds) * 6 * steps.n_layer_parameters / 1e9
    return {
        "model": variant,
        "pieces_per_second": round(max(speeds)),
        "gflops": round(gflops, 1),
        "peak_gflops": round(peak, 1),
        "share_of_peak": round(gflops / peak, 3),
        "share_in_products": round(product_share(steps, 2), 3),
        "median_pieces_per_second": round(median(speeds)),
    }


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("train", nargs="?", type=Path, default=root.parent / "shared/treebanks/en_ewt/train.conllu")
    parser.add_argument("--encoder", type=Path, default=root / ".weights/minilm-l6")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=["sent", "sent-g2g", "state-g2g"])
    parser.add_argument("--precisions", nargs="+", choices=["fp32", "bf16"], default=["fp32"])
    parser.add_argument("--sentences", type=int, default=3000)
    parser.add_argument("--batch-pieces", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=4, help="in each round")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main() -> None:
    """Time the variants in turn and print a row for each."""
    given = arguments()
    torch.set_num_threads(given.threads)
    sentences = list(itertools.islice(conllu.read(given.train), given.sentences))
    runs = {
        f"{variant}, {precision}": TrainingSteps(
            variant,
            sentences,
            given.encoder,
            {"train": {"batch_pieces": given.batch_pieces, "precision": precision}},
        )
        for variant in given.variants
        for precision in given.precisions
    }
    for steps in runs.values():  # warm up
        steps.step()
    matmul_gflops()
    speeds, peak = time_in_turns(runs, given.rounds, given.steps)
    rows = [row(name, steps, speeds[name], peak) for name, steps in runs.items()]
    if given.json:
        print(json.dumps(rows, indent=2))
        return
    table = Table(*rows[0], title=describe())
    for found in rows:
        table.add_row(*map(str, found.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
