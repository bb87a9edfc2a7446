"""What the graph costs: the whole encoder with a tree, against the same encoder without one and against the naive form.

    python benchmarks/attention.py [--sizes 6x384 6x768] [--lengths 16 32 64 128] [--clock wall|cpu] [--json]

Batches of 32 rows without padding, each with a tree of its own, both directions of its arcs (k = 3). Forward is inference;
a training step is forward, backward and AdamW, with dropout (attention dropout too) on both sides, and a small vocabulary,
so that the time of the optimiser hides nothing. All forms take turns in one process, in changing order, and the best time
of each counts. On a machine that is busy with other work, threads wait for each other and wall time says little: take the
processor's time, of one thread (`--clock cpu`).

The naive form (`naive.py`) builds n × n × c tensors for Eq. 3 and 4, with the same weights; the dense one there takes the
relation terms apart as ours does, but for all pairs, where ours touches those of the graph alone. Memory is the peak of what
torch has allocated at a time, as its profiler counts it, beyond weights and input: in forward, and in forward and backward
(`naive_memory_ratio`), there without dropout, which the naive form does not have.
"""

import argparse
import json
import math
import os
import random
import time
from collections.abc import Callable

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler is not to talk; before torch is imported

import torch
from rich.box import SIMPLE
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

import naive
from graph2graph.encoder.encoder import EncoderConfig, Graph, GraphEncoder

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


def seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    work()
    return clock() - start


def peak_bytes(work: Callable[[], object]) -> int:
    """The most that was allocated at a time while at work."""
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


def measure(
    layers: int, width: int, n: int, *, repeats: int, at_least: float, clock: Callable[[], float]
) -> dict[str, object]:
    """One row of the table, of at least so many turns and seconds."""
    config = EncoderConfig(
        vocab_size=VOCABULARY, width=width, layers=layers, heads=12, inner_width=4 * width, relations=3
    )
    encoder, plain = GraphEncoder(config), GraphEncoder(config.model_copy(update={"relations": 0}))
    tokens, relations = torch.randint(VOCABULARY, (N_ROWS, n)), trees(n)
    graph, is_real = Graph.from_dense(relations), torch.ones(N_ROWS, n, dtype=torch.bool)

    def with_graph() -> Tensor:
        return encoder(tokens, graph=graph)

    def without_graph() -> Tensor:
        return plain(tokens)

    def naively() -> Tensor:
        return naive.encode(encoder, encoder.words(tokens), relations, is_real)

    def densely() -> Tensor:
        return naive.encode(encoder, encoder.words(tokens), relations, is_real, naive.dense_attention)

    inference = {
        "forward": without_gradient(with_graph),
        "plain_forward": without_gradient(without_graph),
        "naive_forward": without_gradient(naively),
        "dense_forward": without_gradient(densely),
    }
    training = {"train": training_step(encoder, with_graph), "plain_train": training_step(plain, without_graph)}

    for each in (encoder, plain):
        each.eval()
    for other in ("naive_forward", "dense_forward"):
        torch.testing.assert_close(inference["forward"](), inference[other](), rtol=1e-4, atol=1e-4)
    memory = {
        "forward_peak": peak_bytes(inference["forward"]),
        "naive_forward_peak": peak_bytes(inference["naive_forward"]),
        "train_peak": peak_bytes(lambda: with_graph().square().mean().backward()),
    }
    encoder.zero_grad()
    memory["naive_train_peak"] = peak_bytes(lambda: naively().square().mean().backward())
    encoder.zero_grad()

    best = dict.fromkeys([*inference, *training], math.inf)
    start, turn = time.perf_counter(), 0
    while turn < repeats or time.perf_counter() - start < at_least:
        turn += 1
        for works, is_training in ((inference, False), (training, True)):
            encoder.train(is_training), plain.train(is_training)
            for name in list(works) if turn % 2 else reversed(works):
                best[name] = min(best[name], seconds(works[name], clock))
    return {
        "size": f"{layers}x{width}",
        "n": n,
        "forward_ratio": round(best["forward"] / best["plain_forward"], 3),
        "train_ratio": round(best["train"] / best["plain_train"], 3),
        "naive_forward_ratio": round(best["naive_forward"] / best["forward"], 3),
        "dense_forward_ratio": round(best["dense_forward"] / best["forward"], 3),
        "naive_memory_ratio": round(memory["naive_train_peak"] / memory["train_peak"], 3),
        "naive_forward_memory_ratio": round(memory["naive_forward_peak"] / memory["forward_peak"], 3),
        **{f"{name}_ms": round(1000 * value, 1) for name, value in best.items()},
        **{f"{name}_mb": round(value / 2**20, 1) for name, value in memory.items()},
    }


def shown(rows: list[dict[str, object]], title: str) -> Table:
    columns = {
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
    table = Table(title=title, box=SIMPLE, padding=(0, 0, 0, 1))
    for name in columns.values():
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        cells = []
        for key in columns:
            value = row[key]
            cell = str(value) if not isinstance(value, float) else f"{value:.2f}" if "ratio" in key else f"{value:.0f}"
            is_over = key in GOALS and isinstance(value, float) and value > GOALS[key]
            cells.append(f"[red]{cell}[/red]" if is_over else cell)
        table.add_row(*cells)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--sizes", nargs="+", default=["6x384", "6x768"], help="layers x width, 12 heads")
    parser.add_argument("--lengths", nargs="+", type=int, default=[16, 32, 64, 128], help="positions in a row")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each, at least; the best counts")
    parser.add_argument("--seconds", type=float, default=15, help="time spent on a row of the table, at least")
    parser.add_argument("--threads", type=int, help="default: torch's own choice; one for the processor's time")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="cpu: for a machine that is busy")
    parser.add_argument("--json", action="store_true", help="print a list of rows as JSON")
    options = parser.parse_args()
    on_cpu = options.clock == "cpu"
    clock = time.process_time if on_cpu else time.perf_counter
    torch.set_num_threads(options.threads or (1 if on_cpu else torch.get_num_threads()))
    random.seed(0)
    torch.manual_seed(0)
    rows = []
    cells = [(*map(int, size.split("x")), n) for size in options.sizes for n in options.lengths]
    for layers, width, n in track(cells, "measuring", console=Console(stderr=True), transient=True):
        rows.append(measure(layers, width, n, repeats=options.repeats, at_least=options.seconds, clock=clock))
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    goals = ", ".join(f"{name.removesuffix('_ratio')} at most {value}" for name, value in GOALS.items())
    threads = f"{torch.get_num_threads()} threads, {options.clock} time"
    Console().print(shown(rows, f"batch of {N_ROWS}, {threads}; graph / none: {goals}"))


if __name__ == "__main__":
    main()
