"""UAS, LAS and CLAS as in the official CoNLL 2018 scorer, and the share of entirely correct sentences.

In percent:

- UAS: words with the right head. LAS: words with the right head and label.
- CLAS: LAS over content words. Each file's own labels decide which words those are, so this is an F1.
- UCM and LCM: sentences in which every word is right by UAS, or by LAS. The official scorer has neither.

The treatment of punctuation also decides how labels are compared, because each comes from a different scorer:

- `include` (CoNLL 2018): every word counts; labels are compared without their subtypes (`nsubj:pass` is `nsubj`).
- `unicode` (CoNLL-X: eval07.pl, MaltEval): gold words whose FORM has only characters of Unicode class P do not count, and
  labels are compared whole. The PTB's opening quotes (two backticks) and `$` are of class S, so they count.
- `ptb` (Penn Treebank: Chen & Manning 2014): gold words whose XPOS is one of the five in `PTB_PUNCTUATION` do not count, and
  labels are compared whole. Brackets (`-LRB-`, `-RRB-`), `$` and `#` count.

A sentence without words that count is right. A share of nothing is 0, as in the official scorer.
"""

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from graph2graph.scoring.alignment import ROOT, FileText, align, check_characters
from graph2graph.scoring.pairing import paired
from graph2graph.treebank.sentence import DEPREL, FORM, LEMMA, UPOS, XPOS, Sentence

Punct = Literal["include", "unicode", "ptb"]

PTB_PUNCTUATION = frozenset(("``", "''", ":", ",", "."))
# The relations of UD 2 without those of function words (aux, case, cc, clf, cop, det, mark) and punct.
_CONTENT = """
nsubj csubj obj iobj ccomp xcomp obl vocative expl dislocated advcl advmod discourse nmod appos nummod acl amod
conj fixed flat compound list parataxis orphan goeswith reparandum root dep
"""
CONTENT_DEPRELS = frozenset(_CONTENT.split())

ALIGN_HINT = " (--align scores files with other words and sentence ends)"
NAMES = ("gold", "predicted")
_UNALIGNED = -2
_Word = tuple[Sequence[str], int]  # the columns, and the index of the head or ROOT
_COLUMNS = {"UPOS": UPOS, "XPOS": XPOS, "Lemmas": LEMMA}


