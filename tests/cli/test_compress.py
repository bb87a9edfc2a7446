"""`g2g compress` makes a small model that all commands take."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from graph2graph.parser import checksums, compression
from graph2graph.parser.parser import Parser

Run = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def all_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices of a toy model are worth compressing."""
    monkeypatch.setattr(compression, "LARGE", 1)


@pytest.mark.usefixtures("all_is_large")
def test_a_small_model(g2g: Run, toy_model: Path, tmp_path: Path) -> None:
    small = tmp_path / "models" / "small"
    done = g2g("compress", toy_model, "-o", small)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert {path.name for path in small.iterdir()} == {path.name for path in toy_model.iterdir()} | {"SHA256SUMS"}
    checksums.verify(small)
    assert (small / "text.udpipe").read_bytes() == (toy_model / "text.udpipe").read_bytes()
    found, before = (json.loads(g2g("info", model, "--json").out) for model in (small, toy_model))
    assert (found["stored"], before["stored"]) == ("int8", "fp32")
    assert found["parameters"] == before["parameters"]
    assert found["card"].startswith(before["card"])
    assert "stored in 8 bits, by `g2g compress`" in found["card"]
    assert "stored in 8 bits" in g2g("info", small).out
    old, new = (Parser.load(model).model.state_dict() for model in (toy_model, small))
    for name, weight in old.items():
        assert torch.allclose(new[name], weight, atol=float(weight.abs().max()) / 100)
    assert g2g("parse", "--model", small, "--text", "The dog barks.").code == 0


@pytest.mark.usefixtures("all_is_large")
def test_what_it_refuses(g2g: Run, bare_model: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    assert g2g("compress", bare_model, "-o", small).code == 0
    assert not (small / "README.md").exists() or (bare_model / "README.md").exists()
    (tmp_path / "file").write_text("")
    for source, target, message in (
        (bare_model, small, "small: already there; name a new directory"),
        (bare_model, bare_model, "bare: already there"),
        (bare_model, tmp_path / "file", "file: already there"),
        (bare_model, tmp_path / "file" / "model", "file/model: Not a directory"),
        (small, tmp_path / "smaller", "small: already stored in 8 bits"),
        (tmp_path, tmp_path / "smaller", "no such file"),
        ("none-such", tmp_path / "smaller", "none-such: no such model"),
    ):
        done = g2g("compress", source, "-o", target)
        assert (done.code, done.out) == (1, "")
        assert message in done.err
        assert len(done.err.splitlines()) == 1
    assert not (tmp_path / "smaller").exists()
