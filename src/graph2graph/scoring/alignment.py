"""Files with the same characters and other words: what of one is what of the other, as the official scorer has it."""

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from graph2graph.errors import DataError
from graph2graph.treebank.conllu import FORM, XPOS, Problem, Sentence

ROOT = -1  # as the head of a word, where words are numbered through the file


class Place(NamedTuple):
    """A sentence, and where it stands, for errors."""

    sentence: Sentence
    source: str
    first_line: int

    def line(self, word: int) -> int:
        """The line of a word, counted from 0."""
        return self.first_line + self.sentence.row_lines[word]

    def error(self, word: int, message: str) -> DataError:
        """What is wrong with a word."""
        return DataError(str(Problem(self.source, self.line(word), self.sentence.sent_id, message)))

    def check_complete(self, *, with_tags: bool) -> None:
        """Every word needs a head, and in gold files a Penn tag where these say what is punctuation."""
        if None in self.sentence.heads:
            word = self.sentence.heads.index(None)
            raise self.error(word, f"word {word + 1} has no head; expected a parsed file")
        if with_tags and "_" in (tags := self.sentence.column(XPOS)):
            word = tags.index("_")
            raise self.error(word, f"word {word + 1} has no XPOS; punctuation by Penn tag needs one for each gold word")


def places(sentences: Iterable[Sentence], source: str) -> Iterator[Place]:
    """The sentences of a file, each with the line where it begins."""
    first_line = 1
    for sentence in sentences:
        yield Place(sentence, source, first_line)
        first_line += len(sentence.lines)


@lru_cache(maxsize=65536)
def without_spaces(form: str) -> str:
    """A form as it is compared."""
    return "".join(character for character in form if unicodedata.category(character) != "Zs")


class Word(NamedTuple):
    """A word as a span of the file's characters; one in a multiword token has the span of the token."""

    start: int
    end: int
    in_range: bool
    form: str  # as compared in multiword tokens, where the case does not matter
    head: int  # numbered through the file
    row: Sequence[str]  # its columns
    left_out: bool


@dataclass(slots=True)
class Text:
    """A file as one run of characters without spaces, of which tokens, words and sentences are spans."""

    name: str
    places: list[Place] = field(default_factory=list)
    characters: str = ""
    tokens: list[tuple[int, int]] = field(default_factory=list)
    token_lines: list[int] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    sentences: list[tuple[int, int]] = field(default_factory=list)
    sentence_words: list[slice] = field(default_factory=list)
    several_roots: int = 0

    @classmethod
    def of(
        cls, sentences: Iterable[Sentence], name: str, *, left_out: Callable[[Sequence[str]], bool], with_tags: bool
    ) -> "Text":
        """The text of these sentences; `left_out` tells the words that do not count from their columns."""
        text = cls(name)
        pieces: list[str] = []
        end = 0
        for place in places(sentences, name):
            place.check_complete(with_tags=with_tags)
            sentence = place.sentence
            sentence_start, first_word = end, len(text.words)
            rows = zip(sentence.rows, sentence.heads, strict=True)
            for index, form, n_words in _tokens(sentence):
                line = place.first_line + index
                pieces.append(without_spaces(form))
                if not pieces[-1]:
                    raise DataError(str(Problem(name, line, sentence.sent_id, "FORM is nothing but spaces")))
                start, end = end, end + len(pieces[-1])
                text.tokens.append((start, end))
                text.token_lines.append(line)
                for row, head in islice(rows, n_words):
                    text.words.append(
                        Word(
                            start,
                            end,
                            in_range=n_words > 1,
                            form=(row[FORM] if n_words > 1 else pieces[-1]).lower(),
                            head=first_word + head - 1 if head else ROOT,
                            row=row,
                            left_out=left_out(row),
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


def check_characters(gold: Text, predicted: Text) -> None:
    """Both must have the same; the error says where they differ."""
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


def _found_at(text: Text, offset: int) -> tuple[int, str | None, str]:
    """What a file has at this offset: the line, the sent_id and the next characters."""
    if not text.tokens:
        return 1, None, "none"
    token = bisect_right(text.tokens, offset, key=lambda span: span[0]) - 1
    sentence = text.places[bisect_right(text.sentences, offset, key=lambda span: span[0]) - 1].sentence
    characters = repr(text.characters[offset : offset + 20]) if offset < len(text.characters) else "at an end"
    return text.token_lines[token], sentence.sent_id, characters


def align(gold: list[Word], predicted: list[Word]) -> list[tuple[int, int]]:
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


def _region_end(gold: list[Word], predicted: list[Word], g: int, p: int, end: int) -> tuple[int, int]:
    """Where the region that has to be aligned as a whole ends, which begins at words g and p with a multiword token.

    It reaches to `end`, or to the end of the last multiword token that begins inside.
    """

    def inside(words: list[Word], i: int) -> bool:
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