@dataclass(frozen=True, slots=True)
class Agreement:
    """The numbers of items in the gold file and in the prediction, and how many agree."""

    correct: int
    gold: int
    predicted: int

    @property
    def precision(self) -> float:
        """The correct share of the prediction, in percent."""
        return _percent(self.correct, self.predicted)

    @property
    def recall(self) -> float:
        """The share of the gold items that were found, in percent."""
        return _percent(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return _percent(2 * self.correct, self.gold + self.predicted)


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of a prediction, in percent."""

    metrics: dict[str, Agreement]  # UAS, LAS, CLAS; for aligned files also Tokens, Sentences, Words, UPOS …
    ucm: float
    lcm: float
    words: int  # gold words that count
    sentences: int  # of the gold file
    several_roots: int  # predicted sentences with more than one root, which are scored all the same

    def as_dict(self, *names: str, digits: int | None = None) -> dict[str, float]:
        """UAS, LAS, CLAS, UCM and LCM by their lower-case names, or only those named; rounded if `digits` is given."""
        values = {"uas": self.uas, "las": self.las, "clas": self.clas, "ucm": self.ucm, "lcm": self.lcm}
        chosen = {name: values[name] for name in names or values}
        return chosen if digits is None else {name: round(value, digits) for name, value in chosen.items()}

    @property
    def uas(self) -> float:
        """Words with the right head."""
        return self.metrics["UAS"].f1

    @property
    def las(self) -> float:
        """Words with the right head and label."""
        return self.metrics["LAS"].f1

    @property
    def las_error(self) -> float:
        """The standard error of LAS, as if words were independent."""
        las = self.metrics["LAS"]
        share = las.f1 / 100
        return 100 * float((share * (1 - share) / las.gold) ** 0.5) if las.gold else 0.0

    @property
    def clas(self) -> float:
        """Content words with the right head and label."""
        return self.metrics["CLAS"].f1


def score(
    gold: Iterable[Sentence], predicted: Iterable[Sentence], *, punct: Punct = "include", names: tuple[str, str] = NAMES
) -> Scores:
    """Score sentences against gold sentences with the same words; errors call the files by `names`.

    Words are the same if their FORMs are, apart from spaces. Lines of multiword tokens are ignored.
    """
    tally = _Tally(punct)
    for one, other in paired(gold, predicted, names=names, needs_xpos=punct == "ptb", hint=ALIGN_HINT):
        words, other_words = ([(row, head - 1) for row, head in zip(s.rows, s.tree)] for s in (one, other))
        heads_right, labels_right = tally.add_words(words, other_words, range(len(words)))
        tally.sentences.append((all(heads_right), all(labels_right)))
        tally.several_roots += other.heads.count(0) > 1
    return tally.scores()


def score_aligned(
    gold: Iterable[Sentence], predicted: Iterable[Sentence], *, punct: Punct = "include", names: tuple[str, str] = NAMES
) -> Scores:
    """Score sentences whose tokens, words or sentence ends differ from the gold ones, by character offsets.

    Both files must have the same characters, apart from spaces. Single-word tokens are aligned if they have the same span;
    around multiword tokens, words are aligned by their FORMs. A head is right if it is aligned to the gold head, so words
    that are not aligned are wrong and so are their dependents. UAS, LAS and CLAS are F1.

    UCM and LCM are shares of the gold sentences; one that is not predicted with the same span and words is wrong. Under
    `unicode` and `ptb`, a predicted word counts if its gold partner does or, without a partner, if it is not punctuation.
    Tokens, Sentences, Words, UPOS, XPOS and Lemmas count everything.
    """
    gold_text = FileText.of(gold, names[0], needs_xpos=punct == "ptb")
    predicted_text = FileText.of(predicted, names[1])
    check_characters(gold_text, predicted_text)
    pairs = align(gold_text, predicted_text)
    partners = [_UNALIGNED] * len(predicted_text.words)  # the gold word of each predicted word
    for g, p in pairs:
        partners[p] = g
    tally = _Tally(punct, several_roots=sum(one.sentence.heads.count(0) > 1 for one in predicted_text.located))
    words, other_words = ([(word.row, word.head) for word in text.words] for text in (gold_text, predicted_text))
    heads_right, labels_right = tally.add_words(words, other_words, partners)
    for span, inside in gold_text.sentences.items():
        other = predicted_text.sentences.get(span)
        is_same = other is not None and partners[other] == list(range(inside.start, inside.stop))
        tally.sentences.append((is_same and all(heads_right[inside]), is_same and all(labels_right[inside])))
    cells = [(words[g][0], other_words[p][0]) for g, p in pairs]
    n_right = {name: sum(_agree(row, other, column) for row, other in cells) for name, column in _COLUMNS.items()}
    return tally.scores(
        Tokens=_span_agreement(gold_text.tokens, predicted_text.tokens),
        Sentences=_span_agreement(gold_text.sentences, predicted_text.sentences),
        Words=Agreement(len(pairs), len(words), len(other_words)),
        **{name: Agreement(n, len(words), len(other_words)) for name, n in n_right.items()},
    )


@dataclass(slots=True)
class _Tally:
    """Counts of words by their universal relation, and of sentences."""

    punct: Punct
    gold: Counter[str] = field(default_factory=Counter)
    predicted: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)  # head and label
    n_right_heads: int = 0
    sentences: list[tuple[bool, bool]] = field(default_factory=list)  # whether all heads and all labels are right
    several_roots: int = 0

    def add_words(
        self, gold: Sequence[_Word], predicted: Sequence[_Word], partners: Sequence[int]
    ) -> tuple[list[bool], list[bool]]:
        """Count words; return which gold words have the right head, and which also the right label."""
        left_out = [_is_left_out(row, self.punct) for row, _ in gold]
        heads_right, labels_right = left_out.copy(), left_out.copy()  # words that do not count are right
        self.gold.update(_universal(row[DEPREL]) for (row, _), is_out in zip(gold, left_out) if not is_out)
        for (row, head), partner in zip(predicted, partners, strict=True):
            is_aligned = partner != _UNALIGNED
            if left_out[partner] if is_aligned else _is_left_out(row, self.punct):
                continue
            self.predicted[_universal(row[DEPREL])] += 1
            if is_aligned and gold[partner][1] == (ROOT if head == ROOT else partners[head]):
                expected, found = gold[partner][0][DEPREL], row[DEPREL]
                same_universal = _universal(expected) == _universal(found)
                right = same_universal if self.punct == "include" else expected == found
                heads_right[partner], labels_right[partner] = True, right
                self.n_right_heads += 1
                self.right[_universal(expected)] += right
        return heads_right, labels_right

    def scores(self, **metrics: Agreement) -> Scores:
        counts = (self.right, self.gold, self.predicted)
        metrics["UAS"] = Agreement(self.n_right_heads, self.gold.total(), self.predicted.total())
        metrics["LAS"] = Agreement(*(count.total() for count in counts))
        metrics["CLAS"] = Agreement(*(sum(count[deprel] for deprel in CONTENT_DEPRELS) for count in counts))
        n_sentences = len(self.sentences)
        ucm = _percent(sum(heads_right for heads_right, _ in self.sentences), n_sentences)
        lcm = _percent(sum(labels_right for _, labels_right in self.sentences), n_sentences)
        return Scores(metrics, ucm, lcm, self.gold.total(), n_sentences, self.several_roots)


def _span_agreement(gold: Collection[tuple[int, int]], predicted: Collection[tuple[int, int]]) -> Agreement:
    return Agreement(len(set(gold) & set(predicted)), len(gold), len(predicted))


def _agree(row: Sequence[str], other: Sequence[str], column: int) -> bool:
    """Whether two words agree in a column; any lemma agrees with a gold `_`."""
    return row[column] == other[column] or (column == LEMMA and row[column] == "_")


def _percent(part: int, whole: int) -> float:
    return 100 * (part / whole) if whole else 0.0


@lru_cache(maxsize=4096)
def _universal(deprel: str) -> str:
    """The relation without its subtype."""
    return deprel.partition(":")[0]


def _is_left_out(row: Sequence[str], punct: Punct) -> bool:
    if punct == "include":
        return False
    return row[XPOS] in PTB_PUNCTUATION if punct == "ptb" else _is_unicode_punctuation(row[FORM])


@lru_cache(maxsize=65536)
def _is_unicode_punctuation(form: str) -> bool:
    return all(unicodedata.category(character).startswith("P") for character in form)
