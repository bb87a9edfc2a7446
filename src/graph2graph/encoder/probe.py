"""Which precisions work on this CPU and how fast they are: tried once, in a child process, and remembered.

CPUs differ more than their names and flags tell, and there are some whose bf16 is an illegal instruction. So a child process
tries an encoder layer in each precision and prints a line for each; if it dies or hangs, what it had not printed does not work.
The answer is kept in the user's cache, for this CPU and version of torch. It is measured with one thread and holds for any
number, because the trees must not depend on the number of threads.

    python -m graph2graph.encoder.probe fp32 bf16 int8
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from time import perf_counter, time
from typing import Any, NamedTuple

from graph2graph.encoder import cpu
from graph2graph.errors import DataError
from graph2graph.files import read_json, user_cache, write_json

PRECISIONS = ("fp32", "int8", "bf16")  # in the order in which they are tried: the one that may kill the process is last
CPU_SECONDS = 20  # that the child may use; it needs four
TIMEOUT = 60.0  # seconds until it is killed; on a free machine it takes two
RETRY_AFTER = 24 * 3600  # seconds, if it took longer: the machine was too busy, or a precision hangs
LARGEST_ERROR = 0.05  # of an encoding, relative to its norm
COMMAND = [sys.executable, "-m", "graph2graph.encoder.probe"]


class Trial(NamedTuple):
    """One precision in one kind of work."""

    work: str  # parse or train
    precision: str
    seconds: float
    error: float = 0.0  # relative to fp32
    is_fixed: bool = True  # whether encodings are the same in any batch and for any number of threads

    @property
    def works(self) -> bool:
        """Whether its results can be trusted."""
        return self.error < LARGEST_ERROR and self.is_fixed


def trials() -> list[Trial]:
    """What works on this machine; the first call on a machine tries it, which takes some seconds."""
    return _trials(user_cache())


@cache
def _trials(directory: Path | None) -> list[Trial]:
    from importlib.metadata import version

    key = f"{cpu.name()} {' '.join(sorted(cpu.flags()))} torch {version('torch')}"
    name = f"precision-{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"
    path = None if directory is None else directory / name
    if path is not None:
        with suppress(DataError, OSError, KeyError, TypeError):  # no file, or not one of ours
            found = read_json(path)
            if found["is_complete"] or time() - path.stat().st_mtime < RETRY_AFTER:
                return [Trial(**one) for one in found["trials"]]
    made, is_complete = try_all()
    if path is not None:
        with suppress(DataError, OSError):  # a cache that cannot be written; the next process tries again
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, {"machine": key, "is_complete": is_complete, "trials": [one._asdict() for one in made]})
    return made


def try_all(command: Sequence[str] = COMMAND, timeout: float = TIMEOUT) -> tuple[list[Trial], bool]:
    """Try all precisions in a child process; also, whether it ended in time."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    is_complete = True
    with subprocess.Popen(
        [*command, *PRECISIONS],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    ) as child:
        try:
            output, _ = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            is_complete = False
            child.kill()
            output, _ = child.communicate()
    made = []
    for line in output.decode(errors="replace").splitlines():
        with suppress(ValueError, TypeError):  # a line that was cut off
            made.append(Trial(**json.loads(line)))
    return made, is_complete


def main() -> None:
    """What the child process does: print a line for each trial that succeeds."""
    with suppress(ImportError, ValueError, OSError):  # no limit, then
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    for work in (_parse, _train):
        for precision in sys.argv[1:]:
            with suppress(Exception):  # then this precision does not work
                if (trial := work(precision)) is not None:
                    print(json.dumps(trial._asdict()), flush=True)


def _parse(precision: str) -> Trial:
    """Encode some rows."""
    import torch

    from graph2graph.encoder.precision import prepare

    torch.set_num_threads(1)
    plain, tokens, lengths = _encoder()
    plain.eval()
    prepared = deepcopy(plain)
    prepare(prepared, precision)  # type: ignore[arg-type]
    with torch.inference_mode():
        exact, found = plain(tokens, lengths=lengths), prepared(tokens, lengths=lengths)
        seconds = _fastest(lambda: prepared(tokens, lengths=lengths))
        error = float((found - exact).norm() / exact.norm())
        is_fixed = True
        for threads in (1, 2):
            torch.set_num_threads(threads)
            for rows in (slice(0, 1), slice(3, 8), slice(None)):
                again = prepared(tokens[rows], lengths=lengths[rows])
                is_fixed &= torch.equal(again, found[rows])
    return Trial("parse", precision, seconds, error, is_fixed)


def _train(precision: str) -> Trial | None:
    """Make a forward and a backward pass."""
    import torch

    if precision == "int8":
        return None
    torch.set_num_threads(1)
    encoder, tokens, lengths = _encoder()
    encoder.eval()  # without dropout, so that gradients can be compared

    def gradient(*, in_bf16: bool) -> torch.Tensor:
        encoder.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=in_bf16):
            out = encoder(tokens, lengths=lengths)
        (out.float() * out.detach().roll(1, 0)).mean().backward()
        found: torch.Tensor = encoder.layers[0].inner.weight.grad
        return found.clone()

    is_bf16 = precision == "bf16"
    exact, found = gradient(in_bf16=False), gradient(in_bf16=is_bf16)
    error = float((found - exact).norm() / exact.norm())
    return Trial("train", precision, _fastest(lambda: gradient(in_bf16=is_bf16)), error)


def _encoder() -> tuple[Any, Any, Any]:
    """An encoder of one layer of the usual width, and rows for it: tokens, [16, 40], and lengths."""
    import torch

    from graph2graph.config import EncoderConfig
    from graph2graph.encoder.encoder import GraphEncoder

    torch.manual_seed(0)
    encoder = GraphEncoder(EncoderConfig(vocab_size=100, width=384, layers=1, inner_width=1536, max_positions=64))
    lengths = torch.tensor([40, 7, 33, 21, 16, 12, 38, 25] * 2)
    return encoder, torch.randint(100, (16, 40)), lengths


def _fastest(work: Callable[[], object], repeats: int = 4) -> float:
    times = []
    for _ in range(repeats):
        begin = perf_counter()
        work()
        times.append(perf_counter() - begin)
    return min(times)


if __name__ == "__main__":
    main()
