"""Downloading, from a server on loopback that answers as the hub does."""

import base64
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import graph2graph
from conftest import ROOT
from graph2graph.parser import catalogue, checksums
from graph2graph.parser.catalogue import ORIGIN
from graph2graph.parser.hub import download

pytest.importorskip("huggingface_hub")

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = ("model.safetensors", "text.udpipe")
Run = Callable[..., Any]


class Hub(ThreadingHTTPServer):
    """The repository owner/toy, with ways to go wrong."""

    daemon_threads = True

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.files = files
        self.asked: Counter[str] = Counter()
        self.cut: set[str] = set()  # files of which the first answer breaks off half way
        self.refused: set[str] = set()  # those that are not answered after that
        self.changed: set[str] = set()  # those of which another content is sent
        self.uploaded: dict[str, bytes] = {}
        self.reached = threading.Event()  # someone has asked
        self.delay = threading.Event()  # until it is set, nothing is sent
        self.delay.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def info(self) -> dict[str, Any]:
        """What /api/models/owner/toy?blobs=true tells."""
        siblings: list[dict[str, Any]] = []
        for name, content in self.files.items():
            git_id = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            entry: dict[str, Any] = {"rfilename": name, "size": len(content), "blobId": git_id}
            if name in LARGE:
                sha256 = hashlib.sha256(content).hexdigest()
                entry |= {"blobId": "f" * 40, "lfs": {"sha256": sha256, "size": len(content), "pointerSize": 130}}
            siblings.append(entry)
        return {"id": "owner/toy", "modelId": "owner/toy", "sha": COMMIT, "siblings": siblings, "tags": []}


