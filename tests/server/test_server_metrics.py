"""The names and the format of /metrics."""

from prometheus_client.parser import text_string_to_metric_families

from graph2graph.server.batching import Batcher
from graph2graph.server.limits import Limits
from graph2graph.server.metrics import ServerMetrics

HISTOGRAMS = ("request_seconds", "batch_seconds", "batch_requests", "batch_sentences", "batch_words")


def test_names_are_those_promised() -> None:
    """docs/stability.md promises them; Prometheus' own client reads them."""
    metrics = ServerMetrics()
    batcher = Batcher(Limits(), metrics)
    batcher.stop()
    metrics.watch("g2g_requests_held", "Requests in progress or waiting.", lambda: 3)
    metrics.requests.labels("/parse", "200").inc()
    metrics.seconds.labels("/parse").observe(0.3)
    metrics.words.inc(7)
    samples = [one for family in text_string_to_metric_families(metrics.text().decode()) for one in family.samples]
    assert {one.name for one in samples} == {
        *(f"g2g_{name}_total" for name in ("requests", "sentences", "words")),
        *(f"g2g_{name}_{suffix}" for name in HISTOGRAMS for suffix in ("bucket", "count", "sum")),
        *("g2g_queue_words", "g2g_queue_requests", "g2g_requests_held"),
    }
    assert {
        (one.name, *one.labels.items()): one.value for one in samples if one.value and "_bucket" not in one.name
    } == {
        ("g2g_requests_total", ("path", "/parse"), ("status", "200")): 1,
        ("g2g_request_seconds_count", ("path", "/parse")): 1,
        ("g2g_request_seconds_sum", ("path", "/parse")): 0.3,
        ("g2g_words_total",): 7,
        ("g2g_requests_held",): 3,
    }
    buckets = {one.labels["le"]: one.value for one in samples if one.name == "g2g_request_seconds_bucket"}
    assert (buckets["0.25"], buckets["0.5"], buckets["+Inf"]) == (0, 1, 1)
