"""Parsing in several processes, each with its own parser and one thread; trees come in the order of the sentences.

One process per core is fastest for many sentences: threads of one process wait for each other at every matrix product, and
processes with several threads compete for cores.
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

import torch

from graph2graph.config import Precision
from graph2graph.decoding.options import ParseOptions
from graph2graph.errors import DataError
from graph2graph.parser import allocation
from graph2graph.parser.parser import Parser
from graph2graph.treebank.sentence import Sentence

CHUNK = 256  # sentences that a worker gets at a time
CHUNKS_AHEAD = 2  # for each worker, being parsed or waiting to be yielded; the limit keeps memory constant

_parser: Parser  # of a worker process


def parse_in_workers(
    directory: Path, sentences: Iterable[Sentence], n_workers: int, *, options: ParseOptions, precision: Precision
) -> Iterator[Sentence]:
    """Parse sentences in worker processes, each of which loads the model in a directory."""
    stream = iter(sentences)
    running: deque[Future[tuple[list[Sentence], list[str]]]] = deque()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_workers, context, initializer=_start, initargs=(directory, precision)) as pool:
        try:
            while True:
                while len(running) < CHUNKS_AHEAD * n_workers and (chunk := list(islice(stream, CHUNK))):
                    running.append(pool.submit(_parse_chunk, chunk, options))
                if not running:
                    return
                parsed, messages = running.popleft().result()
                for message in messages:
                    warnings.warn(message, stacklevel=2)
                yield from parsed
        except BrokenProcessPool as error:
            raise DataError("a worker process died, perhaps for lack of memory; try fewer --workers") from error
        finally:
            for future in running:
                future.cancel()


def _start(directory: Path, precision: Precision) -> None:
    global _parser
    os.environ["OMP_NUM_THREADS"] = "1"
    allocation.limit_kernel_cache()
    torch.set_num_threads(1)
    _parser = Parser.load(directory, precision=precision)


def _parse_chunk(sentences: list[Sentence], options: ParseOptions) -> tuple[list[Sentence], list[str]]:
    """The sentences with their trees, and the warnings of the parser."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parsed = list(_parser.parse(sentences, options))
    return parsed, [str(warning.message) for warning in caught]
