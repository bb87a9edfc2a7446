"""Streams are parsed in windows, and leave in the order in which they came."""

from collections.abc import Iterator
from itertools import count, islice, pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph2graph.models.features import Features
from graph2graph.parser import allocation
from graph2graph.parser.windows import WINDOW, Windows, batches
from graph2graph.treebank.sentence import Sentence


@given(lengths=st.lists(st.integers(1, 50), max_size=40), budget=st.integers(1, 200))
def test_batches_keep_to_the_budget(lengths: list[int], budget: int) -> None:
    found = list(batches(lengths, budget))
    assert sorted(index for batch in found for index in batch) == list(range(len(lengths)))
    in_order = [lengths[index] for batch in found for index in batch]
    assert in_order == sorted(lengths)
    for batch in found:
        assert len(batch) == 1 or len(batch) * max(lengths[index] for index in batch) <= budget
    for batch, following in pairwise(found):
        assert (len(batch) + 1) * lengths[following[0]] > budget  # none could have been larger


def parse(stream: Iterator[int], state: Windows) -> Iterator[int]:
    """Send numbers through the windows as if they were sentences; the result of n is -n."""

    def featurize(number: Sentence) -> Features:
        return cast(Any, SimpleNamespace(n_pieces=1 + hash(number) % 7))

    return state.decode(cast(Any, stream), featurize, lambda batch, _: [-n for n in cast(Any, batch)], batch_pieces=20)


@pytest.mark.parametrize("size", [0, 1, WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW + 5])
def test_results_come_in_order(size: int) -> None:
    assert list(parse(iter(range(size)), Windows())) == [-n for n in range(size)]


def test_an_endless_stream_is_read_a_window_at_a_time() -> None:
    stream = count()
    assert list(islice(parse(stream, Windows()), 3)) == [0, -1, -2]
    assert next(stream) == WINDOW


def test_memory_is_returned_once_in_a_window_of_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    returned: list[None] = []
    monkeypatch.setattr(allocation, "return_freed", lambda: returned.append(None))
    state = Windows()
    for size, expected in ((WINDOW - 1, 0), (1, 1), (WINDOW // 2, 1), (WINDOW // 2, 2), (3 * WINDOW + 1, 6), (1, 6)):
        list(parse(iter(range(size)), state))
        assert len(returned) == expected, size
