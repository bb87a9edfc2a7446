"""Whether a model uses its graph: its trees with the graph as built, withheld, and with gold arcs in place of predicted ones.

    python experiments/graph_use.py MODEL FILE.conllu [--every 2] [--no-tags] [--json]

Withheld: one encoding a sentence, made before there are any arcs. Gold arcs: whenever a state is encoded, words that have a
head by then are shown with their gold head and label; the decisions are still the parser's own. For models of sentences.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from graph2graph import scoring
from graph2graph.decoding.greedy import Work
from graph2graph.decoding.options import EXACT
from graph2graph.models.features import Features
from graph2graph.models.parser_model import Encodings
from graph2graph.parser.parser import Parser
from graph2graph.transition.state import NO_NODE
from graph2graph.transition.states import States
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

CASES = {"as_built": EXACT, "withheld": 0.0, "gold_arcs": EXACT}  # the thresholds of re-encoding


def graph_use(
    parser: Parser, gold: Sequence[Sentence], *, tags: bool = True, cases: Sequence[str] = tuple(CASES)
) -> dict[str, Any]:
    """UAS and LAS in each case, encodings a sentence, and the share of trees that the graph changes."""
    result: dict[str, Any] = {"sentences": len(gold)}
    trees: dict[str, list[Sentence]] = {}
    for case in cases if parser.config.model.graph_input else ["as_built"]:
        work, threshold = Work(), CASES[case]
        if case == "gold_arcs":
            with gold_arcs(parser, gold):
                trees[case] = list(parser.parse(gold, tags=tags, reencode=threshold, work=work))
        else:
            trees[case] = list(parser.parse(gold, tags=tags, reencode=threshold, work=work))
        scores = scoring.score(gold, trees[case])
        encodings = round(work.n_encoded / len(gold), 2)
        result[case] = scores.as_dict("uas", "las", digits=2) | {"encodings": encodings}
    if len(trees) == 1:
        return result
    pairs = zip(trees["as_built"], trees["withheld"], strict=True)
    changed = sum((a.heads, a.deprels) != (b.heads, b.deprels) for a, b in pairs)
    result["changed"] = round(100 * changed / len(gold), 1)
    return result


@contextmanager
def gold_arcs(parser: Parser, gold: Sequence[Sentence]) -> Iterator[None]:
    """Show the encoder of a sentence model gold arcs; sentences are told apart by their pieces."""
    model, labels = parser.model, {label: number for number, label in enumerate(parser.vocabulary.labels)}
    arcs = {}
    for sentence in gold:
        deprels = [labels.get(deprel, NO_NODE) for deprel in sentence.deprels]
        arcs[parser.featurizer(sentence).pieces.tobytes()] = (
            np.array([NO_NODE, *sentence.tree]),
            np.array([NO_NODE, *deprels]),
        )
    encode = model.encode_sentences

    def with_gold(states: States, features: Sequence[Features], **rest: Any) -> Encodings:
        shown = states.take(np.arange(len(states)))
        for row, feature in enumerate(features):
            n_nodes = len(feature.pieces)
            heads, deprels = arcs[feature.pieces.tobytes()]
            known = (shown.heads[row, :n_nodes] != NO_NODE) & (deprels != NO_NODE)
            shown.heads[row, :n_nodes][known] = heads[known]
            shown.labels[row, :n_nodes][known] = deprels[known]
        return encode(shown, features, **rest)

    model.encode_sentences = with_gold  # type: ignore[method-assign]
    try:
        yield
    finally:
        del model.encode_sentences


def main() -> None:
    """Print the scores of each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take every nth sentence")
    parser.add_argument("--no-tags", action="store_true")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    gold = list(conllu.read(given.file))[:: given.every]
    result = graph_use(Parser.load(given.model), gold, tags=not given.no_tags, cases=given.cases)
    if given.json:
        print(json.dumps(result))
        return
    for case, row in result.items():
        if not isinstance(row, dict):
            continue
        print(f"{case:10} UAS {row['uas']:.2f}  LAS {row['las']:.2f}  {row['encodings']:.2f} encodings a sentence")
    if "changed" in result:
        print(f"trees changed by the graph: {result['changed']:.1f} %")


if __name__ == "__main__":
    main()
