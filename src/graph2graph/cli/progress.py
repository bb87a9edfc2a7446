"""A progress bar for `g2g parse`, on standard error."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from graph2graph.cli.inputs import Input
from graph2graph.cli.printing import is_quiet
from graph2graph.treebank.sentence import Sentence

INTERVAL = 0.2  # seconds between updates


def with_progress(sentences: Iterable[Sentence], inputs: Sequence[Input]) -> Iterator[Sentence]:
    """Yield the sentences, and show on a terminal how much of the inputs they make up."""
    if is_quiet() or not sys.stderr.isatty():
        yield from sentences
        return
    is_conllu = all(given.format == "conllu" for given in inputs)
    columns = BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), TimeRemainingColumn(compact=True)
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("parsing", total=_n_bytes(inputs))
        begin = shown = time.monotonic()
        n_bytes = n_words = 0
        for sentence in sentences:
            n_bytes += sum(map(len, sentence.lines)) if is_conllu else len(sentence.text) + 1
            n_words += len(sentence)
            if (now := time.monotonic()) - shown > INTERVAL:
                rate = n_words / (now - begin)
                progress.update(task, completed=n_bytes, description=f"{n_words:,} words, {rate:,.0f} a second")
                shown = now
            yield sentence


def _n_bytes(inputs: Sequence[Input]) -> int | None:
    """The size of all inputs; None if it is unknown, as for pipes and compressed files."""
    total = 0
    for given in inputs:
        if not isinstance(given.source, Path) or not given.source.is_file() or given.source.suffix == ".gz":
            return None
        total += given.source.stat().st_size
    return total
