"""What all requests share: the models, the limits, the threads and the counters."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from graph2graph.server.batching import Batcher
from graph2graph.server.limits import Limits
from graph2graph.server.metrics import ServerMetrics
from graph2graph.server.models import ServedModels

T = TypeVar("T")
SHORT = 4_000  # characters; for shorter data, switching threads would take longer than the work itself


class Service:
    """One running server.

    Two threads read requests and write answers, so that a long text does not delay a short one. More would not be faster,
    because UDPipe and Python hold the interpreter lock.
    """

    def __init__(self, models: ServedModels, limits: Limits) -> None:
        self.models, self.limits, self.metrics = models, limits, ServerMetrics()
        self.batcher = Batcher(limits, self.metrics)
        self.is_stopping = False
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="text")

    async def read(self, work: Callable[[], T], n_characters: int, *, uses_udpipe: bool) -> T:
        """The result of reading the data of a request.

        UDPipe and the parser compete for the interpreter lock and slow each other down. A short text is therefore split and
        tagged between two batches; a long one would delay the next batch, so it is read in parallel.
        """
        if uses_udpipe and n_characters <= SHORT:
            return await self.batcher.call(work)
        return await self.run(work, None if uses_udpipe else n_characters)

    async def run(self, work: Callable[[], T], n_characters: int | None = None) -> T:
        """The result of a function, called in a thread, or directly if its data are known to be short."""
        if n_characters is not None and n_characters <= SHORT:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Parse queued requests until the block ends."""
        task = asyncio.create_task(self.batcher.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            self.batcher.stop()
            self._threads.shutdown(cancel_futures=True)
