"""A running server for tests, and requests to it. The fixtures are imported by conftest.py."""

import http.client
import json
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest

if TYPE_CHECKING:
    from graph2graph.parser.pipeline import Pipeline
    from graph2graph.server.service import ServedModels

TOY = (Path(__file__).parent / "data" / "toy.conllu").read_text(encoding="utf-8")
TEXT = "Hey There. I don't think he saw it."
FORM = "application/x-www-form-urlencoded"
Run = Callable[..., Any]


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def detail(self) -> str:
        assert list(self.json) == ["detail"]
        return str(self.json["detail"])


def ask(url: str, path: str, body: bytes | str | None = None, kind: str | None = None, method: str = "") -> Answer:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=100)
    try:
        headers = {"Content-Type": kind} if kind else {}
        connection.request(method or ("GET" if body is None else "POST"), path, body, headers)
        got = connection.getresponse()
        return Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read())
    finally:
        connection.close()


def post(url: str, path: str = "/parse", **body: object) -> Answer:
    return ask(url, path, json.dumps(body), "application/json")


def process(url: str, **given: str) -> Answer:
    return ask(url, "/process", urlencode(given), FORM)


def multipart(given: dict[str, str]) -> tuple[bytes, str]:
    parts = [
        f'--x y\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n' for name, text in given.items()
    ]
    return ("".join(parts) + "--x y--\r\n").encode(), 'multipart/form-data; boundary="x y"'


def metric(url: str, name: str) -> float:
    lines = ask(url, "/metrics").body.decode().splitlines()
    return next((float(line.rsplit(" ", 1)[1]) for line in lines if line.rsplit(" ", 1)[0] == name), 0.0)


def until(reached: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 100
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.01)


@contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=100) as client:
        yield client


def raw(data: str) -> bytes:
    """A request as it goes over the wire."""
    body = urlencode({"data": data, "parser": ""})
    head = f"POST /process HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM}\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


@contextmanager
def started(*options: object) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address of a server in a process of its own."""
    command = [sys.executable, "-m", "graph2graph", "serve", "--port", "0", "--threads", "1", *map(str, options)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        found = re.search(r"http://\S+", line := server.stderr.readline())
        assert found, line + server.stderr.read()
        yield found[0], server
    finally:
        server.kill()
        server.communicate()


@contextmanager
def running(models: "ServedModels", **limits: Any) -> Iterator[str]:
    """The address of a server in a thread of this process, with limits of its own."""
    import uvicorn

    from graph2graph.server.admission import Admission
    from graph2graph.server.app import create_app
    from graph2graph.server.limits import Limits
    from graph2graph.server.run import GracefulServer, listen
    from graph2graph.server.service import Service

    service = Service(models, Limits(**limits))
    admission = Admission(create_app(service), service)
    server = GracefulServer(uvicorn.Config(admission, log_level="critical", lifespan="on", ws="none"), admission)
    listener = listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="session")
def served_directory(toy_model: Path, bare_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy model by the name `toy-full`, and beside it `bare`, the same without a text model."""
    path = tmp_path_factory.mktemp("models") / "toy-full"
    shutil.copytree(toy_model, path)
    shutil.copytree(bare_model, path.with_name("bare"))
    return path


@pytest.fixture(scope="session")
def served_models(served_directory: Path) -> "ServedModels":
    from graph2graph.server.service import ServedModels

    return ServedModels.load([str(served_directory), str(served_directory.with_name("bare"))])


@pytest.fixture(scope="session")
def limited(served_models: "ServedModels") -> Callable[..., AbstractContextManager[str]]:
    """`with limited(queue=5) as url`: a server with limits of its own."""
    return partial(running, served_models)


@pytest.fixture(scope="session")
def url(served_models: "ServedModels") -> Iterator[str]:
    """The address of a server that many tests share."""
    with running(served_models, wait=0.02, sentence=200, words=2000) as address:
        yield address


@pytest.fixture(scope="session")
def served_pipeline(served_directory: Path) -> "Pipeline":
    """The default model of the server, to compare its answers with."""
    from graph2graph.parser.pipeline import Pipeline

    return Pipeline.load(served_directory)


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> Run:
    """`with busy(url, threads)`: meanwhile the server parses a request and does not finish."""
    from conftest import CONTRACTIONS
    from graph2graph.parser.parser import Parser

    parse = Parser.parse

    @contextmanager
    def keep(url: str, threads: ThreadPoolExecutor) -> Iterator[None]:
        begun, done = threading.Event(), threading.Event()

        def slow(*args: Any, **how: Any) -> Any:
            begun.set()
            done.wait(100)
            return parse(*args, **how)

        with monkeypatch.context() as patch:
            patch.setattr(Parser, "parse", slow)
            held = threads.submit(process, url, data=CONTRACTIONS, parser="")
            assert begun.wait(100)
        try:
            yield
        finally:
            done.set()
            held.result()

    return keep


def trees(pipeline: "Pipeline", text: str, **options: Any) -> str:
    """The CoNLL-U that the server is expected to answer."""
    import io

    from graph2graph.treebank import conllu

    sentences = conllu.read(io.StringIO(text), check="columns")
    return "".join(line for tree in pipeline.parse(sentences, **options) for line in tree.lines)
