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
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice, zip_longest
from typing import Literal, NamedTuple

from graph2graph.conllu import DEPREL, FORM, XPOS, Problem, Sentence
from graph2graph.errors import DataError

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

_ROOT = -1  # as the head of a word, where words are numbered through the file
_UNALIGNED = -2


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

    metrics: dict[str, Agreement]  # "UAS", "LAS", "CLAS"; and of aligned files "Tokens", "Sentences", "Words"
    ucm: float
    lcm: float
    words: int  # gold words that count
    sentences: int  # of the gold file
    several_roots: int  # predicted sentences with more than one root: scored, but no trees

    @property
    def uas(self) -> float:
        """Words with the right head."""
        return self.metrics["UAS"].f1

    @property
    def las(self) -> float:
        """Words with the right head and label."""
        return self.metrics["LAS"].f1

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
    is punctuation itself; the metrics Tokens, Sentences and Words are over everything.
    """
    gold_text = _Text.of(gold, punct=punct, name=names[0], is_gold=True)
    predicted_text = _Text.of(predicted, punct=punct, name=names[1], is_gold=False)
    _check_characters(gold_text, predicted_text)
    gold_words, predicted_words = gold_text.words, predicted_text.words
    pairs = _align(gold_words, predicted_words)
    partners = [_UNALIGNED] * len(predicted_words)  # the gold word of each predicted one
    for g, p in pairs:
        partners[p] = g

    tally = _Tally(punct, several_roots=predicted_text.several_roots)
    for word in gold_words:
        if not word.left_out:
            tally.add_gold(word.deprel)
    for word, partner in zip(predicted_words, partners, strict=True):
        if not (word if partner == _UNALIGNED else gold_words[partner]).left_out:
            tally.add_predicted(word.deprel)

    heads_right, labels_right = [False] * len(gold_words), [False] * len(gold_words)
    for g, p in pairs:
        head = predicted_words[p].head
        if gold_words[g].left_out:
            heads_right[g] = labels_right[g] = True
        elif gold_words[g].head == (_ROOT if head == _ROOT else partners[head]):
            heads_right[g] = True
            labels_right[g] = tally.add_right_head(gold_words[g].deprel, predicted_words[p].deprel)

    words_of = dict(zip(predicted_text.sentences, predicted_text.sentence_words, strict=True))
    for span, words in zip(gold_text.sentences, gold_text.sentence_words, strict=True):
        same = span in words_of and partners[words_of[span]] == list(range(words.start, words.stop))
        tally.add_sentence(same and all(heads_right[words]), same and all(labels_right[words]))
    return tally.scores(
        Tokens=_span_agreement(gold_text.tokens, predicted_text.tokens),
        Sentences=_span_agreement(gold_text.sentences, predicted_text.sentences),
        Words=Agreement(len(pairs), len(gold_words), len(predicted_words)),
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


@lru_cache(maxsize=65536)
def _without_spaces(form: str) -> str:
    return "".join(character for character in form if unicodedata.category(character) != "Zs")


# ---- files with the same words


def _paired(
    gold: Iterable[Sentence], predicted: Iterable[Sentence], *, punct: Punct, names: tuple[str, str]
) -> Iterator[tuple[Sentence, Sentence]]:
    """Gold and predicted sentences side by side, checked to have the same words and a head for each."""
    gold_places, predicted_places = _places(gold, names[0]), _places(predicted, names[1])
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


class _Place(NamedTuple):
    """A sentence, and where it stands, for errors."""

    sentence: Sentence
    source: str
    first_line: int

    def line(self, word: int) -> int:
        """The line of a word, counted from 0."""
        return self.first_line + self.sentence.row_lines[word]

    def error(self, word: int, message: str) -> DataError:
        return DataError(str(Problem(self.source, self.line(word), self.sentence.sent_id, message)))

    def check_complete(self, *, with_tags: bool) -> None:
        """Every word needs a head, and in gold files a Penn tag where these say what is punctuation."""
        if None in self.sentence.heads:
            word = self.sentence.heads.index(None)
            raise self.error(word, f"word {word + 1} has no head; expected a parsed file")
        if with_tags and "_" in (tags := self.sentence.column(XPOS)):
            word = tags.index("_")
            raise self.error(word, f"word {word + 1} has no XPOS; punctuation by Penn tag needs one for each gold word")


def _places(sentences: Iterable[Sentence], source: str) -> Iterator[_Place]:
    first_line = 1
    for sentence in sentences:
        yield _Place(sentence, source, first_line)
        first_line += len(sentence.lines)


def _check_same_words(gold: _Place, predicted: _Place) -> None:
    forms, others = gold.sentence.forms, predicted.sentence.forms
    if forms == others:
        return
    hint = "(--align scores files with other words)"
    for word, (form, other) in enumerate(zip(forms, others)):
        if _without_spaces(form) != _without_spaces(other):
            there = f"{gold.source}:{gold.line(word)}"
            raise predicted.error(word, f"word {word + 1} is {other!r}, in {there} it is {form!r} {hint}")
    if len(forms) != len(others):
        longer, shorter = (gold, predicted) if len(forms) > len(others) else (predicted, gold)
        word = len(shorter.sentence)
        there = f"{shorter.source}:{shorter.line(word - 1)}"
        found = longer.sentence.forms[word]
        raise longer.error(word, f"word {word + 1} is {found!r}, in {there} the sentence ends before it {hint}")


# ---- files with different words, aligned by their characters


class _Word(NamedTuple):
    """A word as a span of the file's characters; one in a multiword token has the span of the token."""

    start: int
    end: int
    in_range: bool
    form: str  # as compared in multiword tokens, where the case does not matter
    head: int  # numbered through the file
    deprel: str
    left_out: bool


