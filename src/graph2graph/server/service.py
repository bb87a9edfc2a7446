"""What every answer needs: the models, the limits, the threads and the counts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from graph2graph.server.batching import Batcher
from graph2graph.server.limits import Limits
from graph2graph.server.metrics import Metrics
from graph2graph.server.served import Desk, Models


class Service:
    """One running server."""

    def __init__(self, models: Models, limits: Limits) -> None:
        self.models, self.limits, self.metrics = models, limits, Metrics()
        self.desk, self.batcher = Desk(limits), Batcher(limits, self.metrics)
        self.is_stopping = False

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
