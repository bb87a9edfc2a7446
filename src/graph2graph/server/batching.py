"""Sentences of concurrent requests are parsed together, in batches.

One thread runs the models. While it parses a batch, new requests wait in a queue; the next batch takes as many of their
sentences as its limit of words allows. A request larger than a batch is parsed in parts, and goes to the end of the queue
after each. A request that arrives alone waits a few milliseconds for others.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

from graph2graph.decoding.options import ParseOptions
from graph2graph.parser.parser import Parser
from graph2graph.server.limits import Limits, RequestRefused
from graph2graph.server.metrics import ServerMetrics
from graph2graph.treebank.sentence import Sentence

T = TypeVar("T")
WAITING_SHARE = 0.1  # waiting for a batch to fill takes at most this share of the last batch's duration
SMOOTHING = 0.2  # weight of the newest batch in the average speed


class PendingRequest:
    """The sentences of one request: those still to be parsed, and the trees so far."""

    def __init__(self, sentences: Sequence[Sentence], parser: Parser, options: ParseOptions) -> None:
        self.parser, self.options = parser, options
        self.waiting = list(reversed(sentences))
        self.n_waiting = sum(map(len, sentences))  # words
        self.trees: list[Sentence] = []
        self.future: asyncio.Future[list[Sentence]] = asyncio.get_running_loop().create_future()

    def take(self, n_words: int) -> list[Sentence]:
        """Remove and return the next sentences: up to `n_words` words, but at least one sentence."""
        taken: list[Sentence] = []
        while self.waiting and (not taken or len(self.waiting[-1]) <= n_words):
            taken.append(self.waiting.pop())
            n_words -= len(taken[-1])
        self.n_waiting -= sum(map(len, taken))
        return taken


Batch = list[tuple[PendingRequest, list[Sentence]]]
Outcome = list[Sentence] | Exception


class Batcher:
    """The queue, and the thread that parses the sentences in it."""

    def __init__(self, limits: Limits, metrics: ServerMetrics) -> None:
        self.limits, self.metrics = limits, metrics
        self.queue: list[PendingRequest] = []
        self.words_per_second = 1_000.0  # of recent batches
        self.last_seconds = 0.0  # duration of the last batch
        self.n_expected = 0  # requests in the queue if every client just answered asks again
        self._arrival = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        metrics.watch("g2g_queue_words", "Words in the queue.", lambda: self.n_waiting)
        metrics.watch("g2g_queue_requests", "Requests in the queue.", lambda: len(self.queue))

    @property
    def n_waiting(self) -> int:
        """Words in the queue."""
        return sum(request.n_waiting for request in self.queue)

    async def parse(self, sentences: Sequence[Sentence], parser: Parser, options: ParseOptions) -> list[Sentence]:
        """The sentences with their trees. If the caller is cancelled, the rest of its sentences are dropped."""
        if not sentences:
            return []
        if (waiting := self.n_waiting) >= self.limits.queue:
            seconds = min(60, max(1, round(waiting / self.words_per_second)))
            raise RequestRefused(429, f"{waiting} words wait already; try again in {seconds} s", retry_after=seconds)
        request = PendingRequest(sentences, parser, options)
        self.queue.append(request)
        self._arrival.set()
        try:
            return await request.future
        finally:
            if request in self.queue:
                self.queue.remove(request)

    async def call(self, function: Callable[[], T]) -> T:
        """The result of a function, run in the models' thread after the current batch."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    async def run(self) -> None:
        """Worker loop: parse queued requests until cancelled."""
        while True:
            await self._arrival.wait()
            if self.queue:
                await self._wait_for_more()
            if not self.queue:  # nothing is left, or its clients have left
                self._arrival.clear()
                continue
            batch = self._next_batch()
            begin = time.monotonic()
            outcomes = await self.call(lambda batch=batch: list(_parse_batch(batch)))  # type: ignore[misc]
            self._record(batch, outcomes, time.monotonic() - begin)
            for (request, _), outcome in zip(batch, outcomes, strict=True):
                _settle(request, outcome)
            self.n_expected = len(self.queue) + sum(request.future.done() for request, _ in batch)

    def stop(self) -> None:
        """End the thread after its current batch."""
        self._thread.shutdown(cancel_futures=True)

    async def _wait_for_more(self) -> None:
        """Wait for other requests: until the batch is full, time is up, or all expected ones are here and none follows."""
        deadline = time.monotonic() + max(self.limits.wait, WAITING_SHARE * self.last_seconds)
        while self.n_waiting < self.limits.batch and (left := deadline - time.monotonic()) > 0:
            self._arrival.clear()
            try:
                are_all_here = len(self.queue) >= self.n_expected
                await asyncio.wait_for(self._arrival.wait(), min(self.limits.wait, left) if are_all_here else left)
            except TimeoutError:
                self._arrival.set()
                return

    def _next_batch(self) -> Batch:
        """Take sentences of the first request and of those with its parser and options; what is left goes to the end."""
        n_words, batch, first = self.limits.batch, Batch(), self.queue[0]
        for request in self.queue.copy():
            if request.parser is not first.parser or request.options != first.options:
                continue
            if n_words <= 0 and batch:
                break
            taken = request.take(n_words)
            n_words -= sum(map(len, taken))
            batch.append((request, taken))
            self.queue.remove(request)
            if request.waiting:
                self.queue.append(request)
        return batch

    def _record(self, batch: Batch, outcomes: list[Outcome], seconds: float) -> None:
        """Count a batch and the trees in its outcomes, and update the average speed."""
        sentences = [sentence for _, taken in batch for sentence in taken]
        trees = [tree for outcome in outcomes if not isinstance(outcome, Exception) for tree in outcome]
        n_words = sum(map(len, sentences))
        self.last_seconds = seconds
        self.words_per_second += SMOOTHING * (n_words / max(seconds, 1e-6) - self.words_per_second)
        self.metrics.sentences.inc(len(trees))
        self.metrics.words.inc(sum(map(len, trees)))
        self.metrics.batch_seconds.observe(seconds)
        self.metrics.batch_requests.observe(len(batch))
        self.metrics.batch_sentences.observe(len(sentences))
        self.metrics.batch_words.observe(n_words)


def _parse_batch(batch: Batch) -> Iterator[Outcome]:
    """The trees of each request in a batch; if parsing fails, each is parsed alone and only the cause gets the error."""
    first, sentences = batch[0][0], chain.from_iterable(taken for _, taken in batch)
    try:
        trees = iter(list(first.parser.parse(sentences, first.options)))
    except Exception as error:
        if len(batch) == 1:
            yield error
        else:
            yield from chain.from_iterable(_parse_batch([one]) for one in batch)
        return
    for _, taken in batch:
        yield list(islice(trees, len(taken)))


def _settle(request: PendingRequest, outcome: Outcome) -> None:
    """Give a request its error, or its trees once all sentences are parsed."""
    if request.future.done():  # its client has left
        return
    if isinstance(outcome, Exception):
        request.future.set_exception(outcome)
        return
    request.trees += outcome
    if not request.waiting:
        request.future.set_result(request.trees)
