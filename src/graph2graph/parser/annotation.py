"""From sentences to the given arcs that a decoder takes, and from its results back to sentences."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from graph2graph.arrays import IntArray
from graph2graph.decoding.greedy import Given, TakenArc, Tree
from graph2graph.errors import DataError
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.transition import constraints
from graph2graph.transition.state import NO_NODE, ROOT
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


def with_given(tree: Tree, given: Given, vocabulary: Vocabulary) -> Tree:
    """The tree with the given arcs and labels in place of the decoder's; an arc that is replaced had the probability 0."""
    heads = np.array(constraints.imposed(given.heads.tolist(), tree.heads.tolist()))
    labels = np.where(given.labels == NO_NODE, tree.labels, given.labels)
    root = vocabulary.label_ids[vocabulary.root_label]
    allowed = vocabulary.label_ids.keys() - {vocabulary.root_label}
    other = next((label for label in ("dep", *vocabulary.labels) if label in allowed), None)
    labels[heads == ROOT] = root
    labels[(heads > ROOT) & (labels == root)] = root if other is None else vocabulary.label_ids[other]
    is_new = heads != tree.heads
    arcs = [arc._replace(arc_p=0.0, label_p=0.0) if is_new[arc.dependent] else arc for arc in tree.arcs]
    return replace(tree, heads=heads, labels=labels, arcs=arcs)


def with_probabilities(sentence: Sentence, arcs: Iterable[TakenArc]) -> Sentence:
    """The sentence with the probabilities of each arc and of its label; the arcs are all that it has."""
    in_order = sorted(arcs, key=lambda arc: arc.dependent)
    return sentence.with_probabilities([(arc.arc_p, arc.label_p) for arc in in_order])
