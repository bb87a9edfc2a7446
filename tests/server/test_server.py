"""`g2g serve`: a real server, asked as clients ask it. Its trees are those of the parser, whatever else goes on."""

import http.client
import io
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import pytest
import uvicorn

from conftest import CONTRACTIONS
from graph2graph.errors import DataError
from graph2graph.parser.parser import Parser
from graph2graph.parser.pipeline import Pipeline
from graph2graph.server import pages
from graph2graph.server.admission import Admission
from graph2graph.server.app import create_app
from graph2graph.server.forms import fields
from graph2graph.server.limits import Limits, RequestRefused
from graph2graph.server.models import ServedModels
from graph2graph.server.run import GracefulServer, listen
from graph2graph.server.service import Service
from graph2graph.treebank import conllu
from graph2graph.treebank.conllu import HEAD, UPOS

TOY = (Path(__file__).parents[1] / "data" / "toy.conllu").read_text(encoding="utf-8")
TEXT = "Hey There. I don't think he saw it."
FORM = "application/x-www-form-urlencoded"
Run = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("one_thread")


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


def metric(url: str, name: str) -> float:
    lines = ask(url, "/metrics").body.decode().splitlines()
    return next((float(line.rsplit(" ", 1)[1]) for line in lines if line.rsplit(" ", 1)[0] == name), 0.0)


