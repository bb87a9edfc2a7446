"""UDPipe's REST API: fields, formats, and the trees of the parser."""

import io
import json
import shutil
import subprocess
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from conftest import CONTRACTIONS
from graph2graph.parser.pipeline import Pipeline
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import UPOS
from server_tools import FORM, TEXT, TOY, ask, multipart, post, process, trees

pytestmark = pytest.mark.usefixtures("one_thread")


def test_models(url: str) -> None:
    components = {"toy-full": ["tokenizer", "tagger", "parser"], "bare": ["parser"]}
    for body in (None, ""):
        assert ask(url, "/models", body).json == {"models": components, "default_model": "toy-full"}


def test_fields_come_in_all_ways(url: str, served_pipeline: Pipeline) -> None:
    given = {"data": TOY.replace("\n", "\r\n"), "model": "toy", "parser": ""}
    expected = trees(served_pipeline, given["data"])
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
def test_curl(url: str, served_pipeline: Pipeline, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text(TEXT)
    forms = ["-F", f"data=@{tmp_path / 'data.txt'}", "-F", "tokenizer=", "-F", "tagger=", "-F", "parser="]
    done = subprocess.run(["curl", "-s", *forms, f"{url}/process"], check=True, capture_output=True)
    assert json.loads(done.stdout)["result"] == served_pipeline(TEXT, ranges=False).to_conllu()
    words = ["--data-urlencode", "data=The dog & cat .", "-d", "input=horizontal", "-d", "output=vertical"]
    done = subprocess.run(["curl", "-s", *words, f"{url}/process"], check=True, capture_output=True)
    assert json.loads(done.stdout)["result"] == "The\ndog\n&\ncat\n.\n\n"


def test_only_what_is_asked_for_is_done(url: str, served_pipeline: Pipeline) -> None:
    assert process(url, data=CONTRACTIONS).json["result"] == CONTRACTIONS
    assert process(url, data=CONTRACTIONS, tagger="none", parser="none").json["acknowledgements"] == []
    words = process(url, data=TEXT, tokenizer="").json["result"]
    assert words == "".join(line for s in served_pipeline.text_model.sentences(TEXT, tags=False) for line in s.lines)
    untagged = CONTRACTIONS.replace("AUX", "_")
    assert process(url, data=untagged, parser="").json["result"] == trees(served_pipeline, untagged)
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
