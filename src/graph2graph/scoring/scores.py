"""UAS, LAS and CLAS as the official CoNLL 2018 scorer computes them, and the share of entirely correct sentences.

`score` compares files with the same words; `score_aligned` compares files whose segmentation differs, by character
offsets. Both give, in percent:

- UAS: words with the right head. LAS: words with the right head and label.
- CLAS: LAS over content words. Both files decide by their own labels which words those are, so this is an F1.
- UCM and LCM: sentences in which every word is right by UAS, or by LAS. These are ours; the official scorer has none.

The treatment of punctuation also fixes how labels are compared, since each convention comes from its own scorer:

- `include`, CoNLL 2018: every word counts; labels are compared without their subtypes (`nsubj:pass` is `nsubj`).
- `unicode`, CoNLL-X (eval07.pl, MaltEval): gold words whose FORM has only characters of Unicode class P are left out,
  and labels are compared whole. The PTB's opening quotes (two backticks) and `$` are of class S, hence counted.
- `ptb`, as usual for the Penn Treebank (Chen & Manning 2014): gold words whose XPOS is one of the five tags in
  `PTB_PUNCTUATION` are left out, and labels are compared whole. Brackets (`-LRB-`, `-RRB-`), `$` and `#` are counted.

A sentence of left-out words only is right. A share of nothing is 0, as in the official scorer.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal

from graph2graph.scoring.alignment import (
    ROOT,
    FileText,
    SpanWord,
    align,
    check_characters,
)
from graph2graph.scoring.pairing import paired
from graph2graph.treebank.sentence import DEPREL, FORM, LEMMA, UPOS, XPOS, Sentence

Punct = Literal["include", "unicode", "ptb"]

PTB_PUNCTUATION = frozenset(("``", "''", ":", ",", "."))
# The relations of UD version 2, except those of function words (aux, case, cc, clf, cop, det, mark) and punct.
CONTENT_DEPRELS = frozenset(
    (
        *("nsubj", "csubj", "obj", "iobj", "ccomp", "xcomp"),
        *("obl", "vocative", "expl", "dislocated", "advcl", "advmod", "discourse"),
        *("nmod", "appos", "nummod", "acl", "amod"),
        *("conj", "fixed", "flat", "compound", "list", "parataxis"),
        *("orphan", "goeswith", "reparandum", "root", "dep"),
    )
)

ALIGN_HINT = " (--align scores files with other words and sentence ends)"
_UNALIGNED = -2
_COLUMNS = {"UPOS": UPOS, "XPOS": XPOS, "Lemmas": LEMMA}


@dataclass(frozen=True, slots=True)
class Agreement:
    """The number of items in the gold file and in the prediction, and how many of them agree."""

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
        """The harmonic mean of precision and recall; equal to both if gold and prediction have the same size."""
        return _percent(2 * self.correct, self.gold + self.predicted)


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of a prediction, in percent."""

    metrics: dict[str, Agreement]  # UAS, LAS, CLAS; for aligned files also Tokens, Sentences, Words, UPOS …
    ucm: float
    lcm: float
    words: int  # gold words that count
    sentences: int  # of the gold file
    several_roots: int  # predicted sentences with more than one root: scored, though not trees

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
        """One standard deviation of LAS by chance, as if words were independent draws."""
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
    """Score sentences against gold sentences with the same words; errors call the two files by `names`.

    Words are the same if their FORMs are, spaces apart; multiword-token lines are ignored.

        >>> gold = Sentence.from_words(["Dogs", "bark"]).with_tree([2, 0], ["nsubj", "root"])
        >>> score([gold], [gold.with_tree([2, 0], ["obj", "root"])]).las
        50.0
    """
    tally = _Tally(punct)
    for gold_sentence, predicted_sentence in paired(
        gold, predicted, names=names, needs_xpos=punct == "ptb", hint=ALIGN_HINT
    ):
        tally.several_roots += predicted_sentence.heads.count(0) > 1
        heads_right = labels_right = True
        for row, other_row, head, other_head in zip(
            gold_sentence.rows, predicted_sentence.rows, gold_sentence.heads, predicted_sentence.heads, strict=True
        ):
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

    Both files must have the same characters, spaces apart. Single-word tokens are aligned if they have the same span;
    around multiword tokens the words of both sides are aligned by their FORMs. A head is right if it is aligned to the
    gold head, so unaligned words are wrong and so are their dependents. UAS, LAS and CLAS are F1.

    UCM and LCM are shares of the gold sentences; a sentence whose exact span and words the prediction lacks is wrong.
    Under `unicode` and `ptb` a predicted word is left out if its gold partner is, or, without a partner, if it is
    punctuation itself. Tokens, Sentences, Words, UPOS, XPOS and Lemmas count everything.
    """
    is_left_out = partial(_is_left_out, punct=punct)
    gold_text = FileText.of(gold, names[0], is_left_out=is_left_out, needs_xpos=punct == "ptb")
    predicted_text = FileText.of(predicted, names[1], is_left_out=is_left_out, needs_xpos=False)
    check_characters(gold_text, predicted_text)
    pairs = align(gold_text.words, predicted_text.words)
    tally = _Tally(punct, several_roots=predicted_text.several_roots)
    _count_aligned(tally, gold_text, predicted_text, pairs)
    columns = {
        name: _column_agreement(gold_text.words, predicted_text.words, pairs, column)
        for name, column in _COLUMNS.items()
    }
    return tally.scores(
        Tokens=_span_agreement(gold_text.tokens, predicted_text.tokens),
        Sentences=_span_agreement(gold_text.sentences, predicted_text.sentences),
        Words=Agreement(len(pairs), len(gold_text.words), len(predicted_text.words)),
        **columns,
    )


def _count_aligned(tally: "_Tally", gold: FileText, predicted: FileText, pairs: list[tuple[int, int]]) -> None:
    """Count all words of both files, the aligned ones whose head and label are right, and the sentences."""
    partners = [_UNALIGNED] * len(predicted.words)  # the gold word of each predicted one
    for g, p in pairs:
        partners[p] = g
    for word in gold.words:
        if not word.is_left_out:
            tally.add_gold(word.row[DEPREL])
    for word, partner in zip(predicted.words, partners, strict=True):
        if not (word if partner == _UNALIGNED else gold.words[partner]).is_left_out:
            tally.add_predicted(word.row[DEPREL])

    heads_right, labels_right = [False] * len(gold.words), [False] * len(gold.words)
    for g, p in pairs:
        head = predicted.words[p].head
        if gold.words[g].is_left_out:
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
        return Scores(
            metrics=metrics,
            ucm=_percent(self.sentence_heads, self.sentences),
            lcm=_percent(self.sentence_labels, self.sentences),
            words=self.gold,
            sentences=self.sentences,
            several_roots=self.several_roots,
        )


def _span_agreement(gold: list[tuple[int, int]], predicted: list[tuple[int, int]]) -> Agreement:
    return Agreement(len(set(gold) & set(predicted)), len(gold), len(predicted))


def _column_agreement(
    gold: list[SpanWord], predicted: list[SpanWord], pairs: list[tuple[int, int]], column: int
) -> Agreement:
    """How many aligned words agree in a column; any lemma agrees with a gold `_`."""
    is_right = (
        gold[g].row[column] == predicted[p].row[column] or (column == LEMMA and gold[g].row[column] == "_")
        for g, p in pairs
    )
    return Agreement(sum(is_right), len(gold), len(predicted))


def _percent(part: int, whole: int) -> float:
    return 100 * (part / whole) if whole else 0.0


@lru_cache(maxsize=4096)
def _universal(deprel: str) -> str:
    """A relation without its subtype."""
    return deprel.partition(":")[0]


def _is_left_out(row: Sequence[str], punct: Punct) -> bool:
    if punct == "include":
        return False
    return row[XPOS] in PTB_PUNCTUATION if punct == "ptb" else _is_unicode_punctuation(row[FORM])


@lru_cache(maxsize=65536)
def _is_unicode_punctuation(form: str) -> bool:
    return all(unicodedata.category(character).startswith("P") for character in form)
