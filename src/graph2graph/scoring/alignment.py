"""Alignment of two files with the same characters but different tokens, words or sentences, as in the official scorer."""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from graph2graph.treebank.checking import ConlluError, ConlluProblem, LocatedSentence, located
from graph2graph.treebank.sentence import BYTE_ORDER_MARK, FORM, Sentence

MAX_COMPARED = 10**6  # pairs of words in overlapping multiword tokens; all of them are compared
ROOT = -1  # the head of a root; other heads are indices of words in the file


@lru_cache(maxsize=65536)
def without_spaces(form: str) -> str:
    """A form without its spaces; forms are compared like this."""
    return "".join(character for character in form if unicodedata.category(character) != "Zs")


class SpanWord(NamedTuple):
    """A word and its span of the file's characters, which is that of the whole token for a word in a multiword token."""

    start: int
    end: int
    in_range: bool
    form: str  # in lower case; compared only in multiword tokens
    head: int  # the index of a word in the file, or ROOT
    row: Sequence[str]  # the ten columns


@dataclass(slots=True)
class FileText:
    """The characters of a file without spaces, and the spans of its tokens, words and sentences."""

    name: str
    characters: str = ""
    located: list[LocatedSentence] = field(default_factory=list)
    tokens: list[tuple[int, int]] = field(default_factory=list)
    token_lines: list[int] = field(default_factory=list)
    words: list[SpanWord] = field(default_factory=list)
    sentences: dict[tuple[int, int], slice] = field(default_factory=dict)  # by their spans, their words

    @classmethod
    def of(cls, sentences: Iterable[Sentence], name: str, *, needs_xpos: bool = False) -> "FileText":
        """The text of these sentences; raise an error if one is not parsed or lacks Penn tags that it needs."""
        text, pieces, end = cls(name), [], 0
        for one in located(sentences, name):
            one.check_parsed(needs_xpos=needs_xpos)
            start, first_word = end, len(text.words)
            rows = zip(one.sentence.rows, one.sentence.heads, strict=True)
            for index, form, n_words in _tokens(one.sentence):
                piece = without_spaces(form)
                if not piece:
                    problem = ConlluProblem(name, one.first_line + index, one.sentence.sent_id, "FORM is only spaces")
                    raise ConlluError(problem)
                pieces.append(piece)
                span = (end, end + len(piece))
                text.tokens.append(span)
                text.token_lines.append(one.first_line + index)
                for row, head in islice(rows, n_words):
                    compared = (row[FORM] if n_words > 1 else piece).lower()
                    number = first_word + head - 1 if head else ROOT
                    text.words.append(SpanWord(*span, n_words > 1, compared, number, row))
                end += len(piece)
            text.located.append(one)
            text.sentences[start, end] = slice(first_word, len(text.words))
        text.characters = "".join(pieces)
        return text


def _tokens(sentence: Sentence) -> Iterator[tuple[int, str, int]]:
    """The tokens of a sentence: the index of the line, FORM, and the number of words."""
    last_in_range = 0
    for index, line in enumerate(sentence.lines):
        number, *columns = line.removeprefix(BYTE_ORDER_MARK).split("\t", 2)
        if number.startswith("#") or not columns or "." in number:
            continue
        first, dash, last = number.partition("-")
        if dash:
            last_in_range = int(last)
            yield index, columns[0], last_in_range - int(first) + 1
        elif int(number) > last_in_range:
            yield index, columns[0], 1


def check_characters(gold: FileText, predicted: FileText) -> None:
    """Raise an error at the first difference between the characters."""
    if gold.characters == predicted.characters:
        return
    both = zip(gold.characters, predicted.characters)
    shorter = min(len(gold.characters), len(predicted.characters))
    offset = next((i for i, (character, other) in enumerate(both) if character != other), shorter)
    line, sent_id, found = _found_at(predicted, offset)
    gold_line, _, expected = _found_at(gold, offset)
    message = f"the characters are {found}, in {gold.name}:{gold_line} they are {expected}"
    message += "; both files must have the same characters, spaces apart"
    raise ConlluError(ConlluProblem(predicted.name, line, sent_id, message))


def _found_at(text: FileText, offset: int) -> tuple[int, str | None, str]:
    """The line and sent_id at this offset of a file, and the characters there."""
    if not text.tokens:
        return 1, None, "none"
    token = bisect_right(text.tokens, offset, key=lambda span: span[0]) - 1
    sentence = text.located[bisect_right(list(text.sentences), offset, key=lambda span: span[0]) - 1].sentence
    characters = repr(text.characters[offset : offset + 20]) if offset < len(text.characters) else "at an end"
    return text.token_lines[token], sentence.sent_id, characters


def align(gold_text: FileText, predicted_text: FileText) -> list[tuple[int, int]]:
    """The indices of gold and predicted words that belong together, as in the official scorer."""
    gold, predicted, pairs = gold_text.words, predicted_text.words, []
    g = p = 0
    while g < len(gold) and p < len(predicted):
        word, other = gold[g], predicted[p]
        if word.in_range or other.in_range:
            # Skip a plain word that begins before the multiword token: it has no partner.
            g += not word.in_range and word.start < other.start
            p += not other.in_range and other.start < word.start
            g_end, p_end = _region_end(gold, predicted, g, p, word.end if word.in_range else other.end)
            if (g_end - g) * (p_end - p) > MAX_COMPARED:
                line, sent_id, _ = _found_at(predicted_text, other.start)
                message = f"overlapping multiword tokens with {p_end - p:,} words are too many to align"
                raise ConlluError(ConlluProblem(predicted_text.name, line, sent_id, message))
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


def _region_end(gold: list[SpanWord], predicted: list[SpanWord], g: int, p: int, end: int) -> tuple[int, int]:
    """The ends of the region from words g and p to the character `end`, or to the end of a token that begins before that."""

    def inside(words: list[SpanWord], i: int) -> bool:
        return i < len(words) and (words[i].start < end if words[i].in_range else words[i].end <= end)

    while inside(gold, g) or inside(predicted, p):
        # In text order, gold first; a word that ends outside the region is taken if the other file has more words in it.
        if g < len(gold) and (p == len(predicted) or gold[g].start <= predicted[p].start):
            word, g = gold[g], g + 1
        else:
            word, p = predicted[p], p + 1
        if word.in_range:
            end = max(end, word.end)
    return g, p


def _common_subsequence(forms: list[str], others: list[str]) -> Iterator[tuple[int, int]]:
    """The indices of a longest common subsequence; of several, the one found by skipping gold forms first."""
    longest = [[0] * (len(others) + 1) for _ in range(len(forms) + 1)]  # the length for forms[i:] and others[j:]
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
