"""spaCy Docs from parsed sentences, with spaCy's conventions: the root is its own head and its label is ROOT."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import spacy
from spacy.parts_of_speech import IDS
from spacy.tokens import Doc
from spacy.vocab import Vocab

from graph2graph.treebank.sentence import FEATS, LEMMA, MISC, UPOS, XPOS, Sentence

ROOT = "ROOT"
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
    return doc


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
