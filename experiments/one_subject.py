"""What --one-subject costs or gains: LAS on a development set, and the heads with two subjects or objects.

    python experiments/one_subject.py DEV [--model en] [--json]

For development files only. Both runs parse with the model's default decoder and the file's tags.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from graph2graph import markdown, scoring
from graph2graph.parser.pipeline import Pipeline
from graph2graph.treebank import conllu
from graph2graph.treebank.core_arguments import CoreArgument, repeated_arguments
from graph2graph.treebank.sentence import Sentence


def figures(gold: list[Sentence], parsed: list[Sentence]) -> dict[str, Any]:
    """The scores, and how many heads have too many subjects or objects."""
    score = scoring.score(gold, parsed)
    kinds = [one.kind for sentence in parsed for one in repeated_arguments(sentence.heads, sentence.deprels)]
    return {
        "las": round(score.las, 3),
        "uas": round(score.uas, 3),
        "two_subjects": kinds.count(CoreArgument.SUBJECT),
        "two_objects": kinds.count(CoreArgument.OBJECT),
    }


def main() -> None:
    """Parse with and without."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dev", type=Path)
    parser.add_argument("--model", default="en")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    gold, pipeline = list(conllu.read(given.dev)), Pipeline.load(given.model)
    free, repaired = (list(pipeline.parse(gold, one_subject=wanted)) for wanted in (False, True))
    rows = {"gold": figures(gold, gold), "free": figures(gold, free), "one_subject": figures(gold, repaired)}
    n_changed = sum(
        (a, b) != (c, d)
        for one, other in zip(free, repaired, strict=True)
        for a, b, c, d in zip(one.heads, one.deprels, other.heads, other.deprels, strict=True)
    )
    if given.json:
        print(json.dumps(rows | {"words": sum(map(len, gold)), "words_changed": n_changed}, indent=1))
        return
    columns = list(rows["gold"])
    print(
        markdown.table(["", *columns], [[name, *(str(row[key]) for key in columns)] for name, row in rows.items()]),
        end="",
    )


if __name__ == "__main__":
    main()
