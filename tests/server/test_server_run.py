"""Starting and stopping `g2g serve`."""

import http.client
import json
import signal
import socket
from pathlib import Path

import pytest

from graph2graph.errors import DataError
from graph2graph.parser.pipeline import Pipeline
from graph2graph.server.run import listen
from server_tools import (
    TOY,
    Run,
    ask,
    connected,
    metric,
    process,
    raw,
    started,
    trees,
    until,
)

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.slow
def test_stopping_finishes_what_is_held(served_directory: Path, served_pipeline: Pipeline) -> None:
    with started("--model", served_directory) as (url, server), connected(url) as client:
        request = raw(TOY)
        client.sendall(request[:-10])
        until(lambda: metric(url, "g2g_requests_held") == 1)
        server.send_signal(signal.SIGTERM)
        until(lambda: ask(url, "/health").status == 503)
        refused = process(url, data=TOY, parser="")
        assert (refused.status, refused.detail) == (503, "the server is stopping")
        assert "retry-after" in refused.headers
        client.sendall(request[-10:])
        answer = http.client.HTTPResponse(client)
        answer.begin()
        assert json.loads(answer.read())["result"] == trees(served_pipeline, TOY)
        assert server.wait(60) == 0
        assert server.stderr is not None
        assert server.stderr.read() == "g2g: stopped\n"


@pytest.mark.slow
def test_servers_that_cannot_start(g2g: Run, served_directory: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cases = [
            (1, "Address already in use", ["--port", port, "--model", served_directory]),
            (1, "no such model directory", ["--port", 0, "--model", served_directory / "none"]),
            (1, "two models are named bare", ["--port", 0, *["--model", served_directory.with_name("bare")] * 2]),
            (1, "cannot listen on nowhere.invalid", ["--host", "nowhere.invalid"]),
            (2, "'--port'", ["--port", 70000]),
        ]
        for code, message, options in cases:
            done = g2g("serve", *options)
            assert (done.code, message) == (code, message if message in done.err else done.err)
            assert done.out == ""
    with pytest.raises(DataError, match="cannot listen"):
        listen("256.0.0.1", 80)
