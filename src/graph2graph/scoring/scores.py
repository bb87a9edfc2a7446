"""UAS, LAS and CLAS as the official CoNLL 2018 scorer has them, and the share of sentences wholly right.

`score` compares files with the same words; `score_aligned` compares files whose segmentation differs, by character
offsets. Both give, in percent:

- UAS: words with the right head. LAS: words with the right head and label.
- CLAS: LAS over content words. Which words are content words goes by the label, gold and predicted, so this is an F1.
- UCM and LCM: sentences all of whose words count for UAS, or for LAS. These are ours; the official scorer has none.

What is done with punctuation also says how labels are compared, since the two conventions come from different scorers:

- `include`, CoNLL 2018: every word counts; labels are compared without their subtypes (`nsubj:pass` is `nsubj`).
- `unicode`, CoNLL-X (eval07.pl, MaltEval): gold words whose FORM is wholly of Unicode class P are left out, and labels
  are compared whole. Of class S, hence counted, are the PTB's opening quotes (two backticks) and `$`.
- `ptb`, as usual for the Penn Treebank (Chen & Manning 2014): gold words whose XPOS is one of the five tags in
  `PTB_PUNCTUATION` are left out, and labels are compared whole. Brackets (`-LRB-`, `-RRB-`), `$` and `#` are counted.

A sentence with nothing but left-out words is wholly right. A share of nothing is 0, as in the official scorer.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import zip_longest
from typing import Literal

from graph2graph.scoring.alignment import ROOT, Place, Text, Word, align, check_characters, places, without_spaces
from graph2graph.treebank.conllu import DEPREL, FORM, LEMMA, UPOS, XPOS, Sentence

Punct = Literal["include", "unicode", "ptb"]

PTB_PUNCTUATION = frozenset(("``", "''", ":", ",", "."))
# The relations of UD version 2, but for those of function words (aux, case, cc, clf, cop, det, mark) and punct.
CONTENT_DEPRELS = frozenset(
    (
        *("nsubj", "csubj", "obj", "iobj", "ccomp", "xcomp"),
        *("obl", "vocative", "expl", "dislocated", "advcl", "advmod", "discourse"),
        *("nmod", "appos", "nummod", "acl", "amod"),
        *("conj", "fixed", "flat", "compound", "list", "parataxis"),
        *("orphan", "goeswith", "reparandum", "root", "dep"),
    )
)

SCORE_NAMES = ("uas", "las", "clas", "ucm", "lcm")
_UNALIGNED = -2
_COLUMNS = {"UPOS": UPOS, "XPOS": XPOS, "Lemmas": LEMMA}


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many items of the gold file and of the prediction agree."""

    correct: int
    gold: int
    predicted: int

    @property
    def precision(self) -> float:
        """The correct share of the prediction, in percent."""
        return _percent(self.correct, self.predicted)

    @property
    def recall(self) -> float:
        """The share of the gold file that was found, in percent."""
        return _percent(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; equal to both where gold and prediction are of one size."""
        return _percent(2 * self.correct, self.gold + self.predicted)


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of a prediction, in percent."""

    metrics: dict[
        str, Agreement
    ]  # "UAS", "LAS", "CLAS"; of aligned files also "Tokens", "Sentences", "Words", "UPOS" …
    ucm: float
    lcm: float
    words: int  # gold words that count
    sentences: int  # of the gold file
    several_roots: int  # predicted sentences with more than one root: scored, but no trees

    def as_dict(self, *names: str, digits: int | None = None) -> dict[str, float]:
        """UAS, LAS, CLAS, UCM and LCM by their lower-case names, or only those named; rounded if `digits` is given.

        >>> score([], []).as_dict("uas", "las")
        {'uas': 0.0, 'las': 0.0}
        """
        values: dict[str, float] = {name: getattr(self, name) for name in names or SCORE_NAMES}
        return values if digits is None else {name: round(value, digits) for name, value in values.items()}

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
        """How far LAS may be off by chance, one standard deviation, as if every word were a draw of its own."""
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
    """Score sentences against gold sentences with the same words; `names` are what errors call the two.

    Words are the same if their FORMs are, spaces apart; multiword-token lines do not matter here.

        >>> gold = Sentence.from_words(["Dogs", "bark"]).with_tree([2, 0], ["nsubj", "root"])
        >>> score([gold], [gold.with_tree([2, 0], ["obj", "root"])]).las
        50.0
    """
    tally = _Tally(punct)
    for gold_sentence, predicted_sentence in _paired(gold, predicted, punct=punct, names=names):
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

    Spaces apart, both must have the same characters. A token that is a word is aligned to one with the same span;
    around multiword tokens the words of both sides are aligned by their FORMs. A head is right if it is aligned to the
    gold head, so words that are not aligned are wrong and so are their dependents. UAS, LAS and CLAS are F1.

    UCM and LCM are shares of the gold sentences; one that has not its exact span and words in the prediction is wrong.
    Under `unicode` and `ptb` a predicted word is left out if the gold word it is aligned to is, or, not aligned, if it
    is punctuation itself; the metrics Tokens, Sentences, Words, UPOS, XPOS and Lemmas are over everything.
    """
    left_out = partial(_is_left_out, punct=punct)
    gold_text = Text.of(gold, names[0], left_out=left_out, with_tags=punct == "ptb")
    predicted_text = Text.of(predicted, names[1], left_out=left_out, with_tags=False)
    check_characters(gold_text, predicted_text)
    gold_words, predicted_words = gold_text.words, predicted_text.words
    pairs = align(gold_words, predicted_words)
    partners = [_UNALIGNED] * len(predicted_words)  # the gold word of each predicted one
    for g, p in pairs:
        partners[p] = g

    tally = _Tally(punct, several_roots=predicted_text.several_roots)
    for word in gold_words:
        if not word.left_out:
            tally.add_gold(word.row[DEPREL])
    for word, partner in zip(predicted_words, partners, strict=True):
        if not (word if partner == _UNALIGNED else gold_words[partner]).left_out:
            tally.add_predicted(word.row[DEPREL])

    heads_right, labels_right = [False] * len(gold_words), [False] * len(gold_words)
    for g, p in pairs:
        head = predicted_words[p].head
        if gold_words[g].left_out:
            heads_right[g] = labels_right[g] = True
        elif gold_words[g].head == (ROOT if head == ROOT else partners[head]):
            heads_right[g] = True
            labels_right[g] = tally.add_right_head(gold_words[g].row[DEPREL], predicted_words[p].row[DEPREL])

    words_of = dict(zip(predicted_text.sentences, predicted_text.sentence_words, strict=True))
    for span, words in zip(gold_text.sentences, gold_text.sentence_words, strict=True):
        same = span in words_of and partners[words_of[span]] == list(range(words.start, words.stop))
        tally.add_sentence(same and all(heads_right[words]), same and all(labels_right[words]))
    return tally.scores(
        Tokens=_span_agreement(gold_text.tokens, predicted_text.tokens),
        Sentences=_span_agreement(gold_text.sentences, predicted_text.sentences),
        Words=Agreement(len(pairs), len(gold_words), len(predicted_words)),
        **{name: _column_agreement(gold_words, predicted_words, pairs, column) for name, column in _COLUMNS.items()},
    )


@dataclass(slots=True)
class _Tally:
    """Counts of what is there and what is right, from which the scores are made."""

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
        """Count a word whose head is right; whether its label is right too."""
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


def _column_agreement(gold: list[Word], predicted: list[Word], pairs: list[tuple[int, int]], column: int) -> Agreement:
    """Aligned words that have the same in a column; any lemma will do where the gold file has none."""
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


# ---- files with the same words


def _paired(
    gold: Iterable[Sentence], predicted: Iterable[Sentence], *, punct: Punct, names: tuple[str, str]
) -> Iterator[tuple[Sentence, Sentence]]:
    """Gold and predicted sentences side by side, checked to have the same words and a head for each."""
    gold_places, predicted_places = places(gold, names[0]), places(predicted, names[1])
    for number, (place, other) in enumerate(zip_longest(gold_places, predicted_places), 1):
        if place is None or other is None:
            alone = place or other
            assert alone is not None
            n_gold = number - (place is None) + sum(1 for _ in gold_places)
            n_predicted = number - (other is None) + sum(1 for _ in predicted_places)
            counts = f"sentences: {n_gold} in {names[0]}, {n_predicted} in {names[1]}"
            raise alone.error(0, f"{counts}; this one is left over (--align scores files with other sentence ends)")
        place.check_complete(with_tags=punct == "ptb")
        _check_same_words(place, other)
        other.check_complete(with_tags=False)
        yield place.sentence, other.sentence


def _check_same_words(gold: Place, predicted: Place) -> None:
    forms, others = gold.sentence.forms, predicted.sentence.forms
    if forms == others:
        return
    hint = "(--align scores files with other words)"
    for word, (form, other) in enumerate(zip(forms, others)):
        if without_spaces(form) != without_spaces(other):
            there = f"{gold.source}:{gold.line(word)}"
            raise predicted.error(word, f"word {word + 1} is {other!r}, in {there} it is {form!r} {hint}")
    if len(forms) != len(others):
        longer, shorter = (gold, predicted) if len(forms) > len(others) else (predicted, gold)
        word = len(shorter.sentence)
        there = f"{shorter.source}:{shorter.line(word - 1)}"
        found = longer.sentence.forms[word]
        raise longer.error(word, f"word {word + 1} is {found!r}, in {there} the sentence ends before it {hint}")
