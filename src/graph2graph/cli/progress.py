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


def with_progress(sentences: Iterable[Sentence], inputs: Sequence[Input]) -> Iterator[Sentence]:
    """Yield the sentences; show on a terminal how much of the inputs they make up, and in the end how many they were."""
    if is_quiet() or not sys.stderr.isatty():
        yield from sentences
        return
    is_conllu, console = all(given.format == "conllu" for given in inputs), Console(stderr=True)
    columns = BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), TimeRemainingColumn(compact=True)
    begin, n_bytes, n_words, n_sentences, total = time.monotonic(), 0, 0, 0, _n_bytes(inputs)

    def speed() -> str:
        return f"{n_words / max(time.monotonic() - begin, 1e-9):,.0f} a second"

    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("parsing", total=total)
        for sentence in sentences:
            lines = sentence.lines if is_conllu else [sentence.text]
            n_bytes += sum(len(line.encode(errors="replace")) + 1 for line in lines) + is_conllu
            n_words, n_sentences = n_words + len(sentence), n_sentences + 1
            done = n_bytes if total is None else min(n_bytes, total)  # the best trees of one sentence count for several
            # at each sentence: a batch of them comes at once, and then nothing for a while
            progress.update(task, completed=done, description=f"{n_words:,} words, {speed()}")
            yield sentence
    seconds = time.monotonic() - begin
    console.print(
        f"parsed {n_words:,} words in {n_sentences:,} sentences: {seconds:.1f} seconds, {speed()}", highlight=False
    )


def _n_bytes(inputs: Sequence[Input]) -> int | None:
    """The size of all inputs; None if it is unknown, as for pipes and compressed files."""
    total = 0
    for given in inputs:
        if not isinstance(given.source, Path) or not given.source.is_file() or given.source.suffix == ".gz":
            return None
        total += given.source.stat().st_size
    return total