def until(reached: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 100
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(scope="module")
def directory(toy_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy model, and beside it the same without a text model."""
    path = tmp_path_factory.mktemp("models") / "toy-full"
    shutil.copytree(toy_model, path)
    shutil.copytree(toy_model, path.with_name("bare"), ignore=shutil.ignore_patterns("text.udpipe"))
    return path


@pytest.fixture(scope="module")
def pipeline(directory: Path) -> Pipeline:
    return Pipeline.load(directory)


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


@pytest.fixture(scope="module")
def url(directory: Path) -> Iterator[str]:
    models = ("--model", directory, "--model", directory.with_name("bare"))
    with started(*models, "--batch-wait", 0.02, "--max-sentence", 200, "--max-words", 2000) as (address, _):
        yield address


@pytest.fixture(scope="module")
def limited(directory: Path) -> Callable[..., AbstractContextManager[str]]:
    """`with limited(queue=5) as url`: a server in a thread of this process, with limits of its own."""
    models = ServedModels.load([str(directory)])

    @contextmanager
    def running(**limits: Any) -> Iterator[str]:
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

    return running


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> Run:
    """`with busy(url, threads)`: meanwhile the server is at a request that it does not get done with."""
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


@contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=100) as client:
        yield client


def raw(data: str) -> bytes:
    """A request as it goes over the wire."""
    body = urlencode({"data": data, "parser": ""})
    head = f"POST /process HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM}\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


def trees(pipeline: Pipeline, text: str, **how: Any) -> str:
    """The CoNLL-U that is expected."""
    sentences = conllu.read(io.StringIO(text), check="columns")
    return "".join(line for tree in pipeline.parse(sentences, **how) for line in tree.lines)


def test_models(url: str) -> None:
    components = {"toy-full": ["tokenizer", "tagger", "parser"], "bare": ["parser"]}
    for body in (None, ""):
        assert ask(url, "/models", body).json == {"models": components, "default_model": "toy-full"}


def multipart(given: dict[str, str]) -> tuple[bytes, str]:
    parts = [
        f'--x y\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n' for name, text in given.items()
    ]
    return ("".join(parts) + "--x y--\r\n").encode(), 'multipart/form-data; boundary="x y"'


def test_fields_come_in_all_ways(url: str, pipeline: Pipeline) -> None:
    given = {"data": TOY.replace("\n", "\r\n"), "model": "toy", "parser": ""}
    expected = trees(pipeline, given["data"])
    answers = [
        ask(url, "/process", urlencode(given), FORM),
        ask(url, "/process", *multipart(given)),
        ask(url, f"/process?{urlencode(given)}"),
        ask(url, f"/process?{urlencode(given)}", b""),
        ask(url, "/process?parser=&data=not+this", urlencode(given | {"parser": ""}), f"{FORM}; charset=utf-8"),
    ]
    for answer in answers:
        assert answer.status == 200
        assert list(answer.json) == ["model", "acknowledgements", "result"]
        assert answer.json["model"] == "toy-full"
        assert answer.json["result"] == expected
    assert expected != given["data"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not there")
def test_curl(url: str, pipeline: Pipeline, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text(TEXT)
    forms = ["-F", f"data=@{tmp_path / 'data.txt'}", "-F", "tokenizer=", "-F", "tagger=", "-F", "parser="]
    done = subprocess.run(["curl", "-s", *forms, f"{url}/process"], check=True, capture_output=True)
    assert json.loads(done.stdout)["result"] == pipeline(TEXT, ranges=False).to_conllu()
    words = ["--data-urlencode", "data=The dog & cat .", "-d", "input=horizontal", "-d", "output=vertical"]
    done = subprocess.run(["curl", "-s", *words, f"{url}/process"], check=True, capture_output=True)
    assert json.loads(done.stdout)["result"] == "The\ndog\n&\ncat\n.\n\n"


def test_only_what_is_asked_for_is_done(url: str, pipeline: Pipeline) -> None:
    assert process(url, data=CONTRACTIONS).json["result"] == CONTRACTIONS
    assert process(url, data=CONTRACTIONS, tagger="none", parser="none").json["acknowledgements"] == []
    words = process(url, data=TEXT, tokenizer="").json["result"]
    assert words == "".join(line for s in pipeline.text_model.sentences(TEXT, tags=False) for line in s.lines)
    untagged = CONTRACTIONS.replace("AUX", "_")
    assert process(url, data=untagged, parser="").json["result"] == trees(pipeline, untagged)
    [dont, _] = conllu.read(io.StringIO(process(url, data=untagged, tagger="").json["result"]))
    assert dont.column(UPOS)[1] == "AUX"
    assert dont.heads == [4, 4, 4, 0, 6, 4, 6, 4]


def test_formats(url: str) -> None:
    def forms(result: str) -> list[list[str]]:
        return [s.forms for s in conllu.read(io.StringIO(result), check="columns")]

    horizontal = process(url, data="A b\u00a0c .\n\n d", input="horizontal", parser="").json["result"]
    assert forms(horizontal) == [["A", "b c", "."], ["d"]]
    assert forms(process(url, data="A\nb c\n\nd", input="vertical", parser="").json["result"]) == [["A", "b c"], ["d"]]
    generic = process(url, data="I don't. Do you?", input="generic_tokenizer=ranges", model="bare").json["result"]
    assert forms(generic) == [["I", "don", "'", "t", "."], ["Do", "you", "?"]]
    assert "TokenRange=0:1" in generic
    ranges = process(url, data="Yes\n\nYes", tokenizer="presegmented;ranges").json["result"]
    assert ranges.count("TokenRange=") == 2
    assert process(url, data=TEXT, tokenizer="", output="plaintext").json["result"].strip() == TEXT
    assert process(url, data=TOY, output="matxin").json["result"].startswith("<")


def test_parse_gives_typed_json(url: str, pipeline: Pipeline) -> None:
    answer = post(url, text=TEXT, probabilities=True).json
    expected = pipeline(TEXT).sentences
    assert answer["model"] == "toy-full"
    assert [[w["head"] for w in s["words"]] for s in answer["sentences"]] == [s.heads for s in expected]
    for word in (word for s in answer["sentences"] for word in s["words"]):
        assert TEXT[word["start_char"] : word["end_char"]] == word["form"]
        assert 0 < word["arc_p"] <= 1
        assert 0 < word["label_p"] <= 1
    words = post(url, words=[["The", "dog"], ["Yes"]], model="bare").json["sentences"]
    assert [[w["form"] for w in s["words"]] for s in words] == [["The", "dog"], ["Yes"]]
    assert words[0]["words"][0].keys() >= {"id", "lemma", "upos", "deprel", "misc", "start_char", "arc_p"}
    assert words[0]["words"][0]["upos"] is None
    tagged = post(url, words=[["I", "think"]], tags="predict").json["sentences"][0]["words"]
    assert tagged[1]["upos"] == "VERB"


@pytest.mark.parametrize("how", [{}, {"tags": "predict"}, {"tags": "none"}, {"reencode": 0.0}, {"reencode": 0.7}])
def test_parse_is_the_pipelines(url: str, pipeline: Pipeline, how: dict[str, Any]) -> None:
    answer = post(url, conllu=TOY, **how).json["sentences"]
    expected = list(conllu.read(io.StringIO(trees(pipeline, TOY, **how))))
    assert [[w["head"] for w in s["words"]] for s in answer] == [s.heads for s in expected]
    assert [[w["upos"] for w in s["words"]] for s in answer] == [s.column(UPOS) for s in expected]


def test_parse_keeps_arcs(url: str) -> None:
    kept = post(url, conllu=TOY, keep_arcs=True, reencode="exact").json["sentences"]
    assert [[w["head"] for w in s["words"]] for s in kept] == [s.heads for s in conllu.read(io.StringIO(TOY))]
    assert post(url, conllu=TOY, reencode="adaptive").status == 200


@pytest.mark.parametrize("data", ["", " ", "\n\n\t\r\n", "\u00a0\u3000"])
def test_nothing_gives_nothing(url: str, data: str) -> None:
    assert process(url, data=data, tokenizer="", tagger="", parser="").json["result"] == ""
    assert post(url, text=data).json["sentences"] == []
    for written in ("horizontal", "vertical"):
        assert process(url, data=data, input=written, parser="").json["result"] == ""
    assert process(url, data="", parser="").json["result"] == ""


@pytest.mark.parametrize(
    "data", ["<script>alert(1)</script>", "\u202eאבג שלום عالم", "👩‍👩‍👧‍👦 🐕 e\u0301", "a\0b & c=d %41+"]
)
def test_odd_texts_come_back_as_they_are(url: str, data: str) -> None:
    seen = data.replace("\0", "\ufffd")
    sentences = post(url, text=data).json["sentences"]
    assert "".join(w["form"] for s in sentences for w in s["words"]).split() == "".join(seen.split()).split()
    answer = process(url, data=data, tokenizer="", parser="")
    assert answer.headers["content-type"] == "application/json"
    read = list(conllu.read(io.StringIO(answer.json["result"])))
    assert "".join("".join(s.forms) for s in read).split() == "".join(seen.split()).split()
    words = post(url, words=[data.split()]).json["sentences"][0]["words"]
    assert [w["form"] for w in words] == data.split()
    assert data.split()[0] in ask(url, f"/process?input=horizontal&data={quote(data)}").json["result"]


def test_bad_requests(url: str) -> None:
    """Each is answered with one sentence, and the server goes on."""
    two_roots = "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n2\tb\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    long = " ".join(["word"] * 201)
    cases = [
        (400, "the field data is missing", process(url, parser="")),
        (400, "data:3: expected 10 tab-separated columns, found 1", process(url, data="# a\n# b\nword\n\n", parser="")),
        (400, "no format 'xml'; there are: generic_tokenizer, horizontal", process(url, data="x", input="xml")),
        (400, "no format 'svg'; there are: conllu", process(url, data="", output="svg")),
        (400, "no option 'fast'; there are: presegmented, ranges", process(url, data="x", tokenizer="fast")),
        (400, "model bare has no tokenizer", process(url, data="x", tokenizer="", model="bare")),
        (400, "data: invalid UTF-8: byte 0xff at", ask(url, "/process", *_latin())),
        (400, "invalid UTF-8 in the body", ask(url, "/process", b"data=%ff", FORM)),
        (400, "its last boundary is missing", ask(url, "/process", b"--x\r\n", "multipart/form-data; boundary=x")),
        (400, "are both given as root", post(url, conllu=two_roots, keep_arcs=True)),
        (400, "words.0.1: 'a\\tb' is no word", post(url, words=[["a", "a\tb"]])),
        (400, "half a surrogate pair at position 2", post(url, words=[["a\ud800"]])),
        (404, "no model 'none'; there are: toy-full, bare", process(url, data="x", model="none")),
        (404, "no such path: /nowhere", ask(url, "/nowhere")),
        (404, "the page has no file 'app.py'", ask(url, "/page/app.py")),
        (404, "no such path", ask(url, "/page/../app.py")),
        (405, "not with DELETE", ask(url, "/process", method="DELETE")),
        (413, "a sentence of 201 words; at most 200", process(url, data=long, input="horizontal")),
        (413, "more than the 2000 words", process(url, data="word . \n" * 1001, input="horizontal")),
        (413, "more than the 2000000 bytes", process(url, data="x" * 2_000_001)),
        (415, "expected a form", ask(url, "/process", "{}", "application/json")),
        (422, "not JSON: ", ask(url, "/parse", '{"text": ', "application/json")),
        (422, "expected a JSON object", ask(url, "/parse", '{"text": "x"}', FORM)),
        (422, "give one of text, words and conllu", post(url)),
        (422, "give one of text, words and conllu", post(url, text="x", words=[["x"]])),
        (422, "words.0.1: input should be a valid string", post(url, words=[["a", 1]])),
        (422, "reencode: input should be 'exact' or 'adaptive', or", post(url, text="x", reencode="often")),
        (422, "txt: extra inputs are not permitted", post(url, txt="x")),
        (422, "only CoNLL-U has tags to keep", post(url, text="x", tags="keep")),
    ]
    for status, message, answer in cases:
        assert (answer.status, message) == (status, message if message in answer.detail else answer.detail)
        assert "\n" not in answer.detail
        assert answer.headers["content-type"] == "application/json"
    assert process(url, data=TOY, parser="").status == 200


def _latin() -> tuple[bytes, str]:
    body, kind = multipart({"data": "word ?"})
    return body.replace(b"?", b"\xff"), kind


@pytest.mark.parametrize("body", [b"", b"--x--", b"x", b"--x\r\n\r\n\r\n--x--\r\n", b"--x\r\nA: b\r\n\r\ny\r\n--x--"])
def test_forms_that_are_none(body: bytes) -> None:
    if body == b"--x--":
        assert fields(b"", "multipart/form-data; boundary=x", body) == {}
        return
    with pytest.raises(RequestRefused, match="multipart form"):
        fields(b"", "multipart/form-data; boundary=x", body)


def test_requests_together_are_parsed_together(url: str, pipeline: Pipeline) -> None:
    sentences = list(conllu.read(io.StringIO(TOY + CONTRACTIONS)))
    wanted = ["".join(line for s in sentences[: 1 + n % len(sentences)] for line in s.lines) for n in range(16)]
    expected = [trees(pipeline, text) for text in wanted]
    name = "g2g_batch_requests_count"
    before = metric(url, name)
    with ThreadPoolExecutor(16) as threads:
        for _ in range(3):
            answers = list(threads.map(lambda text: process(url, data=text, parser=""), wanted))
            assert [answer.json["result"] for answer in answers] == expected
    n_batches = metric(url, name) - before
    assert n_batches < 48


def test_a_bad_request_does_not_spoil_its_batch(limited: Run, busy: Run) -> None:
    bad = TOY.replace("1\tA\ta\tDET\tDT\t_\t2\tdet", "1\tA\ta\tDET\tDT\t_\t0\troot")
    expected = [s.heads for s in conllu.read(io.StringIO(TOY))]
    with limited() as url, ThreadPoolExecutor(6) as threads:
        with busy(url, threads):
            texts = [TOY, TOY, bad, TOY, TOY]
            asked = [threads.submit(post, url, conllu=text, keep_arcs=True) for text in texts]
            until(lambda: metric(url, "g2g_queue_requests") == 5)
        answers = [one.result() for one in asked]
        assert [answer.status for answer in answers] == [200, 200, 400, 200, 200]
        assert "sentence hearing: no tree has these arcs" in answers[2].detail
        assert [[w["head"] for w in s["words"]] for s in answers[4].json["sentences"]] == expected
        assert metric(url, "g2g_batch_requests_count") == 2
        assert metric(url, "g2g_batch_requests_sum") == 6


def test_a_large_request_goes_in_parts(limited: Run, pipeline: Pipeline) -> None:
    with limited(batch=30) as url, ThreadPoolExecutor(2) as threads:
        large = threads.submit(process, url, data=TOY * 10, parser="")
        small = threads.submit(process, url, data=CONTRACTIONS, parser="")
        assert small.result().json["result"] == trees(pipeline, CONTRACTIONS)
        assert large.result().json["result"] == trees(pipeline, TOY * 10)
        assert metric(url, "g2g_batch_words_count") > 5


def test_a_full_queue_says_when_to_come_back(limited: Run, busy: Run) -> None:
    with limited(queue=5, requests=3) as url, ThreadPoolExecutor(3) as threads:
        with busy(url, threads):
            waiting = threads.submit(process, url, data=TOY, parser="")
            until(lambda: metric(url, "g2g_queue_requests") == 1)
            refused = process(url, data=TOY, parser="")
            assert refused.status == 429
            assert int(refused.headers["retry-after"]) >= 1
            assert "words wait already; try again in" in refused.detail
            assert process(url, data=TOY).status == 200  # no parser, no queue
        assert waiting.result().status == 200
        assert process(url, data=TOY, parser="").status == 200


def test_only_so_many_requests_are_held(limited: Run, busy: Run) -> None:
    with limited(requests=1) as url, ThreadPoolExecutor(1) as threads, busy(url, threads):
        refused = post(url, text="Yes")
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        assert ask(url, "/health").status == 200


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


def test_our_own_mistakes_are_told_as_such(limited: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with limited() as url:
        monkeypatch.setattr(Parser, "parse", lambda *_, **__: 1 / 0)
        failed = process(url, data=TOY, parser="")
        assert (failed.status, failed.detail) == (500, "the server failed on this request; its log says why")
        monkeypatch.undo()
        assert process(url, data=TOY, parser="").status == 200


def test_stopping_finishes_what_is_held(directory: Path, pipeline: Pipeline) -> None:
    with started("--model", directory) as (url, server), connected(url) as client:
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
        assert json.loads(answer.read())["result"] == trees(pipeline, TOY)
        assert server.wait(60) == 0
        assert server.stderr is not None
        assert server.stderr.read() == "g2g: stopped\n"


def test_health_metrics_and_docs(url: str) -> None:
    assert ask(url, "/health").json == {"status": "ok", "version": "0.1.0", "models": ["toy-full", "bare"]}
    before = metric(url, 'g2g_requests_total{path="/models",status="200"}')
    ask(url, "/models")
    assert metric(url, 'g2g_requests_total{path="/models",status="200"}') == before + 1
    answer = ask(url, "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    for line in answer.body.decode().splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) g2g_\w+ .+|g2g_\w+(\{(\w+="[^"]*",?)+\})? [0-9.e+-]+', line), line
    paths = ask(url, "/openapi.json").json["paths"]
    assert {"/models", "/process", "/parse", "/trace", "/health", "/metrics"} <= paths.keys()
    page = ask(url, "/docs").body.decode()
    assert all(f"{method} {path}" in page for path in paths for method in map(str.upper, paths[path]))
    assert "http" not in page  # nothing is loaded from elsewhere


def test_the_page(limited: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with limited() as url:
        monkeypatch.setattr(pages, "PAGE", tmp_path)
        assert ask(url, "/").headers["location"] == "/docs"
        (tmp_path / "index.html").write_text("<p>é")
        (tmp_path / "page.js").write_text("1")
        (tmp_path / "secret.py").write_text("1")
        assert ask(url, "/").body.decode() == "<p>é"
        assert ask(url, "/page/page.js").headers["content-type"] == "text/javascript; charset=utf-8"
        assert ask(url, "/page/secret.py").status == 404
        assert ask(url, "/page/%2e%2e%2fsecret.py").status == 404


def test_trace(limited: Run) -> None:
    arc = {"sentence": 0, "word": 1, "head": 2, "deprel": "obj"}
    with limited() as url:
        answer = post(url, "/trace", conllu=TOY, arcs=[arc, arc | {"word": 3, "head": 0, "deprel": None}])
        [hey, *others] = answer.json["sentences"]
        assert (hey["heads"][0], hey["deprels"][0], hey["heads"][2]) == (2, "obj", 0)
        assert hey["given"] == [1, 3]
        assert {number for other in others for number in other["given"]} == set()
        assert all(len(told["steps"]) >= 2 * len(told["words"]) for told in answer.json["sentences"])
        assert len(post(url, "/trace", text=TEXT).json["sentences"]) == 2
        for message, arcs in [
            ("no sentence 1; there are 1", [arc | {"sentence": 1}]),
            ("no arc from 9 to 1", [arc | {"head": 9}]),
            ("no arc from 1 to 1", [arc | {"head": 1}]),
            ("round in a circle", [arc, {"sentence": 0, "word": 2, "head": 1}]),
        ]:
            answer = post(url, "/trace", conllu=CONTRACTIONS.split("\n\n")[0] + "\n\n", arcs=arcs)
            assert (answer.status, message) == (400, message if message in answer.detail else answer.detail)
        assert post(url, "/trace", arcs=[]).status == 422


def test_servers_that_cannot_start(g2g: Run, directory: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cases = [
            (1, "Address already in use", ["--port", port, "--model", directory]),
            (1, "no such model directory", ["--port", 0, "--model", directory / "none"]),
            (1, "two models of the name bare", ["--port", 0, *["--model", directory.with_name("bare")] * 2]),
            (1, "cannot listen on nowhere.invalid", ["--host", "nowhere.invalid"]),
            (2, "'--port'", ["--port", 70000]),
        ]
        for code, message, options in cases:
            done = g2g("serve", *options)
            assert (done.code, message) == (code, message if message in done.err else done.err)
            assert done.out == ""
    with pytest.raises(DataError, match="cannot listen"):
        listen("256.0.0.1", 80)


def test_heads_are_only_looked_at_if_they_are_kept(url: str) -> None:
    odd = TOY.replace("\t2\tdet", "\t99\tdet")
    assert post(url, conllu=odd).status == 200
    assert "head 99 is out of range" in post(url, conllu=odd, keep_arcs=True).detail
    assert HEAD == 6
