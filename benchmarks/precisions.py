"""What the precisions cost: LAS, and how many trees differ from those in fp32, with tags and without.

    python benchmarks/precisions.py DEV [--model en] [--write]

Speed is measured by parse.py. For development files only.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from graph2graph import scoring
from graph2graph.errors import DataError
from graph2graph.files import write_json
from graph2graph.parser import catalogue
from graph2graph.parser.parser import Parser
from graph2graph.treebank import conllu
from machine import describe

RESULT = Path(__file__).parent.parent / "experiments/results/precisions.json"
REENCODE = {"one encoding": 0.0, "default": None}


def measure(file: Path, model: str) -> dict[str, Any]:
    """The figures of each precision that works here."""
    gold = list(conllu.read(file))
    found: dict[str, Any] = {"cpu": describe(), "sentences": len(gold)}
    exact: dict[tuple[str, str], list[str]] = {}
    for precision in ("fp32", "bf16", "int8"):
        try:
            parser = Parser.load(catalogue.find(model), precision=precision)
        except DataError as error:
            found[precision] = str(error)
            continue
        found[precision] = {}
        for tags in ("keep", "none"):
            for decoding, reencode in REENCODE.items():
                parsed = list(parser.parse(gold, tags=tags, reencode=reencode))
                trees = [tree.to_conllu() for tree in parsed]
                same = exact.setdefault((tags, decoding), trees)
                scores = scoring.score(gold, parsed)
                found[precision][f"tags {tags}, {decoding}"] = {
                    "uas": round(scores.uas, 3),
                    "las": round(scores.las, 3),
                    "different_trees": sum(a != b for a, b in zip(same, trees, strict=True)),
                }
    return found


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="en")
    parser.add_argument("--write", action="store_true", help="write experiments/results/precisions.json")
    given = parser.parse_args()
    found = measure(given.file, given.model)
    print(json.dumps(found, indent=1))
    if given.write:
        write_json(RESULT, found, indent=1)


if __name__ == "__main__":
    main()