@dataclass(slots=True)
class _Text:
    """A file as one run of characters without spaces, of which tokens, words and sentences are spans."""

    name: str
    places: list[_Place] = field(default_factory=list)
    characters: str = ""
    tokens: list[tuple[int, int]] = field(default_factory=list)
    token_lines: list[int] = field(default_factory=list)
    words: list[_Word] = field(default_factory=list)
    sentences: list[tuple[int, int]] = field(default_factory=list)
    sentence_words: list[slice] = field(default_factory=list)
    several_roots: int = 0

    @classmethod
    def of(cls, sentences: Iterable[Sentence], *, punct: Punct, name: str, is_gold: bool) -> "_Text":
        text = cls(name)
        pieces: list[str] = []
        end = 0
        for place in _places(sentences, name):
            place.check_complete(with_tags=is_gold and punct == "ptb")
            sentence = place.sentence
            sentence_start, first_word = end, len(text.words)
            rows = zip(sentence.rows, sentence.heads, strict=True)
            for index, form, n_words in _tokens(sentence):
                line = place.first_line + index
                pieces.append(_without_spaces(form))
                if not pieces[-1]:
                    raise DataError(str(Problem(name, line, sentence.sent_id, "FORM is nothing but spaces")))
                start, end = end, end + len(pieces[-1])
                text.tokens.append((start, end))
                text.token_lines.append(line)
                for row, head in islice(rows, n_words):
                    text.words.append(
                        _Word(
                            start,
                            end,
                            in_range=n_words > 1,
                            form=(row[FORM] if n_words > 1 else pieces[-1]).lower(),
                            head=first_word + head - 1 if head else _ROOT,
                            deprel=row[DEPREL],
                            left_out=_is_left_out(row, punct),
                        )
                    )
            text.places.append(place)
            text.sentences.append((sentence_start, end))
            text.sentence_words.append(slice(first_word, len(text.words)))
            text.several_roots += sentence.heads.count(0) > 1
        text.characters = "".join(pieces)
        return text


def _tokens(sentence: Sentence) -> Iterator[tuple[int, str, int]]:
    """The tokens of a sentence: where its line is, its FORM, and how many words it has (1, or those of its range)."""
    last_in_range = 0
    for index, line in enumerate(sentence.lines):
        number, *columns = line.removeprefix("\ufeff").split("\t", 2)
        if number.startswith("#") or not columns or "." in number:
            continue
        first, dash, last = number.partition("-")
        if dash:
            last_in_range = int(last)
            yield index, columns[0], last_in_range - int(first) + 1
        elif int(number) > last_in_range:
            yield index, columns[0], 1


