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
SHORT = 4_000  # characters; shorter data are read and written without switching threads, which would take longer


class Service:
    """One running server.

    Requests are read and answers written in two threads beside the event loop. UDPipe and Python hold the interpreter lock,
    so more threads would not be faster; with two, a long text does not keep a short one waiting.
    """

    def __init__(self, models: ServedModels, limits: Limits) -> None:
        self.models, self.limits, self.metrics = models, limits, ServerMetrics()
        self.batcher = Batcher(limits, self.metrics)
        self.is_stopping = False
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="text")

    async def read(self, work: Callable[[], T], n_characters: int, *, uses_udpipe: bool) -> T:
        """The result of reading the data of a request.

        UDPipe holds the interpreter lock, which the parser needs for a moment again and again, so the two slow each other
        down. A short text is therefore split and tagged between two batches, and only a long one beside them.
        """
        if uses_udpipe and n_characters <= SHORT:
            return await self.batcher.call(work)
        return await self.run(work, None if uses_udpipe else n_characters)

    async def run(self, work: Callable[[], T], n_characters: int | None = None) -> T:
        """The result of a function that runs in a thread, or at once if it is known to have little to do."""
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
