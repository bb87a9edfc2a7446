"""`g2g train-text`: train a tokeniser, tagger and lemmatiser on a treebank."""

import signal
import time
from pathlib import Path

import typer

from graph2graph.cli.printing import report
from graph2graph.errors import DataError
from graph2graph.parser import checksums
from graph2graph.treebank import conllu


def train_text(
    train_file: Path = typer.Argument(metavar="TRAIN", help="Treebank to train on, in CoNLL-U."),
    dev_file: Path = typer.Argument(None, metavar="DEV", help="Treebank on which the best epoch is chosen."),
    output: Path = typer.Option(
        ..., "--output", "-o", metavar="DIR|FILE", help="Model directory to add it to, or a file named *.udpipe."
    ),
    dimension: int = typer.Option(24, help="Width of the tokeniser: 16, 24, or 64, which takes 7 times as long as 24."),
    segment_size: int = typer.Option(
        200, min=10, help="Characters that the tokeniser sees at once. Training time is proportional to it."
    ),
    epochs: int = typer.Option(100, min=1, help="Epochs of the tokeniser, of 10,000 segments each."),
    iterations: int = typer.Option(20, min=1, help="Iterations of the tagger and the lemmatiser over TRAIN."),
) -> None:
    """Train a text model, which finds sentences, words, tags and lemmas, so that g2g parse can take raw text.

    It is a UDPipe model and is saved as text.udpipe in the parser's directory. It learns spaces from SpaceAfter=No in MISC,
    paragraphs from # newpar, and tags and lemmas from their columns; trees are ignored. With DEV the best epoch is kept, and
    the tokeniser stops after 30 epochs without improvement. UDPipe reports its progress on standard error.

    Examples:

    g2g train-text train.conllu dev.conllu -o model

    g2g train-text train.conllu dev.conllu -o quick.udpipe --segment-size 50 --epochs 20
    """
    if dimension not in (16, 24, 64):
        raise typer.BadParameter("expected 16, 24 or 64", param_hint="--dimension")
    for file in (train_file, *([dev_file] if dev_file else [])):
        problems = [str(problem) for problem in conllu.problems(file, check="columns")]
        if problems:
            more = f" (and {len(problems) - 1} more: g2g validate {file})" if len(problems) > 1 else ""
            raise DataError(problems[0] + more)
        if not any("SpaceAfter=No" in line for one in conllu.read(file, check="columns") for line in one.lines):
            report(f"{file}: no SpaceAfter=No; the tokeniser can only learn to split at spaces")
    from graph2graph.text import udpipe as text

    target = output if output.suffix == ".udpipe" else output / text.FILE_NAME
    options = text.TextOptions(dimension=dimension, segment_size=segment_size, epochs=epochs, iterations=iterations)
    started = time.monotonic()
    interrupted = signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python would not see Ctrl-C before UDPipe returns
    try:
        text.train(train_file, dev_file, target, options=options)
    finally:
        signal.signal(signal.SIGINT, interrupted)
    if (target.parent / "config.json").is_file() and target.name == text.FILE_NAME:
        checksums.write(target.parent)
    size, seconds = target.stat().st_size / 1e6, time.monotonic() - started
    report(f"{target}: {size:.1f} MB, trained in {seconds:,.0f} seconds")