def _check_characters(gold: _Text, predicted: _Text) -> None:
    if gold.characters == predicted.characters:
        return
    both = zip(gold.characters, predicted.characters)
    shorter = min(len(gold.characters), len(predicted.characters))
    offset = next((i for i, (character, other) in enumerate(both) if character != other), shorter)
    line, sent_id, found = _found_at(predicted, offset)
    gold_line, _, expected = _found_at(gold, offset)
    message = (
        f"the characters are {found}, in {gold.name}:{gold_line} they are {expected}; spaces apart, both files must"
    )
    raise DataError(str(Problem(predicted.name, line, sent_id, f"{message} have the same")))


def _found_at(text: _Text, offset: int) -> tuple[int, str | None, str]:
    """What a file has at this offset: the line, the sent_id and the next characters."""
    if not text.tokens:
        return 1, None, "none"
    token = bisect_right(text.tokens, offset, key=lambda span: span[0]) - 1
    sentence = text.places[bisect_right(text.sentences, offset, key=lambda span: span[0]) - 1].sentence
    characters = repr(text.characters[offset : offset + 20]) if offset < len(text.characters) else "at an end"
    return text.token_lines[token], sentence.sent_id, characters


def _span_agreement(gold: list[tuple[int, int]], predicted: list[tuple[int, int]]) -> Agreement:
    return Agreement(len(set(gold) & set(predicted)), len(gold), len(predicted))


def _align(gold: list[_Word], predicted: list[_Word]) -> list[tuple[int, int]]:
    """Pairs of gold and predicted words, as the official scorer finds them."""
    pairs = []
    g = p = 0
    while g < len(gold) and p < len(predicted):
        word, other = gold[g], predicted[p]
        if word.in_range or other.in_range:
            # A plain word that begins before the multiword token is over: it can have no partner any more.
            g += not word.in_range and word.start < other.start
            p += not other.in_range and other.start < word.start
            g_end, p_end = _region_end(gold, predicted, g, p, word.end if word.in_range else other.end)
            forms, other_forms = ([w.form for w in words] for words in (gold[g:g_end], predicted[p:p_end]))
            pairs += [(g + i, p + j) for i, j in _common_subsequence(forms, other_forms)]
            g, p = g_end, p_end
        elif (word.start, word.end) == (other.start, other.end):
            pairs.append((g, p))
            g, p = g + 1, p + 1
        elif word.start <= other.start:
            g += 1
        else:
            p += 1
    return pairs


def _region_end(gold: list[_Word], predicted: list[_Word], g: int, p: int, end: int) -> tuple[int, int]:
    """Where the region that has to be aligned as a whole ends, which begins at words g and p with a multiword token.

    It reaches to `end`, or to the end of the last multiword token that begins inside.
    """

    def inside(words: list[_Word], i: int) -> bool:
        return i < len(words) and (words[i].start < end if words[i].in_range else words[i].end <= end)

    while inside(gold, g) or inside(predicted, p):
        # In the order of the text, gold first: so a word that sticks out is taken if the other side goes on after it.
        if g < len(gold) and (p == len(predicted) or gold[g].start <= predicted[p].start):
            word, g = gold[g], g + 1
        else:
            word, p = predicted[p], p + 1
        if word.in_range:
            end = max(end, word.end)
    return g, p


def _common_subsequence(forms: list[str], others: list[str]) -> Iterator[tuple[int, int]]:
    """The positions of a longest common subsequence; of several, the one found by skipping gold forms first."""
    longest = [[0] * (len(others) + 1) for _ in range(len(forms) + 1)]  # of what follows i in forms and j in others
    for i in reversed(range(len(forms))):
        for j in reversed(range(len(others))):
            same = forms[i] == others[j]
            longest[i][j] = 1 + longest[i + 1][j + 1] if same else max(longest[i + 1][j], longest[i][j + 1])
    i = j = 0
    while i < len(forms) and j < len(others):
        if forms[i] == others[j]:
            yield i, j
            i, j = i + 1, j + 1
        elif longest[i][j] == longest[i + 1][j]:
            i += 1
        else:
            j += 1
