"""Malformed forms."""

import pytest

from graph2graph.server.forms import fields
from graph2graph.server.limits import RequestRefused

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("body", [b"", b"--x--", b"x", b"--x\r\n\r\n\r\n--x--\r\n", b"--x\r\nA: b\r\n\r\ny\r\n--x--"])
def test_forms_that_are_none(body: bytes) -> None:
    if body == b"--x--":
        assert fields(b"", "multipart/form-data; boundary=x", body) == {}
        return
    with pytest.raises(RequestRefused, match="multipart form"):
        fields(b"", "multipart/form-data; boundary=x", body)
