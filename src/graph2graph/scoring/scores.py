"""UAS, LAS and CLAS as in the official CoNLL 2018 scorer, and the share of entirely correct sentences.

`score` compares files with the same words. `score_aligned` compares files that are segmented differently, by character offsets.
Both give, in percent:

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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from graph2graph.scoring.alignment import ROOT, FileText, SpanWord, align, check_characters
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
_UNALIGNED = -2
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
        """UAS, LAS, CLAS, UCM and LCM by their lower-case names, or only those named; rounded if `digits` is given.

        >>> score([], []).as_dict("uas", "las")
        {'uas': 0.0, 'las': 0.0}
        """
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
    gold: Iterable[Sentence],
    predicted: Iterable[Sentence],
    *,
    punct: Punct = "include",
    names: tuple[str, str] = ("gold", "predicted"),
) -> Scores:
    """Score sentences against gold sentences with the same words; errors call the files by `names`.

    Words are the same if their FORMs are, apart from spaces. Lines of multiword tokens are ignored.

        >>> gold = Sentence.from_words(["Dogs", "bark"]).with_tree([2, 0], ["nsubj", "root"])
        >>> score([gold], [gold.with_tree([2, 0], ["obj", "root"])]).las
        50.0
    """
    tally = _Tally(punct)
    for one, other in paired(gold, predicted, names=names, needs_xpos=punct == "ptb", hint=ALIGN_HINT):
        tally.several_roots += other.heads.count(0) > 1
        heads_right = labels_right = True
        for row, other_row, head, other_head in zip(one.rows, other.rows, one.heads, other.heads, strict=True):
            if not _is_left_out(row, punct):
                tally.add_gold(row[DEPREL])
                tally.add_predicted(other_row[DEPREL])
                if head != other_head:
                    heads_right = labels_right = False
                elif not tally.add_right_head(row[DEPREL], other_row[DEPREL]):
                    labels_right = False
        tally.add_sentence(heads_right, labels_right)
    return tally.scores()


def score_aligned(
    gold: Iterable[Sentence],
    predicted: Iterable[Sentence],
    *,
    punct: Punct = "include",
    names: tuple[str, str] = ("gold", "predicted"),
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
    words, other_words = gold_text.words, predicted_text.words
    pairs = align(words, other_words)
    tally = _Tally(punct)
    tally.several_roots = sum(one.sentence.heads.count(0) > 1 for one in predicted_text.located)
    _count_aligned(tally, gold_text, predicted_text, pairs)
    return tally.scores(
        Tokens=_span_agreement(gold_text.tokens, predicted_text.tokens),
        Sentences=_span_agreement(gold_text.sentences, predicted_text.sentences),
        Words=Agreement(len(pairs), len(words), len(other_words)),
        **{name: _column_agreement(words, other_words, pairs, column) for name, column in _COLUMNS.items()},
    )


def _count_aligned(tally: "_Tally", gold: FileText, predicted: FileText, pairs: list[tuple[int, int]]) -> None:
    """Tally the words and sentences of both files, given the pairs of aligned words."""
    partners = [_UNALIGNED] * len(predicted.words)  # the gold word of each predicted word
    for g, p in pairs:
        partners[p] = g
    left_out = [_is_left_out(word.row, tally.punct) for word in gold.words]
    for word, is_left_out in zip(gold.words, left_out, strict=True):
        if not is_left_out:
            tally.add_gold(word.row[DEPREL])
    for word, partner in zip(predicted.words, partners, strict=True):
        if not (_is_left_out(word.row, tally.punct) if partner == _UNALIGNED else left_out[partner]):
            tally.add_predicted(word.row[DEPREL])

    heads_right, labels_right = [False] * len(gold.words), [False] * len(gold.words)
    for g, p in pairs:
        head = predicted.words[p].head
        if left_out[g]:
            heads_right[g] = labels_right[g] = True
        elif gold.words[g].head == (ROOT if head == ROOT else partners[head]):
            heads_right[g] = True
            labels_right[g] = tally.add_right_head(gold.words[g].row[DEPREL], predicted.words[p].row[DEPREL])

    words_of = dict(zip(predicted.sentences, predicted.sentence_words, strict=True))
    for span, words in zip(gold.sentences, gold.sentence_words, strict=True):
        is_same = span in words_of and partners[words_of[span]] == list(range(words.start, words.stop))
        tally.add_sentence(is_same and all(heads_right[words]), is_same and all(labels_right[words]))


@dataclass(slots=True)
class _Tally:
    """Counts of words and sentences, and of those that are right."""

    punct: Punct
    several_roots: int = 0
    gold: int = 0
    predicted: int = 0
    gold_content: int = 0
    predicted_content: int = 0
    heads: int = 0
    labels: int = 0
    content_labels: int = 0
    sentences: int = 0
    sentence_heads: int = 0
    sentence_labels: int = 0

    def add_gold(self, deprel: str) -> None:
        self.gold += 1
        self.gold_content += _universal(deprel) in CONTENT_DEPRELS

    def add_predicted(self, deprel: str) -> None:
        self.predicted += 1
        self.predicted_content += _universal(deprel) in CONTENT_DEPRELS

    def add_right_head(self, gold_deprel: str, predicted_deprel: str) -> bool:
        """Count a word whose head is right; return whether its label is right too."""
        self.heads += 1
        right = gold_deprel == predicted_deprel or (
            self.punct == "include" and _universal(gold_deprel) == _universal(predicted_deprel)
        )
        self.labels += right
        self.content_labels += right and _universal(gold_deprel) in CONTENT_DEPRELS
        return right

    def add_sentence(self, heads_right: bool, labels_right: bool) -> None:
        self.sentences += 1
        self.sentence_heads += heads_right
        self.sentence_labels += labels_right

    def scores(self, **metrics: Agreement) -> Scores:
        metrics["UAS"] = Agreement(self.heads, self.gold, self.predicted)
        metrics["LAS"] = Agreement(self.labels, self.gold, self.predicted)
        metrics["CLAS"] = Agreement(self.content_labels, self.gold_content, self.predicted_content)
        ucm, lcm = (_percent(right, self.sentences) for right in (self.sentence_heads, self.sentence_labels))
        return Scores(metrics, ucm, lcm, self.gold, self.sentences, self.several_roots)


def _span_agreement(gold: list[tuple[int, int]], predicted: list[tuple[int, int]]) -> Agreement:
    return Agreement(len(set(gold) & set(predicted)), len(gold), len(predicted))


def _column_agreement(
    gold: list[SpanWord], predicted: list[SpanWord], pairs: list[tuple[int, int]], column: int
) -> Agreement:
    """How many aligned words agree in a column; any lemma agrees with a gold `_`."""
    cells = [(gold[g].row[column], predicted[p].row[column]) for g, p in pairs]
    n_right = sum(cell == other or (column == LEMMA and cell == "_") for cell, other in cells)
    return Agreement(n_right, len(gold), len(predicted))


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
