"""`g2g oracle`: turn trees into transitions and back, and count them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from rich.table import Column, Table
from rich.text import Text

from graph2graph.cli.printing import print_json, print_table
from graph2graph.cli.streams import source
from graph2graph.errors import DataError
from graph2graph.transition import oracle as static_oracle
from graph2graph.transition.state import ROOT, Action, State, arc_of
from graph2graph.treebank import conllu
from graph2graph.treebank.checking import located
from graph2graph.treebank.sentence import Sentence

COUNTS = ("sentences", "words", "nonprojective", "swaps", "transitions", "rebuilt")


def oracle(
    files: list[Path] = typer.Argument(
        metavar="FILE", help="Treebanks in CoNLL-U, plain or gzip; - is standard input."
    ),
    swap: static_oracle.Swap = typer.Option("eager", help="Swap as early or as late as possible."),
    as_json: bool = typer.Option(False, "--json", help="Print a JSON list with one object for each file."),
    play: bool = typer.Option(False, "--play", help="Print every transition of every sentence instead of counting."),
) -> None:
    """Turn each tree into transitions and rebuild it from them. Print counts, and exit 1 if a tree is not rebuilt.

    Example: g2g oracle train.conllu --swap lazy
    """
    if play:
        for file in files:
            for sentence in _trees(file):
                _play(sentence, swap)
        return
    counts: list[dict[str, Any]] = [{"file": str(file)} | _count(file, swap) for file in files]
    if as_json:
        print_json(counts)
    else:
        table = Table("file", *(Column(name, justify="right") for name in COUNTS))
        for count in counts:
            file, *numbers = count.values()
            table.add_row(Text(file), *(f"{number:,}" for number in numbers))
        print_table(table, width=200)
    if any(count["rebuilt"] != count["sentences"] for count in counts):
        raise DataError("not every tree was rebuilt")


def _trees(file: Path) -> Iterator[Sentence]:
    """The sentences of a treebank; one without a tree is an error."""
    for one in located(conllu.read(source(file)), str(file)):
        one.check_parsed()
        yield one.sentence


def _count(file: Path, swap: static_oracle.Swap) -> dict[str, int]:
    counts = dict.fromkeys(COUNTS, 0)
    for sentence in _trees(file):
        heads = sentence.tree
        actions = static_oracle.transitions(heads, swap=swap)
        counts["sentences"] += 1
        counts["words"] += len(heads)
        counts["nonprojective"] += Action.SWAP in actions  # only these trees need a swap
        counts["swaps"] += actions.count(Action.SWAP)
        counts["transitions"] += len(actions)
        counts["rebuilt"] += static_oracle.rebuild(len(heads), actions) == heads
    return counts


def _play(sentence: Sentence, swap: static_oracle.Swap) -> None:
    """Print the states of one sentence, each with the action taken in it."""
    words = ["ROOT", *sentence.forms]
    table = Table("step", "stack", "buffer", "action", "new arc", title=Text(sentence.text), show_lines=False)
    state = State(len(sentence))
    for step, action in enumerate(map(Action, static_oracle.transitions(sentence.tree, swap=swap)), 1):
        head, dependent = arc_of(action, state.focus) or (ROOT, ROOT)
        label = sentence.deprels[dependent - 1] if dependent else ""
        table.add_row(
            str(step),
            Text(" ".join(words[node] for node in state.stack)),
            Text(" ".join(words[node] for node in reversed(state.buffer))),
            Text(f"{action.title}({label})" if label else action.title),
            Text(f"{words[head]} → {words[dependent]}" if label else ""),
        )
        state.apply(action)
    print_table(table)
