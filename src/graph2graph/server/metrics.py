"""Counters of the server, in Prometheus' text format.

>>> counter = Counter("g2g_words_total", "Words parsed.", ("model",))
>>> counter.add(3, "en")
>>> print("\\n".join(counter.lines()))
# HELP g2g_words_total Words parsed.
# TYPE g2g_words_total counter
g2g_words_total{model="en"} 3
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def _labelled(name: str, labels: Sequence[str], values: Sequence[str]) -> str:
    pairs = ",".join(
        f'{label}="{value}"'.replace("\\", "\\\\").replace("\n", "\\n")
        for label, value in zip(labels, values, strict=True)
    )
    return f"{name}{{{pairs}}}" if pairs else name


class Counter:
    """A number that only grows, for each combination of labels."""

    def __init__(self, name: str, about: str, labels: tuple[str, ...] = ()) -> None:
        self.name, self.about, self.labels = name, about, labels
        self.values: dict[tuple[str, ...], float] = {} if labels else {(): 0}

    def add(self, amount: float, *labels: str) -> None:
        """Add to the number."""
        self.values[labels] = self.values.get(labels, 0) + amount

    def lines(self) -> Iterator[str]:
        """The lines that Prometheus reads."""
        yield from (f"# HELP {self.name} {self.about}", f"# TYPE {self.name} counter")
        for values, number in sorted(self.values.items()):
            yield f"{_labelled(self.name, self.labels, values)} {number:.12g}"


class Gauge:
    """A number that goes up and down, read when the metrics are."""

    def __init__(self, name: str, about: str, read: Callable[[], float]) -> None:
        self.name, self.about, self.read = name, about, read

    def lines(self) -> Iterator[str]:
        """The lines that Prometheus reads."""
        yield from (f"# HELP {self.name} {self.about}", f"# TYPE {self.name} gauge", f"{self.name} {self.read():.12g}")


class Histogram:
    """A distribution of values: how many are below each bound, for each combination of labels."""

    def __init__(self, name: str, about: str, bounds: Sequence[float], labels: tuple[str, ...] = ()) -> None:
        self.name, self.about, self.bounds, self.labels = name, about, bounds, labels
        self.counts: defaultdict[tuple[str, ...], list[int]] = defaultdict(lambda: [0] * (len(bounds) + 1))
        self.sums: defaultdict[tuple[str, ...], float] = defaultdict(float)

    def observe(self, value: float, *labels: str) -> None:
        """Add a value."""
        self.counts[labels][bisect_left(self.bounds, value)] += 1
        self.sums[labels] += value

    def lines(self) -> Iterator[str]:
        """The lines that Prometheus reads; each count includes those of smaller bounds."""
        yield from (f"# HELP {self.name} {self.about}", f"# TYPE {self.name} histogram")
        for values, counts in sorted(self.counts.items()):
            total = 0
            for bound, count in zip((*(f"{bound:g}" for bound in self.bounds), "+Inf"), counts, strict=True):
                total += count
                yield f"{_labelled(f'{self.name}_bucket', (*self.labels, 'le'), (*values, bound))} {total}"
            yield f"{_labelled(f'{self.name}_sum', self.labels, values)} {self.sums[values]:.12g}"
            yield f"{_labelled(f'{self.name}_count', self.labels, values)} {total}"


class ServerMetrics:
    """All metrics of one server."""

    def __init__(self) -> None:
        self.requests = Counter("g2g_requests_total", "Requests answered, by path and status.", ("path", "status"))
        self.seconds = Histogram("g2g_request_seconds", "From request to answer.", SECONDS, ("path",))
        self.sentences = Counter("g2g_sentences_total", "Sentences parsed.")
        self.words = Counter("g2g_words_total", "Words parsed.")
        self.batch_seconds = Histogram("g2g_batch_seconds", "Parsing one batch.", SECONDS)
        self.batch_requests = Histogram("g2g_batch_requests", "Requests in a batch.", SIZES)
        self.batch_sentences = Histogram("g2g_batch_sentences", "Sentences in a batch.", SIZES)
        self.batch_words = Histogram("g2g_batch_words", "Words in a batch.", SIZES)
        self.gauges: list[Gauge] = []

    def watch(self, name: str, about: str, read: Callable[[], float]) -> None:
        """Add a gauge that reads a number from a function."""
        self.gauges.append(Gauge(name, about, read))

    def text(self) -> str:
        """All metrics, in the format that Prometheus reads."""
        requests: tuple[Counter | Histogram, ...] = (self.requests, self.seconds, self.sentences, self.words)
        batches = (self.batch_seconds, self.batch_requests, self.batch_sentences, self.batch_words)
        return "".join(f"{line}\n" for metric in (*requests, *batches, *self.gauges) for line in metric.lines())
