"""spaCy Docs from parsed sentences, with spaCy's conventions: the root is its own head and its label is ROOT."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import spacy
from spacy.parts_of_speech import IDS
from spacy.tokens import Doc
from spacy.vocab import Vocab

from graph2graph.treebank.sentence import FEATS, LEMMA, MISC, UPOS, XPOS, Sentence

ROOT = "ROOT"
_CHUNK_LABELS = {
    "nsubj",
    "obj",
    "iobj",
    "obl",
    "nmod",
    "appos",
    "conj",
    "root",
    "ROOT",
    "vocative",
    "dislocated",
    "expl",
}
_OUTSIDE = {"case", "cc", "mark", "punct"}  # left of a noun, outside its chunk
_TEXT_COLUMNS = {"lemmas": LEMMA, "tags": XPOS, "morphs": FEATS}


def doc_of(sentences: Sequence[Sentence], vocab: Vocab | None = None) -> Doc:
    """A Doc of parsed sentences; several spaces between words become one."""
    vocab = vocab or spacy.blank("xx").vocab
    columns: dict[str, Any] = defaultdict(list)
    starts: list[int] = []
    for sentence in sentences:
        first = len(starts)
        starts += [1, *[-1] * (len(sentence) - 1)]
        columns["words"] += sentence.forms
        columns["spaces"] += _spaces(sentence)
        columns["pos"] += [tag if tag in IDS else "" for tag in sentence.column(UPOS)]
        for name, column in _TEXT_COLUMNS.items():
            columns[name] += ["" if cell == "_" else cell for cell in sentence.column(column)]
        for i, (head, deprel) in enumerate(zip(sentence.heads, sentence.deprels, strict=True), first):
            columns["heads"].append(None if head is None else first + head - 1 if head else i)
            columns["deps"].append(None if head is None else deprel if head else ROOT)
    if not starts:
        return Doc(vocab)
    columns["spaces"][-1] = False
    doc = Doc(vocab, **columns)
    set_attributes(doc, SENT_START=starts)
    doc.noun_chunks_iterator = noun_chunks  # type: ignore[attr-defined]
    return doc


def noun_chunks(doc: Doc) -> Iterator[tuple[int, int, int]]:
    """Yield the noun chunks of a Doc with labels of Universal Dependencies, for `doc.noun_chunks`.

    A chunk is a noun with what depends on it before it (but prepositions, conjunctions and punctuation) and the parts of a name
    after it. Like spaCy's own, they do not overlap. spaCy's functions for each language know that language's labels only.
    """
    label, last_end = doc.vocab.strings.add("NP"), 0
    for word in doc:
        label_of_arc = word.dep_.partition(":")[0]
        is_inside = label_of_arc == "nmod" and word.head.i > word.i  # "his dog", "John's dog": in the chunk of its head
        if word.pos_ not in ("NOUN", "PROPN", "PRON") or label_of_arc not in _CHUNK_LABELS or is_inside:
            continue
        first, last = word.i, word.i
        for child in reversed(list(word.lefts)):
            if child.dep_.partition(":")[0] in _OUTSIDE:
                break
            first = child.left_edge.i
        for child in word.rights:
            if child.dep_.partition(":")[0] in ("flat", "fixed", "compound") and child.left_edge.i == last + 1:
                last = child.right_edge.i
        if first >= last_end:
            last_end = last + 1
            yield first, last_end, label


def set_attributes(doc: Doc, **attributes: list[int]) -> None:
    """Set attributes of all tokens; spaCy stores them as unsigned 64-bit integers, so -1 is the largest."""
    array: Any = np.array([[value % 2**64 for value in column] for column in attributes.values()], dtype=np.uint64).T
    doc.from_array(list(attributes), array)


def _spaces(sentence: Sentence) -> list[bool]:
    """Whether a space follows each word; none does inside a multiword token."""
    spaces = ["SpaceAfter=No" not in misc.split("|") for misc in sentence.column(MISC)]
    for first, last, row in sentence.ranges:
        spaces[first - 1 : last] = [False] * (last - first) + ["SpaceAfter=No" not in row[MISC].split("|")]
    return spaces
