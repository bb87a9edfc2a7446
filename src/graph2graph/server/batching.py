"""Requests that arrive together are parsed together.

One thread runs the models. While it parses a batch, the sentences of new requests wait; the next batch takes from as many of
them as its budget of words has room for. A request that is larger than that gives a part of its sentences to each of several
batches and stands behind the others in between. Nobody waits long for company: a request that is alone goes after a few ms.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import NamedTuple, TypeVar

from graph2graph.parser.parser import Parser
from graph2graph.server.limits import Limits, Refused
from graph2graph.server.metrics import Metrics
from graph2graph.treebank.conllu import Sentence

T = TypeVar("T")
PATIENCE = 0.1  # of the time of a batch may go by before the next


class How(NamedTuple):
    """How to parse; sentences for which this is the same are parsed together."""

    parser: Parser
    reencode: float | None = None
    keep_arcs: bool = False
    probabilities: bool = False
    tags: bool = True


class Job:
    """The sentences of one request: those that wait, and those that are done."""

    def __init__(self, sentences: Sequence[Sentence], how: How) -> None:
        self.how = how
        self.waiting = list(reversed(sentences))
        self.n_words = sum(map(len, sentences))  # that wait
        self.parsed: list[Sentence] = []
        self.future: asyncio.Future[list[Sentence]] = asyncio.get_running_loop().create_future()

    def take(self, room: int) -> list[Sentence]:
        """The next sentences, as many as there is room for, and one at least."""
        taken: list[Sentence] = []
        while self.waiting and (not taken or len(self.waiting[-1]) <= room):
            taken.append(self.waiting.pop())
            room -= len(taken[-1])
        self.n_words -= sum(map(len, taken))
        return taken


class Batcher:
    """The queue, and the thread that parses what is in it."""

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self.limits, self.metrics = limits, metrics
        self.jobs: list[Job] = []
        self.pace = 1_000.0  # words a second, as it was lately
        self.last_seconds = 0.0  # that a batch took
        self.n_expected = 0  # requests, if all that were just answered come again
        self._arrived = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        metrics.watch("g2g_queue_words", "Words that wait.", lambda: self.n_waiting)
        metrics.watch("g2g_queue_requests", "Requests that wait.", lambda: len(self.jobs))

    @property
    def n_waiting(self) -> int:
        """Words that wait."""
        return sum(job.n_words for job in self.jobs)

    async def parse(self, sentences: Sequence[Sentence], how: How) -> list[Sentence]:
        """The sentences with their trees. If the caller is cancelled, what of them still waits is not parsed."""
        if not sentences:
            return []
        if (waiting := self.n_waiting) >= self.limits.queue:
            seconds = min(60, max(1, round(waiting / self.pace)))
            raise Refused(429, f"{waiting} words wait already; try again in {seconds} s", retry_after=seconds)
        job = Job(sentences, how)
        self.jobs.append(job)
        self._arrived.set()
        try:
            return await job.future
        finally:
            if job in self.jobs:
                self.jobs.remove(job)

    async def call(self, function: Callable[[], T]) -> T:
        """The result of a function, run by the thread of the models when the batch it is at is done."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    async def run(self) -> None:
        """Parse whatever comes, for ever."""
        while True:
            await self._arrived.wait()
            if self.jobs:
                await self._company()
            if not self.jobs:  # or all have gone away
                self._arrived.clear()
                continue
            batch = self._next_batch()
            begin = time.monotonic()
            outcomes = await self.call(lambda batch=batch: list(_outcomes(batch)))  # type: ignore[misc]
            self._note(batch, time.monotonic() - begin)
            for (job, _), outcome in zip(batch, outcomes, strict=True):
                self._settle(job, outcome)
            self.n_expected = len(self.jobs) + sum(job.future.done() for job, _ in batch)

    def stop(self) -> None:
        """End the thread; what it is at is finished first."""
        self._thread.shutdown(cancel_futures=True)

    async def _company(self) -> None:
        """Give others a moment to join: until the batch is full, none has come for a few ms, or that has gone on too long.

        Clients that were just answered ask again, one after the other; it pays to wait for them all, as long as that takes
        little of the time that parsing takes.
        """
        until = time.monotonic() + max(self.limits.wait, PATIENCE * self.last_seconds)
        while self.n_waiting < self.limits.batch and (left := until - time.monotonic()) > 0:
            self._arrived.clear()
            try:
                is_enough = len(self.jobs) >= self.n_expected
                await asyncio.wait_for(self._arrived.wait(), min(self.limits.wait, left) if is_enough else left)
            except TimeoutError:
                self._arrived.set()
                return

    def _next_batch(self) -> list[tuple[Job, list[Sentence]]]:
        """From the first request and those that can be parsed with it; what has more to give moves to the end."""
        room, batch = self.limits.batch, list[tuple[Job, list[Sentence]]]()
        for job in [job for job in self.jobs if job.how == self.jobs[0].how]:
            if room <= 0 and batch:
                break
            taken = job.take(room)
            room -= sum(map(len, taken))
            batch.append((job, taken))
            self.jobs.remove(job)
            if job.waiting:
                self.jobs.append(job)
        return batch

    def _settle(self, job: Job, outcome: list[Sentence] | Exception) -> None:
        """Hand a request what was parsed for it, once all is there, or what went wrong."""
        if job.future.done():  # gone away
            return
        if isinstance(outcome, Exception):
            job.future.set_exception(outcome)
            return
        job.parsed += outcome
        if not job.waiting:
            job.future.set_result(job.parsed)

    def _note(self, batch: list[tuple[Job, list[Sentence]]], seconds: float) -> None:
        n_sentences, n_words = sum(len(some) for _, some in batch), sum(len(one) for _, some in batch for one in some)
        self.last_seconds = seconds
        self.pace += 0.2 * (n_words / max(seconds, 1e-6) - self.pace)
        self.metrics.sentences.add(n_sentences)
        self.metrics.words.add(n_words)
        self.metrics.batch_seconds.observe(seconds)
        self.metrics.batch_requests.observe(len(batch))
        self.metrics.batch_sentences.observe(n_sentences)
        self.metrics.batch_words.observe(n_words)


def _outcomes(batch: Sequence[tuple[Job, list[Sentence]]]) -> Iterator[list[Sentence] | Exception]:
    """The trees of each request in a batch; where something is wrong, each is tried alone, so that the others get theirs."""
    how = batch[0][0].how
    try:
        options = how._asdict()
        parser: Parser = options.pop("parser")
        trees = iter(list(parser.parse(chain.from_iterable(taken for _, taken in batch), **options)))
    except Exception as error:
        if len(batch) == 1:
            yield error
        else:
            yield from chain.from_iterable(_outcomes([one]) for one in batch)
        return
    for _, taken in batch:
        yield list(islice(trees, len(taken)))
