"""Malformed and hostile forms: each is refused in one line, after little work."""

import threading
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph2graph.server import udpipe_api
from graph2graph.server.forms import MAX_FIELDS, MULTIPART, fields
from graph2graph.server.limits import RequestRefused
from server_tools import FORM, ask, multipart

pytestmark = pytest.mark.usefixtures("one_thread")

KIND = f"{MULTIPART}; boundary=x"
NAMED = b'form-data; name="data"'
MANY = 200_000


def part(disposition: bytes = NAMED, value: bytes = b"v", headers: bytes = b"") -> bytes:
    return b"--x\r\nContent-Disposition: " + disposition + b"\r\n" + headers + b"\r\n" + value + b"\r\n"


@pytest.mark.parametrize("body", [b"", b"x", b"--x\r\n\r\n\r\n--x--\r\n", b"--x\r\nA: b\r\n\r\ny\r\n--x--", part()])
def test_malformed_forms(body: bytes) -> None:
    with pytest.raises(RequestRefused, match="multipart form"):
        fields(b"", KIND, body)


def test_forms_of_all_sizes() -> None:
    assert fields(b"", KIND, b"--x--") == {}
    assert fields(b"data=a&model=b", KIND, part(value=b"c") + part(value=b"\r\n--xd") + b"--x--") == {
        "data": "\r\n--xd",
        "model": "b",
    }
    large = "é\r\n" * 400_000  # beyond the size at which form parsers write files to disk
    named_file = part(NAMED + b'; filename="../data.txt"', large.encode())
    assert fields(b"", KIND, named_file + b"--x--") == {"data": large}
    assert fields(b"", KIND, part(b'form-data; name="\xff"', b"") + b"--x--") == {"\ufffd": ""}
    encoded = part(NAMED, b"w6k=", b"Content-Transfer-Encoding: base64\r\n")
    assert fields(b"", KIND, encoded + b"--x--") == {"data": "é"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (part(b'form-data; name="' + b";" * MANY + b'"'), "Maximum header size exceeded"),
        (part(headers=b"A: b\r\n" + b" c\r\n" * MANY), "malformed: "),
        (part(headers=b"A: b\r\n" * MANY), "Maximum header count exceeded"),
        (part() * MANY, f"more than {MAX_FIELDS} fields in the body"),
        (b"--x\r\n" + b"a" * MANY, "Maximum header size exceeded"),
    ],
    ids=["semicolons", "folded", "headers", "parts", "name"],
)
def test_hostile_forms_reach_a_limit(body: bytes, message: str) -> None:
    """The limit is reached near the start: a rest that would be wrong too is not read."""
    with pytest.raises(RequestRefused, match=message) as refused:
        fields(b"", KIND, body + b"\0not a form")
    assert refused.value.status == 400
    assert len(refused.value.detail) < 200
    assert "\n" not in refused.value.detail


@pytest.mark.parametrize(
    "kind",
    [
        MULTIPART,
        f"{MULTIPART}; boundary*=nonsense''x",
        f"{MULTIPART}; boundary*0*=idna''x%ff; boundary*1=y",
        f"{MULTIPART}; boundary*=utf-16''%d8",
        f"{MULTIPART}; boundary={'b' * 300}",
        f'{MULTIPART}; boundary="{";" * 60_000}',
    ],
)
def test_odd_boundaries(url: str, kind: str) -> None:
    refused = ask(url, "/process", part() + b"--x--", kind)
    assert (refused.status, "\n" in refused.detail) == (400, False)


@given(st.data())
def test_broken_forms_are_read_or_refused(data: st.DataObject) -> None:
    body = part(value=b"a") + part(NAMED + b"; filename=b") + b"--x--\r\n"
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(body)))
        inserted = data.draw(st.sampled_from([b"\r", b"\n", b"-", b"--x", b":", b";", b'="', b"\0", b" ", b"\xff"]))
        body = body[:start] + inserted + body[start + data.draw(st.integers(0, 3)) :]
    with suppress(RequestRefused):
        assert len(fields(b"", KIND, body)) <= MAX_FIELDS


def test_large_forms_are_read_beside_the_event_loop(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    readers: list[str] = []

    def watched(*sent: Any) -> dict[str, str]:
        readers.append(threading.current_thread().name)
        return fields(*sent)

    monkeypatch.setattr(udpipe_api, "fields", watched)
    ask(url, "/process", *multipart({"data": "#" * 100_000}))
    ask(url, "/process", "x=" + "#" * 100_000, FORM)
    ask(url, "/process", *multipart({"data": ""}))
    assert [name.startswith("text") for name in readers] == [True, True, False]