class Answer(BaseHTTPRequestHandler):
    """One connection."""

    server: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        """The steps of an upload: create the repository, say how each file is sent, send it, commit."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path, kind = urlsplit(self.path).path, {"Content-Type": "application/json"}
        self.server.asked[path] += 1
        if path == "/api/validate-yaml":
            self._answer({"errors": [], "warnings": []})
        elif not self.headers.get("Authorization"):
            self._send(401, b'{"error": "who are you?"}', kind)
        elif path == "/api/repos/create":
            self._answer({"url": f"{self.server.url}/owner/toy"})
        elif path == "/api/models/owner/toy/preupload/main":
            files = [
                {"path": one["path"], "uploadMode": "lfs" if one["path"] in LARGE else "regular", "shouldIgnore": False}
                for one in json.loads(body)["files"]
            ]
            self._answer({"files": files})
        elif path == "/owner/toy.git/info/lfs/objects/batch":
            objects = [
                one | {"actions": {"upload": {"href": f"{self.server.url}/lfs/{one['oid']}"}}}
                for one in json.loads(body)["objects"]
            ]
            self._answer({"transfer": "basic", "objects": objects})
        elif path == "/api/models/owner/toy/commit/main":
            for line in body.splitlines():
                found = json.loads(line)["value"]
                if json.loads(line)["key"] == "file":
                    self.server.uploaded[found["path"]] = base64.b64decode(found["content"])
                elif json.loads(line)["key"] == "lfsFile":
                    self.server.uploaded[found["path"]] = self.server.uploaded.pop(found["oid"])
            self._answer(
                {"success": True, "commitOid": COMMIT, "commitUrl": f"{self.server.url}/owner/toy/commit/{COMMIT}"}
            )
        else:
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def do_PUT(self) -> None:
        self.server.uploaded[self.path.removeprefix("/lfs/")] = self.rfile.read(int(self.headers["Content-Length"]))
        self._send(200, b"", {})

    def _answer(self, value: object) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.server.asked[path] += 1
        self.server.reached.set()
        self.server.delay.wait()
        prefix = f"/owner/toy/resolve/{COMMIT}/"
        if path == "/api/models/owner/toy":
            self._send(200, json.dumps(self.server.info()).encode(), {"Content-Type": "application/json"})
        elif path.startswith(prefix) and path.removeprefix(prefix) in self.server.files:
            self._send_file(path.removeprefix(prefix))
        else:
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def _send_file(self, name: str) -> None:
        content = self.server.files[name]
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{hashlib.sha256(content).hexdigest()}"'}
        if self.command == "HEAD":
            self._send(200, content, headers)
            return
        if name in self.server.changed:
            content = bytes(len(content))
        first = int(self.headers.get("Range", "bytes=0-")[6:].partition("-")[0])
        if name in self.server.cut:
            self.server.cut.discard(name)
            self._send(200, content, headers, n_bytes=len(content) // 2)
            self.close_connection = True
        elif name in self.server.refused:
            self.close_connection = True
        elif first:
            headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
            self._send(206, content[first:], headers)
        else:
            self._send(200, content, headers)

    def _send(self, status: int, content: bytes, headers: dict[str, str], n_bytes: int | None = None) -> None:
        self.send_response(status)
        for key, value in (headers | {"Content-Length": str(len(content))}).items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[:n_bytes])

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def hub(toy_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    files = {path.name: path.read_bytes() for path in toy_model.iterdir()}
    server = Hub(files | {"metrics.jsonl": b"not of the model", ".gitattributes": b""})
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("G2G_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
    seen = {
        "HF_HUB_DISABLE_XET": True,
        "ENDPOINT": server.url,
        "HUGGINGFACE_CO_URL_TEMPLATE": template,
        "HF_HUB_DISABLE_IMPLICIT_TOKEN": True,
    }
    for name, value in seen.items():
        monkeypatch.setattr(f"huggingface_hub.constants.{name}", value)  # it looks at the environment only once
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _: None)  # between attempts
    yield server
    server.delay.set()
    server.shutdown()
    server.server_close()


def left() -> list[str]:
    """What is in the place for models, but the lock."""
    return sorted(path.name for path in (catalogue.home() / "models").iterdir() if path.suffix != ".lock")


@pytest.mark.slow
def test_a_model_is_fetched_once(g2g: Run, hub: Hub, toy_model: Path) -> None:
    done = g2g("download", "owner/toy")
    assert (done.code, done.err) == (0, "")
    directory = Path(done.out.strip())
    assert (
        directory == catalogue.find("owner/toy") == catalogue.find("toy") == catalogue.home() / "models" / "owner--toy"
    )
    assert {path.name for path in directory.iterdir()} == {path.name for path in toy_model.iterdir()} | {ORIGIN}
    for path in toy_model.iterdir():
        assert (directory / path.name).read_bytes() == path.read_bytes()
    assert json.loads((directory / ORIGIN).read_text())["commit"] == COMMIT
    assert left() == ["owner--toy"]
    assert [s.forms for s in graph2graph.load("owner/toy")("Yes").sentences] == [["Yes"]]
    before = hub.asked.total()
    again = g2g("download", "owner/toy")
    assert (again.code, again.out) == (0, done.out)
    assert "already" in again.err
    assert hub.asked.total() == before
    hub.files["README.md"] = b"# Another\n"
    assert g2g("download", "owner/toy", "--force").code == 0
    assert (directory / "README.md").read_bytes() == b"# Another\n"
    assert left() == ["owner--toy"]
    for model in ("owner/toy", "toy"):
        assert g2g("parse", "--model", model, "--offline", "--text", "Yes").code == 0


@pytest.fixture
def published(toy_model: Path, tmp_path: Path) -> Path:
    """A model that can be uploaded, with files that are no part of it."""
    model = tmp_path / "published"
    shutil.copytree(toy_model, model)
    (model / "README.md").write_text('---\nlicense: "cc-by-sa-4.0"\n---\n# A toy\n')
    (model / "run.json").write_text("{}")
    (model / "checkpoints").mkdir()
    (model / "checkpoints" / "model.safetensors").write_text("no part of the model")
    return model


@pytest.mark.filterwarnings("ignore:Use 'content:DeprecationWarning")  # of httpx, about huggingface-hub
def test_a_model_is_uploaded_with_its_checksums(
    g2g: Run, hub: Hub, published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_of_nobody")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_IMPLICIT_TOKEN", False)
    done = g2g("upload", published, "owner/toy")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{hub.url}/owner/toy/commit/{COMMIT}\n"
    assert hub.uploaded.keys() == {path.name for path in catalogue.files(published)}
    assert {"SHA256SUMS", "model.safetensors", "README.md"} <= hub.uploaded.keys()
    for name, content in hub.uploaded.items():
        assert content == (published / name).read_bytes()
    checksums.verify(published)
    hub.files = hub.uploaded
    checksums.verify(download("owner/toy"))


def test_what_cannot_be_uploaded(g2g: Run, hub: Hub, published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    cases: list[tuple[tuple[object, ...], str]] = [
        ((published, "owner/toy"), "owner/toy: cannot be uploaded to the hub: it wants a token"),
        ((published, "toy"), "expected owner/name"),
        ((published, "../toy"), "expected owner/name"),
        ((published / "checkpoints", "owner/toy"), "config.json: "),
    ]
    for arguments, message in cases:
        done = g2g("upload", *arguments)
        assert (done.code, done.out) == (1, ""), arguments
        assert message in done.err
        assert len(done.err.splitlines()) == 1
    for card in ("# A toy\n", "---\nlanguage: en\n---\nlicense: none\n", ""):
        (published / "README.md").write_text(card)
        assert "README.md: states no licence; begin it with" in g2g("upload", published, "owner/toy").err
    assert hub.uploaded == {}
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "forbids the network" in g2g("upload", published, "owner/toy").err


def test_names_that_lead_out_of_the_directory_are_not_fetched(hub: Hub, tmp_path: Path) -> None:
    hub.files |= {"../evil.json": b"{}", "/tmp/evil.json": b"{}", "sub/config.json": b"{}"}
    directory = download("owner/toy")
    assert {path.name for path in directory.iterdir()} <= {*catalogue.FILES, ORIGIN}
    assert not any("evil" in path for path in hub.asked)
    assert list(tmp_path.rglob("evil*")) == []


FULL_DISK = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
sys.argv = ["g2g", "download", "owner/toy"]
from graph2graph.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("limit", [100, 60_000])
def test_a_full_disk_leaves_nothing(hub: Hub, limit: int) -> None:
    """A limit on the size of files fails as a full disk does, in the first file or in the weights."""
    command = [sys.executable, "-c", FULL_DISK.format(limit=limit)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT / "src")})
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert left() == []


@pytest.mark.parametrize("name", ["model.safetensors", "labels.json"])
def test_a_wrong_checksum(g2g: Run, hub: Hub, name: str) -> None:
    hub.changed.add(name)
    done = g2g("download", "owner/toy")
    assert (done.code, done.out) == (1, "")
    assert done.err == f"g2g: owner/toy: {name} is not what was published: its checksum is wrong; try again\n"
    assert left() == []
    hub.changed.clear()
    assert g2g("download", "owner/toy").code == 0


def test_a_wrong_checksum_leaves_the_old_model(g2g: Run, hub: Hub) -> None:
    directory = download("owner/toy")
    before = (directory / "model.safetensors").read_bytes()
    hub.changed.add("model.safetensors")
    assert g2g("download", "owner/toy", "--force").code == 1
    assert left() == ["owner--toy"]
    assert (directory / "model.safetensors").read_bytes() == before


def test_a_broken_connection(g2g: Run, hub: Hub, toy_model: Path) -> None:
    hub.cut.add("model.safetensors")
    hub.refused.add("model.safetensors")
    done = g2g("download", "owner/toy")
    assert (done.code, done.out) == (1, "")
    assert "cannot be downloaded from the hub" in done.err
    assert len(done.err.splitlines()) == 1
    assert left() == []
    hub.refused.clear()
    hub.cut.add("model.safetensors")  # this time it goes on where it broke off
    assert g2g("download", "owner/toy").code == 0
    assert (catalogue.find("toy") / "model.safetensors").read_bytes() == (toy_model / "model.safetensors").read_bytes()


def test_what_is_not_there(g2g: Run, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = {
        "owner/none": "no such model on the hub",
        "none": "no such model on the hub",
        "../toy": "expected owner/name",
        "a/b/c": "expected owner/name",
        "owner--toy": "expected owner/name",
        "": "expected owner/name",
    }
    for name, message in cases.items():
        done = g2g("download", name)
        assert (done.code, done.out) == (1, ""), name
        assert message in done.err
        assert len(done.err.splitlines()) == 1
    del hub.files["labels.json"]
    done = g2g("download", "owner/toy")
    assert done.code == 1
    assert "not a graph2graph model: labels.json is missing" in done.err
    with socket.socket() as nobody:  # a port that no one listens at
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        done = g2g("download", "owner/toy")
    assert done.code == 1
    assert "cannot be downloaded from the hub" in done.err
    assert len(done.err.splitlines()) == 1
    assert g2g("download").code == 2


@pytest.mark.slow
def test_two_at_once(hub: Hub, toy_model: Path) -> None:
    hub.delay.clear()
    command = [sys.executable, "-m", "graph2graph", "download", "owner/toy"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    assert hub.reached.wait(timeout=120)
    threading.Timer(3.0, hub.delay.set).start()  # the other one is under way by then, and waits
    ended = [run.communicate(timeout=120) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], ended
    assert [out for out, _ in ended] == [f"{catalogue.download_path('owner/toy')}\n"] * 2
    assert left() == ["owner--toy"]
    assert hub.asked[f"/owner/toy/resolve/{COMMIT}/model.safetensors"] == 2  # HEAD and GET, once
    assert (catalogue.find("toy") / "model.safetensors").read_bytes() == (toy_model / "model.safetensors").read_bytes()


def test_offline(g2g: Run, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    done = g2g("download", "owner/toy", "--offline")
    assert (done.code, done.out) == (1, "")
    assert "not downloaded, and --offline or HF_HUB_OFFLINE forbids the network" in done.err
    for model, message in (("owner/toy", "g2g download owner/toy"), ("toy", "g2g download gets models from the hub")):
        with monkeypatch.context() as patch:
            patch.setenv("HF_HUB_OFFLINE", "")  # which --offline changes in this process
            done = g2g("parse", "--model", model, "--offline", "--text", "Yes")
        assert done.code == 1
        assert message in done.err
        assert len(done.err.splitlines()) == 1
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert g2g("download", "owner/toy").code == 1
    assert hub.asked.total() == 0
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    download("owner/toy")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert g2g("download", "owner/toy", "--offline").code == 0


@pytest.mark.slow
def test_without_the_hubs_library_it_is_said(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['huggingface_hub'] = None\n"
        "sys.argv = ['g2g', 'download', 'owner/toy']\n"
        "from graph2graph.cli import main\n"
        "main()"
    )
    environment = os.environ | {"G2G_HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert done.stderr == "g2g: owner/toy: the hub needs pip install 'graph2graph[hub]'\n"
