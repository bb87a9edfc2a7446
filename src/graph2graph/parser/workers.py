"""Parsing in several processes, each with a parser of its own and one thread; sentences come back in their order.

Threads of one process wait for each other at every product of matrices, and processes with several threads each get in each
other's way; so the way to use many cores on many sentences is one process for each, with one thread.
"""

import multiprocessing
import os
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from pathlib import Path

from graph2graph.encoder.precision import Precision
from graph2graph.errors import DataError
from graph2graph.parser.parser import ParseOptions, Parser
from graph2graph.treebank.conllu import Sentence

PORTION = 256  # sentences that a worker gets at a time
AHEAD = 2  # portions for each worker that are under way or wait to be fetched, so that memory stays flat

_parser: Parser  # of this process, if it is a worker


def parse(
    directory: Path,
    sentences: Iterable[Sentence],
    n_workers: int,
    *,
    tags: bool,
    how: ParseOptions,
    precision: Precision = "fp32",
) -> Iterator[Sentence]:
    """Parse sentences in worker processes, which load the model in a directory."""
    stream = iter(sentences)
    under_way: deque[Future[tuple[list[Sentence], list[str]]]] = deque()
    context = multiprocessing.get_context("spawn")
    starting = (directory, precision)
    with ProcessPoolExecutor(n_workers, mp_context=context, initializer=_start, initargs=starting) as pool:
        try:
            while True:
                while len(under_way) < AHEAD * n_workers and (portion := list(islice(stream, PORTION))):
                    under_way.append(pool.submit(_parse, portion, tags, how))
                if not under_way:
                    return
                parsed, notes = under_way.popleft().result()
                for note in notes:
                    warnings.warn(note, stacklevel=2)
                yield from parsed
        except BrokenProcessPool as error:
            raise DataError("a worker process ended before its time, perhaps for lack of memory; try fewer") from error
        finally:
            for future in under_way:
                future.cancel()


def _start(directory: Path, precision: Precision) -> None:
    global _parser
    import torch

    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    _parser = Parser.load(directory, precision=precision)


def _parse(sentences: list[Sentence], tags: bool, how: ParseOptions) -> tuple[list[Sentence], list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parsed = list(_parser.parse(sentences, tags=tags, **how))
    return parsed, [str(one.message) for one in caught]
