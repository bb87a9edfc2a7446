"""How far parsing has come, on standard error; only on a terminal, and only if the trees do not go there too."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from graph2graph.treebank.conllu import Sentence

EVERY = 0.2  # seconds


def watched(
    sentences: Iterable[Sentence],
    given: Sequence[Path | IO[bytes]],
    size: Callable[[Sentence], int],
    *,
    to_terminal: bool,
) -> Iterator[Sentence]:
    """The same sentences, with a bar while they come; `size` says how many bytes of the input one stands for."""
    if to_terminal or not sys.stderr.isatty():
        yield from sentences
        return
    columns = BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), TimeRemainingColumn(compact=True)
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("parsing", total=_total(given))
        begin = shown = time.monotonic()
        n_bytes = n_words = 0
        for sentence in sentences:
            n_bytes, n_words = n_bytes + size(sentence), n_words + len(sentence)
            if (now := time.monotonic()) - shown > EVERY:
                rate = n_words / (now - begin)
                progress.update(task, completed=n_bytes, description=f"{n_words:,} words, {rate:,.0f} a second")
                shown = now
            yield sentence


def _total(given: Sequence[Path | IO[bytes]]) -> int | None:
    """How many bytes there are to read, if that is known."""
    if not all(isinstance(one, Path) and one.is_file() and one.suffix != ".gz" for one in given):
        return None
    return sum(one.stat().st_size for one in given if isinstance(one, Path))
