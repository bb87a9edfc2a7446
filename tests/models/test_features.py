"""Features: the windows of a sentence."""

import io
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph2graph.models.features import OUTSIDE
from graph2graph.models.rows import sentence_rows
from graph2graph.treebank import conllu
from tiny_parsers import any_form, unparsed_text, wild

pytestmark = pytest.mark.usefixtures("one_thread")


@given(st.lists(any_form, min_size=1, max_size=60), st.integers(8, 40))
@settings(max_examples=40)
def test_windows(forms: list[str], max_positions: int) -> None:
    """Every word is represented once, in a window that holds all its pieces; what fits is one window, as ever."""
    parser = wild("sent-g2g", max_positions=24)
    [sentence] = conllu.read(io.StringIO(unparsed_text(forms)))
    with mock.patch.object(parser.featurizer, "max_positions", max_positions):
        features = parser.featurizer(sentence)
    with mock.patch.object(parser.featurizer, "max_positions", 10_000):
        whole = parser.featurizer(sentence)
    pieces = [parser.pieces.of(form)[: max_positions - 3] for form in forms]
    n_pieces = sum(map(len, pieces))
    assert features.is_long == (n_pieces + 3 > max_positions)
    if not features.is_long and n_pieces == sum(len(parser.pieces.of(form)) for form in forms):
        for ours, theirs in zip(vars(features.windows[0]).values(), vars(whole.windows[0]).values(), strict=True):
            assert np.array_equal(ours, theirs)
    assert features.window_of[0] == 0
    assert features.n_pieces == sum(len(row.tokens) for row in features.windows)
    for row in features.windows:
        assert len(row.tokens) <= max_positions
        assert (row.tokens[0], row.tokens[1], row.tokens[-1]) == (
            parser.pieces.cls,
            parser.pieces.mask,
            parser.pieces.sep,
        )
        assert row.columns[0] == 1
    for word, its_pieces in enumerate(pieces, 1):
        row = features.windows[features.window_of[word]]
        begin = row.columns[word]
        assert begin != OUTSIDE
        assert row.tokens[begin : begin + len(its_pieces)].tolist() == its_pieces
        inner = row.inner[row.inner_heads == begin]
        assert inner.tolist() == list(range(begin + 1, begin + len(its_pieces)))
    given = sentence_rows([features], len(forms) + 1)
    places = given.node_tokens[0, 1:]
    assert len(set(places.tolist())) == len(forms)
    assert given.tokens[places].tolist() == [its_pieces[0] for its_pieces in pieces]
