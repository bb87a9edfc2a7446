"""What every answer needs: the models, the limits, the threads and the counts."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from graph2graph.server.batching import Batcher
from graph2graph.server.limits import Limits
from graph2graph.server.metrics import Metrics
from graph2graph.server.served import SMALL, Desk, Models

T = TypeVar("T")


class Service:
    """One running server."""

    def __init__(self, models: Models, limits: Limits) -> None:
        self.models, self.limits, self.metrics = models, limits, Metrics()
        self.desk, self.batcher = Desk(limits), Batcher(limits, self.metrics)
        self.is_stopping = False

    async def read(self, work: Callable[[], T], size: int, *, by_udpipe: bool) -> T:
        """What is read of the data of a request, of so many characters.

        UDPipe does not let go of the interpreter, which the model needs for a moment again and again; side by side they would
        hold each other up. So a short text is split and tagged between two batches; a long one, which would keep everybody
        waiting, at the desk.
        """
        if by_udpipe and size <= SMALL:
            return await self.batcher.call(work)
        return await self.desk.do(work, None if by_udpipe else size)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Parse what comes until the end."""
        task = asyncio.create_task(self.batcher.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            self.batcher.stop()
            self.desk.stop()
