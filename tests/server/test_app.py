"""The app: errors are one sentence, and it reports its state."""

import re

import pytest

from graph2graph.parser.parser import Parser
from server_tools import (
    FORM,
    TOY,
    Run,
    ask,
    metric,
    multipart,
    post,
    process,
)

pytestmark = pytest.mark.usefixtures("one_thread")


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
        (400, "words.0.1: 'a\\tb' is not a word", post(url, words=[["a", "a\tb"]])),
        (400, "half a surrogate pair at position 2", post(url, words=[["a\ud800"]])),
        (404, "no model 'none'; there are: toy-full, bare", process(url, data="x", model="none")),
        (404, "no such path: /nowhere", ask(url, "/nowhere")),
        (404, "the page has no file 'app.py'", ask(url, "/page/app.py")),
        (404, "no such path", ask(url, "/page/../app.py")),
        (405, "does not accept DELETE", ask(url, "/process", method="DELETE")),
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


def test_our_own_mistakes_are_told_as_such(limited: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with limited() as url:
        monkeypatch.setattr(Parser, "parse", lambda *_, **__: 1 / 0)
        failed = process(url, data=TOY, parser="")
        assert (failed.status, failed.detail) == (500, "the server failed on this request; its log says why")
        monkeypatch.undo()
        assert process(url, data=TOY, parser="").status == 200


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
    [script] = re.findall(r'src="(.+?)"', page)
    assert "openapi.json" in ask(url, f"/{script}").body.decode()
    assert "http:" not in page  # nothing is loaded from elsewhere
    assert "https:" not in page
