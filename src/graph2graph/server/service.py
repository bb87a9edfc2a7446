"""What all requests share: the models, the limits, the threads and the counters."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from graph2graph.config import Precision
from graph2graph.errors import DataError
from graph2graph.parser import catalogue
from graph2graph.parser.pipeline import Pipeline
from graph2graph.server.batching import Batcher
from graph2graph.server.limits import Limits, RequestRefused
from graph2graph.server.metrics import ServerMetrics
from graph2graph.treebank.sentence import Sentence

T = TypeVar("T")
SHORT = 4_000  # characters; for shorter data, switching threads would take longer than the work itself


class ServedModel(NamedTuple):
    """A pipeline and the name that clients use for it."""

    name: str
    pipeline: Pipeline

    @property
    def components(self) -> list[str]:
        """The model's components, by UDPipe's names."""
        return ["tokenizer", "tagger", "parser"] if self.pipeline.has_text_model else ["parser"]

    def require_text_model(self) -> None:
        """Refuse a request that needs a tokeniser or tagger, if the model has none."""
        if not self.pipeline.has_text_model:
            raise RequestRefused(400, f"model {self.name} has no tokenizer and no tagger; send words or CoNLL-U")


class ServedModels:
    """All models of a server; the first is the default."""

    def __init__(self, models: Sequence[ServedModel]) -> None:
        self.by_name = {model.name: model for model in models}
        self.default = models[0].name

    @classmethod
    def load(cls, names: Sequence[str], precision: Precision = "auto") -> "ServedModels":
        """Load models by name or directory, and parse a word with each, so that a broken one fails at once.

        torch starts a team of threads for every thread that runs a model, and two teams would compete for the cores. Models
        are therefore loaded in a temporary thread, whose team ends with it.
        """
        with ThreadPoolExecutor(1) as thread:
            return cls(thread.submit(_load_and_try, names, precision).result())

    def get(self, name: str | None) -> ServedModel:
        """The model of this name, or, as in UDPipe, the first whose name begins with it and a hyphen."""
        if not name:
            return self.by_name[self.default]
        found = self.by_name.get(name) or next(
            (model for known, model in self.by_name.items() if known.startswith(f"{name}-")), None
        )
        if found is None:
            raise RequestRefused(404, f"no model {name!r}; there are: {', '.join(self.by_name)}")
        return found


def _load_and_try(names: Sequence[str], precision: Precision) -> list[ServedModel]:
    models: list[ServedModel] = []
    for given in names:
        name = Path(catalogue.find(given)).resolve().name
        if any(name == model.name for model in models):
            raise DataError(f"{given}: two models are named {name}; clients could not tell them apart")
        models.append(ServedModel(name, Pipeline.load(given, precision=precision)))
        list(models[-1].pipeline.parse([Sentence.from_words(["word"])]))
    return models


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

        UDPipe and the parser slow each other down, so a short text is split and tagged between two batches. A long one would
        delay the next batch, so it is read in parallel.
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
