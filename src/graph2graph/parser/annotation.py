"""From sentences to the given arcs that a decoder takes, and from its results back to sentences."""

from collections.abc import Iterable, Sequence

import numpy as np

from graph2graph.arrays import IntArray
from graph2graph.decoding.greedy import Decisions, Given
from graph2graph.errors import DataError
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.transition import constraints
from graph2graph.transition.state import NO_NODE, ROOT
from graph2graph.transition.states import arcs_of
from graph2graph.treebank.sentence import Sentence


def given_arcs(sentence: Sentence, vocabulary: Vocabulary) -> Given:
    """The heads and labels that a sentence has.

    A label without a head is a constraint too: the root label makes the word the root, any other gives it a word as head.
    """
    heads = [NO_NODE]
    for head, deprel in zip(sentence.heads, sentence.deprels, strict=True):
        if head is not None:
            heads.append(head)
        elif deprel == "_":
            heads.append(NO_NODE)
        else:
            heads.append(ROOT if deprel == vocabulary.root_label else constraints.NOT_ROOT)
    try:
        constraints.check(heads)
    except DataError as error:
        raise DataError(f"sentence {sentence.sent_id or sentence.text}: no tree has these arcs: {error}") from error
    labels = [NO_NODE, *(vocabulary.label_ids.get(deprel, NO_NODE) for deprel in sentence.deprels)]
    return Given(np.array(heads), np.array(labels))


def with_tree(
    sentence: Sentence, heads: IntArray, labels: IntArray, vocabulary: Vocabulary, *, keep_labels: bool = False
) -> Sentence:
    """The sentence with these heads and labels of nodes 0..n and padding; `keep_labels` keeps those that it has."""
    words = slice(1, len(sentence) + 1)
    deprels = [vocabulary.labels[label] for label in labels[words].tolist()]
    if keep_labels:
        deprels = [new if old == "_" else old for new, old in zip(deprels, sentence.deprels, strict=True)]
    return sentence.with_tree(heads[words].tolist(), deprels)


def with_probabilities(sentences: Iterable[Sentence], decisions: Sequence[Decisions]) -> list[Sentence]:
    """The sentences of a batch with the probabilities of each arc and of its label."""
    found: dict[tuple[int, int], tuple[float, float]] = {}
    for step in decisions:
        positions, _, dependents = arcs_of(step.actions, step.focus)
        rows, actions = step.rows[positions].tolist(), step.actions[positions]
        arc_p, label_p = step.action_p[positions, actions], step.label_p[positions]
        for row, word, of_arc, of_label in zip(rows, dependents.tolist(), arc_p, label_p, strict=True):
            found[row, word] = float(of_arc), float(of_label)
    return [
        sentence.with_probabilities([found[row, word] for word in range(1, len(sentence) + 1)])
        for row, sentence in enumerate(sentences)
    ]
