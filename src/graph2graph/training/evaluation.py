"""Scoring a parser in training on the development set."""

from collections.abc import Sequence

import numpy as np

from graph2graph import scoring
from graph2graph.parser.parser import Parser
from graph2graph.treebank.sentence import Sentence


def score(parser: Parser, gold: Sequence[Sentence], *, reencode: float | None = None) -> scoring.Scores:
    """The scores of a parser on sentences with gold trees; it is left in evaluation mode."""
    parser.model.eval()
    return scoring.score(gold, parser.parse(gold, reencode=reencode))


def evenly_spaced(sentences: Sequence[Sentence], number: int) -> list[Sentence]:
    """So many of the sentences, from the first to the last; 0 is all of them."""
    number = min(number or len(sentences), len(sentences))
    return [sentences[i] for i in np.linspace(0, len(sentences) - 1, number).astype(int)]
