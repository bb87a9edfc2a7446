"""Limits of requests, and clients that leave."""

import http.client
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from server_tools import (
    TOY,
    Run,
    ask,
    connected,
    metric,
    post,
    process,
    raw,
    until,
)

pytestmark = pytest.mark.usefixtures("one_thread")


def test_only_so_many_requests_are_held(limited: Run, busy: Run) -> None:
    with limited(requests=1) as url, ThreadPoolExecutor(1) as threads, busy(url, threads):
        refused = post(url, text="Yes")
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        assert ask(url, "/health").status == 200


@pytest.mark.slow
def test_time_outs(limited: Run, busy: Run) -> None:
    with limited(seconds=0.5) as url, ThreadPoolExecutor(1) as threads:
        with busy(url, threads):
            late = process(url, data=TOY, parser="")
            assert (late.status, late.detail) == (504, "there was no result within 0.5 s")
            assert metric(url, "g2g_queue_requests") == 0
        with connected(url) as slow:
            slow.sendall(b"POST /parse HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
            assert slow.recv(1000).startswith(b"HTTP/1.1 408")


def test_a_client_that_has_left_is_not_parsed(limited: Run, busy: Run) -> None:
    with limited() as url, ThreadPoolExecutor(1) as threads:
        with busy(url, threads):
            with connected(url) as client:
                client.sendall(raw(TOY))
                until(lambda: metric(url, "g2g_queue_requests") == 1)
            until(lambda: metric(url, 'g2g_requests_total{path="/process",status="499"}') == 1)
            assert metric(url, "g2g_queue_requests") == 0
        assert process(url, data=TOY, parser="").status == 200
        assert metric(url, "g2g_batch_requests_sum") == 2  # that which kept it busy, and the last


def test_a_large_body_without_a_length(limited: Run) -> None:
    with limited(body=1000) as url:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=100)
        connection.request("POST", "/parse", iter([b"x" * 600, b"x" * 600]), encode_chunked=True)
        assert connection.getresponse().status == 413
        connection.close()
