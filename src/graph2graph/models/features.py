"""A sentence as the models see it: the ids of its pieces and tags. Computed once, used at every step.

Shapes: n words, so n + 1 nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from graph2graph.arrays import BoolArray, IntArray
from graph2graph.encoder.pieces import Pieces
from graph2graph.treebank.sentence import FORM, Sentence

OUTSIDE = -1  # the column of a node that is not in the window


@dataclass(frozen=True)
class Window:
    """A row of a sentence model: CLS, ROOT, all pieces of some words, SEP."""

    tokens: IntArray  # [length] piece ids; ROOT has the mask piece, whose embedding is replaced
    tags: IntArray  # [length] of first pieces, else 0
    columns: IntArray  # [n + 1] of each node's first piece, OUTSIDE if it is not in this window
    inner: IntArray  # the columns of further pieces
    inner_heads: IntArray  # the columns of their first pieces


@dataclass(frozen=True)
class Features:
    """A sentence: the first piece and the tag of each node, and its windows for a sentence model.

    A sentence that fits the encoder has one window. In training, a longer one has windows that overlap by half; the window with
    its middle nearest to a word represents it. When it is parsed, `decoding.long_sentences` takes it part by part.
    """

    pieces: IntArray  # [n + 1] first piece of each node
    tags: IntArray  # [n + 1]
    windows: list[Window]
    window_of: IntArray  # [n + 1] the window that represents each node

    @property
    def n_words(self) -> int:
        """The number of words."""
        return len(self.pieces) - 1

    @property
    def n_pieces(self) -> int:
        """The length of all windows together."""
        return sum(len(window.tokens) for window in self.windows)

    @property
    def is_long(self) -> bool:
        """Whether the sentence does not fit the encoder."""
        return len(self.windows) > 1

    def without_tags(self) -> "Features":
        """The same sentence without tags."""
        windows = [replace(window, tags=np.zeros_like(window.tags)) for window in self.windows]
        return replace(self, tags=np.zeros_like(self.tags), windows=windows)

    def masked(self, words: BoolArray, mask: int) -> "Features":
        """The same sentence with all pieces of some nodes, [n + 1], replaced by the mask piece."""
        windows = []
        for window in self.windows:
            tokens = window.tokens.copy()
            is_masked = np.zeros(len(tokens), dtype=np.bool_)
            is_masked[window.columns[words & (window.columns != OUTSIDE)]] = True
            is_masked[window.inner] = is_masked[window.inner_heads]
            tokens[is_masked] = mask
            windows.append(replace(window, tokens=tokens))
        return replace(self, pieces=np.where(words, mask, self.pieces), windows=windows)


@dataclass(frozen=True)
class Words:
    """The pieces and tags of a sentence's words, from which the features of all or some of them are made."""

    featurizer: "Featurizer"
    pieces: list[list[int]]  # of words 1..n
    tags: IntArray  # [n + 1]

    @property
    def n_words(self) -> int:
        """The number of words."""
        return len(self.pieces)

    @property
    def n_pieces(self) -> int:
        """The pieces of all words together."""
        return sum(map(len, self.pieces))

    def without_tags(self) -> "Words":
        """The same words without tags."""
        return replace(self, tags=np.zeros_like(self.tags))

    def part(self, words: Sequence[int], most_pieces: int) -> Features:
        """The features of some words, as if there were no others; of a word only its first pieces are taken."""
        pieces = [self.pieces[word - 1][:most_pieces] for word in words]
        return self.featurizer.features(replace(self, pieces=pieces, tags=self.tags[[0, *words]]))


class Featurizer:
    """Computes the features of sentences, with a model's pieces, tags and number of positions."""

    def __init__(self, pieces: Pieces, tags: Sequence[str], *, tag_column: int | None, max_positions: int) -> None:
        self.pieces = pieces
        self.tag_ids = {tag: number for number, tag in enumerate(tags, 1)}  # 0: absent or unknown
        self.tag_column = tag_column
        self.max_positions = max_positions

    def __call__(self, sentence: Sentence) -> Features:
        """The features of one sentence."""
        return self.features(self.words(sentence))

    def words(self, sentence: Sentence) -> Words:
        """The pieces and tags of its words."""
        room = self.max_positions - 3  # for CLS, ROOT and SEP
        pieces = [self.pieces.of(row[FORM])[:room] for row in sentence.rows]
        tags = np.zeros(len(pieces) + 1, dtype=np.int64)
        if self.tag_column is not None:
            tags[1:] = [self.tag_ids.get(row[self.tag_column], 0) for row in sentence.rows]
        return Words(self, pieces, tags)

    def features(self, words: Words) -> Features:
        """The features of a sentence with these words."""
        of_words, tags, room = words.pieces, words.tags, self.max_positions - 3
        sizes = np.array([len(pieces) for pieces in of_words], dtype=np.int64)
        spans = _spans(sizes, room)
        windows = [self._window(of_words, tags, sizes, first, last) for first, last in spans]
        first_pieces = np.array([self.pieces.mask] + [pieces[0] for pieces in of_words], dtype=np.int64)
        return Features(first_pieces, tags, windows, _window_of(len(of_words), spans))

    def _window(self, of_words: list[list[int]], tags: IntArray, sizes: IntArray, first: int, last: int) -> Window:
        pieces = [piece for pieces in of_words[first:last] for piece in pieces]
        tokens = np.array([self.pieces.cls, self.pieces.mask, *pieces, self.pieces.sep], dtype=np.int64)
        starts = 2 + np.cumsum(sizes[first:last]) - sizes[first:last]  # the column of each word's first piece
        columns = np.full(len(of_words) + 1, OUTSIDE, dtype=np.int64)
        columns[0] = 1
        columns[first + 1 : last + 1] = starts
        heads = np.repeat(starts, sizes[first:last])
        of_pieces = np.arange(2, 2 + len(pieces))
        is_inner = of_pieces != heads
        window_tags = np.zeros(len(tokens), dtype=np.int64)
        window_tags[starts] = tags[first + 1 : last + 1]
        return Window(tokens, window_tags, columns, of_pieces[is_inner], heads[is_inner])


def _spans(sizes: IntArray, room: int) -> list[tuple[int, int]]:
    """Ranges of words whose pieces fit the room; each starts in the middle of the one before."""
    ends = np.cumsum(sizes)
    if ends[-1] <= room:
        return [(0, len(sizes))]
    spans: list[tuple[int, int]] = []
    first = 0
    while True:
        begin = int(ends[first] - sizes[first])
        last = max(int(np.searchsorted(ends, begin + room, side="right")), first + 1)
        spans.append((first, last))
        if last == len(sizes):
            return spans
        first = min(max(int(np.searchsorted(ends, begin + room // 2, side="right")), first + 1), last)


def _window_of(n_words: int, spans: list[tuple[int, int]]) -> IntArray:
    """The window that represents each node, [n + 1]: of those that hold it, the one whose middle is nearest; ROOT's is 0."""
    if len(spans) == 1:
        return np.zeros(n_words + 1, dtype=np.int64)
    words = np.arange(n_words)
    is_inside = np.array([(words >= first) & (words < last) for first, last in spans])  # [windows, n]
    middles = np.array([(first + last - 1) / 2 for first, last in spans])
    distance = np.where(is_inside, np.abs(words - middles[:, None]), np.inf)
    return np.concatenate([[0], distance.argmin(axis=0)]).astype(np.int64)
