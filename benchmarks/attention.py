"""The cost of the graph: the whole encoder with a tree, against the same encoder without one and against the naive form.

    python benchmarks/attention.py [--sizes 6x384 6x768] [--lengths 16 32 64 128] [--clock wall|cpu] [--json]

Batches of 32 rows without padding, each with a different tree, both directions of its arcs (k = 3). Forward is inference;
a training step is forward, backward and AdamW, with dropout (attention dropout too) on both sides, and a small vocabulary, so
that the optimiser's time hides nothing. All forms take turns in one process, in changing order, and the best time of each
counts. On a busy machine threads wait for each other and wall time says little: take the processor's time, of one thread
(`--clock cpu`).

The naive form (`naive.py`) builds n × n × c tensors for Eq. 3 and 4, with the same weights. The dense form there takes the
relation terms apart as ours does, but for all pairs, where ours touches only those of the graph. Memory is the peak that torch
has allocated, by its profiler, beyond weights and input: in forward, and in forward and backward (`naive_memory_ratio`), the
latter without dropout, which the naive form does not have.
"""

import argparse
import json
import math
import os
import random
import time
from collections.abc import Callable

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # silences the profiler; read when torch is imported

import torch
from rich.box import SIMPLE
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

import naive
from graph2graph.config import EncoderConfig
from graph2graph.encoder.encoder import GraphEncoder
from graph2graph.encoder.layout import Graph
from machine import describe, seconds

N_ROWS = 32
VOCABULARY = 1000
GOALS = {"forward_ratio": 1.15, "train_ratio": 1.25}


def trees(n: int) -> Tensor:
    """Relation ids of random trees, [B, n, n]."""
    relations = torch.zeros(N_ROWS, n, n, dtype=torch.long)
    for row in range(N_ROWS):
        for node in range(1, n):
            head = random.randrange(node)
            relations[row, head, node], relations[row, node, head] = 1, 2
    return relations


