"""Counters of the server, for Prometheus. docs/stability.md promises their names."""

from collections.abc import Callable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)


class ServerMetrics:
    """All metrics of one server."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # no g2g_…_created beside each counter and histogram
        self._registry = CollectorRegistry()
        counter = partial(Counter, registry=self._registry)
        of_seconds = partial(Histogram, registry=self._registry, buckets=SECONDS)
        of_sizes = partial(Histogram, registry=self._registry, buckets=SIZES)
        self.requests = counter("g2g_requests_total", "Requests answered, by path and status.", ("path", "status"))
        self.seconds = of_seconds("g2g_request_seconds", "Seconds from request to answer.", ("path",))
        self.sentences = counter("g2g_sentences_total", "Sentences parsed.")
        self.words = counter("g2g_words_total", "Words parsed.")
        self.batch_seconds = of_seconds("g2g_batch_seconds", "Seconds to parse a batch.")
        self.batch_requests = of_sizes("g2g_batch_requests", "Requests in a batch.")
        self.batch_sentences = of_sizes("g2g_batch_sentences", "Sentences in a batch.")
        self.batch_words = of_sizes("g2g_batch_words", "Words in a batch.")

    def watch(self, name: str, about: str, read: Callable[[], float]) -> None:
        """Add a gauge that reads a number from a function."""
        Gauge(name, about, registry=self._registry).set_function(read)

    def text(self) -> bytes:
        """All metrics, in Prometheus' text format."""
        return generate_latest(self._registry)
