"""CoNLL-U and the oracle: our reading and writing against the `conllu` package, and the oracle against our reading.

    python benchmarks/ground.py [FILE] [--repeats 5] [--json]

Both libraries read the file sentence by sentence and write each back, in turn in the same process; the best of the
repeats counts. The oracle is timed on trees that are read already, and then with reading and rebuilding, as in `g2g oracle`.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import conllu as conllu_package
from rich.console import Console
from rich.table import Table

from graph2graph.transition import oracle
from graph2graph.treebank import conllu
from machine import seconds

FILE = Path(__file__).parents[2] / "shared" / "treebanks" / "en_ewt" / "train.conllu"
GOALS = {"speedup": "at least 4", "oracle_to_reading": "below 4"}


def read(file: Path) -> None:
    for _ in conllu.read(file):
        pass


def read_and_write(file: Path, target: Path) -> None:
    conllu.write(conllu.read(file), target)


def read_and_write_with_the_package(file: Path, target: Path) -> None:
    with file.open(encoding="utf-8", newline="\n") as source, target.open("w", encoding="utf-8", newline="\n") as out:
        for sentence in conllu_package.parse_incr(source):
            out.write(sentence.serialize())


def read_and_rebuild(file: Path) -> None:
    for sentence in conllu.read(file):
        if oracle.rebuild(len(sentence), oracle.transitions(sentence.tree)) != sentence.heads:
            raise SystemExit(f"{file}: {sentence.sent_id} was not rebuilt")


def measure(file: Path, repeats: int) -> dict[str, float]:
    """The best times, and their ratios."""
    trees = [sentence.tree for sentence in conllu.read(file)]
    best = best_times(file, trees, repeats)
    return {
        "sentences": len(trees),
        "words": sum(map(len, trees)),
        **{f"{name}_seconds": round(value, 4) for name, value in best.items()},
        "speedup": round(best["conllu_read_write"] / best["read_write"], 2),
        "oracle_to_reading": round(best["oracle"] / best["read"], 2),
        "lazy_oracle_to_reading": round(best["lazy_oracle"] / best["read"], 2),
        "read_oracle_rebuild_to_reading": round(best["read_oracle_rebuild"] / best["read"], 2),
    }


def best_times(file: Path, trees: list[list[int]], repeats: int) -> dict[str, float]:
    """The best time of each kind of work; they take turns."""
    with tempfile.TemporaryDirectory() as directory:
        ours, theirs = Path(directory, "ours.conllu"), Path(directory, "theirs.conllu")
        work: dict[str, Callable[[], object]] = {
            "read": lambda: read(file),
            "read_write": lambda: read_and_write(file, ours),
            "conllu_read_write": lambda: read_and_write_with_the_package(file, theirs),
            "oracle": lambda: [oracle.transitions(heads) for heads in trees],
            "lazy_oracle": lambda: [oracle.transitions(heads, swap="lazy") for heads in trees],
            "read_oracle_rebuild": lambda: read_and_rebuild(file),
        }
        best = dict.fromkeys(work, float("inf"))
        for _ in range(repeats):
            for name, run in work.items():
                best[name] = min(best[name], seconds(run))
        if ours.read_bytes() != file.read_bytes():
            raise SystemExit(f"{file}: reading and writing changed it")
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("file", nargs="?", type=Path, default=FILE, help="a treebank in CoNLL-U (default: English EWT)")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each; the best counts")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    result = measure(options.file, options.repeats)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    table = Table("what", "measured", "goal", title=f"{options.file}, best of {options.repeats}")
    for name, value in result.items():
        shown = f"{value:.3f} s" if name.endswith("_seconds") else f"{value:,}"
        table.add_row(name.removesuffix("_seconds").replace("_", " "), shown, GOALS.get(name, ""))
    Console().print(table)


if __name__ == "__main__":
    main()
