"""A sentence as the models see it: numbers for its pieces, words and tags. Prepared once, used at every step."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from graph2graph.arrays import BoolArray, IntArray
from graph2graph.encoder.pieces import Pieces
from graph2graph.treebank import conllu

OUTSIDE = -1  # the column of a node that is not in the row


@dataclass(frozen=True)
class Row:
    """One input row of the sentence models: CLS, ROOT, all pieces of some words, SEP."""

    tokens: IntArray  # [length] piece ids; ROOT's is the mask's, and replaced by its own vector
    tags: IntArray  # [length] of each word's first piece, else 0
    columns: IntArray  # [n + 1] where each node's first piece stands, OUTSIDE if it is not in this row
    inner: IntArray  # the columns of further pieces
    inner_heads: IntArray  # the columns of the first pieces they depend on


@dataclass(frozen=True)
class Features:
    """A sentence: the first piece and the tag of each node, and the rows it takes in a sentence model.

    There is one row, unless the sentence is longer than the encoder: then windows that overlap by half, and each word is
    represented by its place in the window where it stands most in the middle.
    """

    pieces: IntArray  # [n + 1] first piece of each node
    tags: IntArray  # [n + 1]
    rows: list[Row]
    row_of: IntArray  # [n + 1] the row that represents each node, OUTSIDE if none does
    n_pieces: int = field(default=0)  # in all rows, CLS, ROOT and SEP counted

    @property
    def n_words(self) -> int:
        """The number of words."""
        return len(self.pieces) - 1

    @property
    def is_long(self) -> bool:
        """Whether the sentence does not fit the encoder."""
        return len(self.rows) > 1

    def around(self, nodes: Sequence[int]) -> "Features":
        """The sentence cut down to the rows that hold any of these nodes; what they do not represent has no row.

        An arc changes the input of the rows that hold its dependent and no others: it adds a label and a relation to that.
        """
        kept = np.array([(row.columns[nodes] != OUTSIDE).any() for row in self.rows])
        numbers = np.where(kept, np.cumsum(kept) - 1, OUTSIDE)
        rows = [row for row, keep in zip(self.rows, kept, strict=True) if keep]
        return replace(self, rows=rows, row_of=numbers[self.row_of], n_pieces=sum(len(row.tokens) for row in rows))

    def without_tags(self) -> "Features":
        """The same sentence as if it had no tags."""
        rows = [replace(row, tags=np.zeros_like(row.tags)) for row in self.rows]
        return replace(self, tags=np.zeros_like(self.tags), rows=rows)

    def masked(self, words: BoolArray, mask: int) -> "Features":
        """The same sentence with all pieces of some nodes, [n + 1], replaced by the mask."""
        rows = []
        for row in self.rows:
            tokens, is_there = row.tokens.copy(), words & (row.columns != OUTSIDE)
            is_hidden = np.zeros(len(tokens), dtype=np.bool_)
            is_hidden[row.columns[is_there]] = True
            is_hidden[row.inner] = is_hidden[row.inner_heads]
            tokens[is_hidden] = mask
            rows.append(replace(row, tokens=tokens))
        return replace(self, pieces=np.where(words, mask, self.pieces), rows=rows)


class Featurizer:
    """Sentences -> features, for a model's pieces, tags and greatest length."""

    def __init__(self, pieces: Pieces, tags: Sequence[str], *, tag_column: int | None, max_positions: int) -> None:
        self.pieces = pieces
        self.tag_ids = {tag: number for number, tag in enumerate(tags, 1)}  # 0: none, or unknown
        self.tag_column = tag_column
        self.max_positions = max_positions

    def __call__(self, sentence: conllu.Sentence) -> Features:
        """The features of one sentence."""
        room = self.max_positions - 3  # for CLS, ROOT and SEP
        of_words = [self.pieces.of(row[conllu.FORM])[:room] for row in sentence.rows]
        tags = np.zeros(len(of_words) + 1, dtype=np.int64)
        if self.tag_column is not None:
            tags[1:] = [self.tag_ids.get(row[self.tag_column], 0) for row in sentence.rows]
        sizes = np.array([len(pieces) for pieces in of_words], dtype=np.int64)
        windows = _windows(sizes, room)
        rows = [self._row(of_words, tags, sizes, first, last) for first, last in windows]
        middles = np.array([(first + last - 1) / 2 for first, last in windows])
        words = np.arange(len(of_words))
        inside = np.array([(words >= first) & (words < last) for first, last in windows])
        distance = np.where(inside, np.abs(words - middles[:, None]), np.inf)
        row_of = np.concatenate([[0], distance.argmin(axis=0)]).astype(np.int64)
        first_pieces = np.array([self.pieces.mask] + [pieces[0] for pieces in of_words], dtype=np.int64)
        return Features(first_pieces, tags, rows, row_of, sum(len(row.tokens) for row in rows))

    def _row(self, of_words: list[list[int]], tags: IntArray, sizes: IntArray, first: int, last: int) -> Row:
        flat = [piece for pieces in of_words[first:last] for piece in pieces]
        tokens = np.array([self.pieces.cls, self.pieces.mask, *flat, self.pieces.sep], dtype=np.int64)
        starts = 2 + np.cumsum(sizes[first:last]) - sizes[first:last]
        columns = np.full(len(of_words) + 1, OUTSIDE, dtype=np.int64)
        columns[0] = 1
        columns[first + 1 : last + 1] = starts
        heads = np.repeat(starts, sizes[first:last])
        places = np.arange(2, 2 + len(flat))
        inner = places != heads
        row_tags = np.zeros(len(tokens), dtype=np.int64)
        row_tags[starts] = tags[first + 1 : last + 1]
        return Row(tokens, row_tags, columns, places[inner], heads[inner])


def _windows(sizes: IntArray, room: int) -> list[tuple[int, int]]:
    """Ranges of words whose pieces fit the room; each starts in the middle of the one before."""
    ends = np.cumsum(sizes)
    if ends[-1] <= room:
        return [(0, len(sizes))]
    windows: list[tuple[int, int]] = []
    first = 0
    while True:
        begin = int(ends[first] - sizes[first])
        last = max(int(np.searchsorted(ends, begin + room, side="right")), first + 1)
        windows.append((first, last))
        if last == len(sizes):
            return windows
        first = min(max(int(np.searchsorted(ends, begin + room // 2, side="right")), first + 1), last)
