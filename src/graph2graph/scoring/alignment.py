"""Alignment of two files with the same characters but other tokens, words or sentences, as in the official scorer."""

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from graph2graph.treebank.checking import ConlluError, ConlluProblem, LocatedSentence, located
from graph2graph.treebank.sentence import BYTE_ORDER_MARK, FORM, XPOS, Sentence

ROOT = -1  # as the head of a word, where words are numbered through the file


@lru_cache(maxsize=65536)
def without_spaces(form: str) -> str:
    """A form without its spaces, as forms are compared."""
    return "".join(character for character in form if unicodedata.category(character) != "Zs")


class SpanWord(NamedTuple):
    """A word as a span of the file's characters; a word in a multiword token has the span of the token."""

    start: int
    end: int
    in_range: bool
    form: str  # lower-cased, as compared in multiword tokens
    head: int  # numbered through the file
    row: Sequence[str]  # its columns
    is_left_out: bool


@dataclass(slots=True)
class FileText:
    """A file as one run of characters without spaces; its tokens, words and sentences are spans of it."""

    name: str
    is_left_out: Callable[[Sequence[str]], bool]  # whether a word, given by its columns, does not count
    characters: str = ""
    located: list[LocatedSentence] = field(default_factory=list)
    tokens: list[tuple[int, int]] = field(default_factory=list)
    token_lines: list[int] = field(default_factory=list)
    words: list[SpanWord] = field(default_factory=list)
    sentences: list[tuple[int, int]] = field(default_factory=list)
    sentence_words: list[slice] = field(default_factory=list)
    several_roots: int = 0  # sentences with more than one root

    @classmethod
    def of(
        cls, sentences: Iterable[Sentence], name: str, *, is_left_out: Callable[[Sequence[str]], bool], needs_xpos: bool
    ) -> "FileText":
        """The text of these sentences, each checked to be parsed and, on request, to have Penn tags."""
        text = cls(name, is_left_out)
        pieces: list[str] = []
        end = 0
        for one in located(sentences, name):
            check_complete(one, needs_xpos=needs_xpos)
            start, first_word = end, len(text.words)
            rows = zip(one.sentence.rows, one.sentence.heads, strict=True)
            for index, form, n_words in _tokens(one.sentence):
                piece = without_spaces(form)
                if not piece:
                    problem = ConlluProblem(name, one.first_line + index, one.sentence.sent_id, "FORM is only spaces")
                    raise ConlluError(problem)
                pieces.append(piece)
                text._add_token((end, end + len(piece)), piece, list(islice(rows, n_words)), first_word)
                text.token_lines.append(one.first_line + index)
                end += len(piece)
            text.located.append(one)
            text.sentences.append((start, end))
            text.sentence_words.append(slice(first_word, len(text.words)))
            text.several_roots += one.sentence.heads.count(0) > 1
        text.characters = "".join(pieces)
        return text

    def _add_token(
        self, span: tuple[int, int], form: str, rows: list[tuple[list[str], int | None]], first_word: int
    ) -> None:
        """Add a token with its words, whose heads count from `first_word`."""
        self.tokens.append(span)
        in_range = len(rows) > 1
        for row, head in rows:
            compared = (row[FORM] if in_range else form).lower()
            number = first_word + head - 1 if head else ROOT
            self.words.append(SpanWord(*span, in_range, compared, number, row, self.is_left_out(row)))


def check_complete(one: LocatedSentence, *, needs_xpos: bool) -> None:
    """Raise an error if a word has no head or, where punctuation goes by Penn tags, no XPOS."""
    one.check_parsed()
    if needs_xpos and "_" in (tags := one.sentence.column(XPOS)):
        word = tags.index("_")
        raise one.error(word, f"word {word + 1} has no XPOS; punctuation by Penn tag needs one for each gold word")


def _tokens(sentence: Sentence) -> Iterator[tuple[int, str, int]]:
    """The tokens of a sentence: the index of the line, FORM, and the number of words (1, or those of the range)."""
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
    """Raise an error that says where the characters differ, if they do."""
    if gold.characters == predicted.characters:
        return
    both = zip(gold.characters, predicted.characters)
    shorter = min(len(gold.characters), len(predicted.characters))
    offset = next((i for i, (character, other) in enumerate(both) if character != other), shorter)
    line, sent_id, found = _found_at(predicted, offset)
    gold_line, _, expected = _found_at(gold, offset)
    message = (
        f"the characters are {found}, in {gold.name}:{gold_line} they are {expected}; "
        "both files must have the same characters, spaces apart"
    )
    raise ConlluError(ConlluProblem(predicted.name, line, sent_id, message))


def _found_at(text: FileText, offset: int) -> tuple[int, str | None, str]:
    """The line and sent_id at this offset of a file, and its next characters."""
    if not text.tokens:
        return 1, None, "none"
    token = bisect_right(text.tokens, offset, key=lambda span: span[0]) - 1
    sentence = text.located[bisect_right(text.sentences, offset, key=lambda span: span[0]) - 1].sentence
    characters = repr(text.characters[offset : offset + 20]) if offset < len(text.characters) else "at an end"
    return text.token_lines[token], sentence.sent_id, characters


def align(gold: list[SpanWord], predicted: list[SpanWord]) -> list[tuple[int, int]]:
    """Pairs of gold and predicted words, as the official scorer finds them."""
    pairs = []
    g = p = 0
    while g < len(gold) and p < len(predicted):
        word, other = gold[g], predicted[p]
        if word.in_range or other.in_range:
            # A plain word that begins before the multiword token can have no partner any more: skip it.
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


def _region_end(gold: list[SpanWord], predicted: list[SpanWord], g: int, p: int, end: int) -> tuple[int, int]:
    """The ends of the region, starting at words g and p with a multiword token, that is aligned as a whole.

    The region reaches to the character `end`, or to the end of the last multiword token that begins inside it.
    """

    def inside(words: list[SpanWord], i: int) -> bool:
        return i < len(words) and (words[i].start < end if words[i].in_range else words[i].end <= end)

    while inside(gold, g) or inside(predicted, p):
        # In text order, gold first: a word that sticks out is taken if the other side continues after it.
        if g < len(gold) and (p == len(predicted) or gold[g].start <= predicted[p].start):
            word, g = gold[g], g + 1
        else:
            word, p = predicted[p], p + 1
        if word.in_range:
            end = max(end, word.end)
    return g, p


def _common_subsequence(forms: list[str], others: list[str]) -> Iterator[tuple[int, int]]:
    """The indices of a longest common subsequence; of several, the one found by skipping gold forms first."""
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
