"""The files of the page."""

from pathlib import Path

import pytest

from graph2graph.server import app
from server_tools import Run, ask

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_page(limited: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with limited() as url:
        monkeypatch.setattr(app, "PAGE", tmp_path)
        (tmp_path / "index.html").write_text("<p>é")
        (tmp_path / "page.js").write_text("1")
        (tmp_path / "secret.py").write_text("1")
        assert ask(url, "/").body.decode() == "<p>é"
        assert ask(url, "/page/page.js").headers["content-type"] == "text/javascript; charset=utf-8"
        assert ask(url, "/page/secret.py").status == 404
        assert ask(url, "/page/%2e%2e%2fsecret.py").status == 404
