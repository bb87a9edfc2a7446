"""`g2g train-text`: a treebank in, a tokeniser and tagger out."""

import signal
import sys
import time
from pathlib import Path

import typer

from graph2graph.errors import DataError
from graph2graph.treebank import conllu


def train_text(
    train_file: Path = typer.Argument(metavar="TRAIN", help="Treebank to learn from, CoNLL-U."),
    dev_file: Path = typer.Argument(None, metavar="[DEV]", help="Treebank to choose the best epoch on."),
    output: Path = typer.Option(
        ..., "--output", "-o", metavar="DIR|FILE", help="Model directory to put it in, or a file named *.udpipe."
    ),
    dimension: int = typer.Option(24, help="Width of the tokeniser: 16, 24 or 64, which takes 7 times as long as 24."),
    segment_size: int = typer.Option(200, min=10, help="Characters the tokeniser sees at once; time is in proportion."),
    epochs: int = typer.Option(100, min=1, help="Epochs of the tokeniser, of 10,000 segments each."),
    iterations: int = typer.Option(20, min=1, help="Rounds of the tagger and of the lemmatiser through TRAIN."),
) -> None:
    """Train what finds sentences, words, tags and lemmas in raw text, so that g2g parse can take raw text.

    The result is a UDPipe model, text.udpipe beside the parser in its directory. It learns spaces from SpaceAfter=No in MISC,
    paragraphs from # newpar, tags and lemmas from their columns; the trees are not looked at. With DEV the best epoch is
    kept, and the tokeniser stops when 30 epochs bring nothing better. UDPipe's own reports appear on standard error.

    Examples:

    g2g train-text train.conllu dev.conllu --output model

    g2g train-text train.conllu dev.conllu --output quick.udpipe --segment-size 50 --epochs 20
    """
    if dimension not in (16, 24, 64):
        raise typer.BadParameter("expected 16, 24 or 64", param_hint="--dimension")
    for file in (train_file, *([dev_file] if dev_file else [])):
        _check(file)
    from graph2graph.text import udpipe as text

    target = output if output.suffix == ".udpipe" else output / text.FILE_NAME
    options = text.TextOptions(dimension=dimension, segment_size=segment_size, epochs=epochs, iterations=iterations)
    started = time.monotonic()
    interrupted = signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python would not see Ctrl-C until UDPipe comes back
    try:
        text.train(train_file, dev_file, target, options=options)
    finally:
        signal.signal(signal.SIGINT, interrupted)
    size, seconds = target.stat().st_size / 1e6, time.monotonic() - started
    print(f"{target}: {size:.1f} MB, learnt in {seconds:,.0f} seconds", file=sys.stderr)


def _check(file: Path) -> None:
    """Refuse a file with problems, and say so if it has nothing that teaches the tokeniser."""
    problems = [str(problem) for problem in conllu.problems(file, check="columns")]
    if problems:
        more = f" (and {len(problems) - 1} more: g2g validate {file})" if len(problems) > 1 else ""
        raise DataError(problems[0] + more)
    if not any("SpaceAfter=No" in line for sentence in conllu.read(file, check="columns") for line in sentence.lines):
        print(f"g2g: {file}: no SpaceAfter=No; the tokeniser can learn to cut at spaces only", file=sys.stderr)