def peak_bytes(work: Callable[[], object]) -> int:
    """The most that was allocated at a time during a call."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        work()
    allocated = peak = 0
    for event in profiler.profiler.kineto_results.events():
        if event.name() == "[memory]":
            allocated += event.nbytes()
            peak = max(peak, allocated)
    return peak


def without_gradient(work: Callable[[], Tensor]) -> Callable[[], Tensor]:
    return torch.inference_mode()(work)


def training_step(encoder: GraphEncoder, encode: Callable[[], Tensor]) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-5)

    def step() -> None:
        encode().square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


class Forms:
    """The encoder in all its forms, over one batch of random trees."""

    def __init__(self, layers: int, width: int, n: int) -> None:
        config = EncoderConfig(
            vocab_size=VOCABULARY, width=width, layers=layers, heads=12, inner_width=4 * width, relations=3
        )
        self.encoder, self.plain = GraphEncoder(config), GraphEncoder(config.model_copy(update={"relations": 0}))
        self.tokens, self.relations = torch.randint(VOCABULARY, (N_ROWS, n)), trees(n)
        self.graph, self.is_real = Graph.from_dense(self.relations), torch.ones(N_ROWS, n, dtype=torch.bool)

    def with_graph(self) -> Tensor:
        """Our form."""
        encoded: Tensor = self.encoder(self.tokens, graph=self.graph)
        return encoded

    def without_graph(self) -> Tensor:
        """The encoder without a graph."""
        encoded: Tensor = self.plain(self.tokens)
        return encoded

    def naive(self) -> Tensor:
        """The form with n × n × c tensors."""
        return naive.encode(self.encoder, self.encoder.words(self.tokens), self.relations, self.is_real)

    def dense(self) -> Tensor:
        """The form with all n × n pairs."""
        words = self.encoder.words(self.tokens)
        return naive.encode(self.encoder, words, self.relations, self.is_real, naive.dense_attention)

    def inference(self) -> dict[str, Callable[[], Tensor]]:
        """The forward passes to time."""
        forms = {"forward": self.with_graph, "plain_forward": self.without_graph}
        forms |= {"naive_forward": self.naive, "dense_forward": self.dense}
        return {name: without_gradient(form) for name, form in forms.items()}

    def training(self) -> dict[str, Callable[[], None]]:
        """The training steps to time."""
        return {
            "train": training_step(self.encoder, self.with_graph),
            "plain_train": training_step(self.plain, self.without_graph),
        }

    def eval(self) -> None:
        """Switch dropout off."""
        self.encoder.eval(), self.plain.eval()

    def peaks(self) -> dict[str, int]:
        """The peak memory of our form and of the naive one, without dropout."""
        forward = self.inference()
        found = {name: peak_bytes(forward[name]) for name in ("forward", "naive_forward")}
        found["train"] = peak_bytes(lambda: self.with_graph().square().mean().backward())
        self.encoder.zero_grad()
        found["naive_train"] = peak_bytes(lambda: self.naive().square().mean().backward())
        self.encoder.zero_grad()
        return found


def measure(
    layers: int, width: int, n: int, *, repeats: int, at_least: float, clock: Callable[[], float]
) -> dict[str, object]:
    """One row of the table, of at least so many turns and seconds."""
    forms = Forms(layers, width, n)
    forms.eval()
    inference = forms.inference()
    for other in ("naive_forward", "dense_forward"):
        torch.testing.assert_close(inference["forward"](), inference[other](), rtol=1e-4, atol=1e-4)
    memory = forms.peaks()
    best = best_times(forms, repeats=repeats, at_least=at_least, clock=clock)
    return {
        "size": f"{layers}x{width}",
        "n": n,
        "forward_ratio": round(best["forward"] / best["plain_forward"], 3),
        "train_ratio": round(best["train"] / best["plain_train"], 3),
        "naive_forward_ratio": round(best["naive_forward"] / best["forward"], 3),
        "dense_forward_ratio": round(best["dense_forward"] / best["forward"], 3),
        "naive_memory_ratio": round(memory["naive_train"] / memory["train"], 3),
        "naive_forward_memory_ratio": round(memory["naive_forward"] / memory["forward"], 3),
        **{f"{name}_ms": round(1000 * value, 1) for name, value in best.items()},
        **{f"{name}_peak_mb": round(value / 2**20, 1) for name, value in memory.items()},
    }


def best_times(forms: Forms, *, repeats: int, at_least: float, clock: Callable[[], float]) -> dict[str, float]:
    """The best time of each form; they take turns, in changing order."""
    inference, training = forms.inference(), forms.training()
    best = dict.fromkeys([*inference, *training], math.inf)
    start, turn = time.perf_counter(), 0
    while turn < repeats or time.perf_counter() - start < at_least:
        turn += 1
        for works, is_training in ((inference, False), (training, True)):
            forms.encoder.train(is_training), forms.plain.train(is_training)
            for name in list(works) if turn % 2 else reversed(works):
                best[name] = min(best[name], seconds(works[name], clock))
    return best


COLUMNS = {
    "size": "size",
    "n": "n",
    "forward_ms": "forward\nms",
    "forward_ratio": "graph\n/none",
    "naive_forward_ratio": "naive\n/ours",
    "dense_forward_ratio": "dense\n/ours",
    "train_ms": "train\nms",
    "train_ratio": "graph\n/none",
    "forward_peak_mb": "forward\nMB",
    "naive_forward_memory_ratio": "naive\n/ours",
    "train_peak_mb": "train\nMB",
    "naive_memory_ratio": "naive\n/ours",
}


def shown(rows: list[dict[str, object]], title: str) -> Table:
    """The rows as a table; ratios that miss their goal are red."""
    table = Table(title=title, box=SIMPLE, padding=(0, 0, 0, 1))
    for name in COLUMNS.values():
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(cell(key, row[key]) for key in COLUMNS))
    return table


def cell(key: str, value: object) -> str:
    """A figure; red if it misses its goal."""
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.2f}" if "ratio" in key else f"{value:.0f}"
    return f"[red]{text}[/red]" if value > GOALS.get(key, math.inf) else text


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["6x384", "6x768"], help="layers x width, 12 heads")
    parser.add_argument("--lengths", nargs="+", type=int, default=[16, 32, 64, 128], help="positions in a row")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each, at least; the best counts")
    parser.add_argument("--seconds", type=float, default=15, help="time spent on a row of the table, at least")
    parser.add_argument("--threads", type=int, help="default: torch's own choice, or one for the processor's time")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="cpu: for a machine that is busy")
    parser.add_argument("--json", action="store_true", help="print a list of rows as JSON")
    return parser.parse_args()


def main() -> None:
    """Measure all sizes at all lengths."""
    given = arguments()
    on_cpu = given.clock == "cpu"
    clock = time.process_time if on_cpu else time.perf_counter
    torch.set_num_threads(given.threads or (1 if on_cpu else torch.get_num_threads()))
    random.seed(0)
    torch.manual_seed(0)
    rows = []
    cells = [(*map(int, size.split("x")), n) for size in given.sizes for n in given.lengths]
    for layers, width, n in track(cells, "measuring", console=Console(stderr=True), transient=True):
        rows.append(measure(layers, width, n, repeats=given.repeats, at_least=given.seconds, clock=clock))
    if given.json:
        print(json.dumps(rows, indent=2))
        return
    goals = ", ".join(f"{name.removesuffix('_ratio')} at most {value}" for name, value in GOALS.items())
    Console().print(shown(rows, f"{describe()}, {given.clock} time; batch of {N_ROWS}; graph / none: {goals}"))


if __name__ == "__main__":
    main()
