"""Parsing a stream in windows, in which sentences of similar length share batches; trees come in the order of the stream."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from graph2graph.models.features import Features, Words
from graph2graph.parser import allocation
from graph2graph.treebank.sentence import Sentence

WINDOW = 1024  # sentences

T = TypeVar("T")
DecodeBatch = Callable[[list[Sentence], list[Features | Words]], Iterable[T]]


class Windows:
    """Cuts streams of sentences into windows, and returns freed memory to the system every `WINDOW` sentences."""

    def __init__(self) -> None:
        self._n_since_return = 0  # sentences, over all streams

    def decode(
        self,
        sentences: Iterable[Sentence],
        featurize: Callable[[Sentence], Features | Words],
        decode_batch: DecodeBatch[T],
        *,
        batch_pieces: int,
    ) -> Iterator[T]:
        """Yield the result of each sentence, in order; batches hold up to `batch_pieces` pieces, padding counted.

        Long sentences, of which `featurize` gives the words only, have batches of their own.
        """
        stream = iter(sentences)
        is_long = False  # a long stream also returns the memory of its last window, which may not be full
        while window := list(islice(stream, WINDOW)):
            features = [featurize(sentence) for sentence in window]
            results: dict[int, T] = {}
            for kind in dict.fromkeys(map(type, features)):
                indices = [index for index, one in enumerate(features) if type(one) is kind]
                for batch in batches([features[index].n_pieces for index in indices], batch_pieces):
                    chosen = [indices[index] for index in batch]
                    found = decode_batch([window[index] for index in chosen], [features[index] for index in chosen])
                    results |= zip(chosen, found, strict=True)
            is_long |= len(window) == WINDOW
            self._n_since_return += len(window)
            if is_long or self._n_since_return >= WINDOW:
                self._n_since_return = 0
                allocation.return_freed()
            yield from (results[index] for index in range(len(window)))


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield the indices of items of similar length; a batch, padded to its longest, keeps to the budget or has one item."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):  # so each item is the longest so far
        if batch and lengths[index] * (len(batch) + 1) > budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
