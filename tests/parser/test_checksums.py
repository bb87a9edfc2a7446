"""Checksums: what was changed, lost or added after a model was made is found when asked for."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import graph2graph
from graph2graph.errors import DataError
from graph2graph.parser import checksums

Run = Callable[..., Any]


@pytest.fixture
def model(toy_model: Path, tmp_path: Path) -> Path:
    shutil.copytree(toy_model, tmp_path / "model")
    checksums.write(tmp_path / "model")
    (tmp_path / "model" / "metrics.jsonl").write_text("no part of the model")
    return tmp_path / "model"


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a flipped bit": (lambda model: _flip(model / "model.safetensors"), "model.safetensors: not what was published"),
    "a lost file": (lambda model: (model / "README.md").unlink(), "README.md is listed but missing"),
    "a new file": (lambda model: (model / "language.json").write_text("{}"), "language.json is not listed"),
    "no checksums": (lambda model: (model / "SHA256SUMS").unlink(), "SHA256SUMS: no checksums to verify"),
    "no list": (lambda model: (model / "SHA256SUMS").write_bytes(b"\xff\x00"), "is listed but missing"),
    "a way out": (
        lambda model: (model / "SHA256SUMS").write_text(f"{'0' * 64}  ../../etc/passwd\n"),
        "../../etc/passwd is listed but missing",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_model_is_refused_if_asked(name: str, g2g: Run, model: Path) -> None:
    change, message = CHANGES[name]
    change(model)
    for refused in (
        g2g("info", model, "--verify"),
        g2g("parse", "--model", model, "--verify", "--text", "Hey"),
    ):
        assert (refused.code, refused.out) == (1, "")
        assert message in refused.err
        assert len(refused.err.splitlines()) == 1


def test_an_unchanged_model_is_loaded(g2g: Run, model: Path) -> None:
    assert g2g("info", model, "--verify").code == 0
    assert graph2graph.load(model, verify=True)("Hey").words[0].form == "Hey"
    _flip(model / "README.md")
    with pytest.raises(DataError, match="not what was published"):
        graph2graph.load(model, verify=True)


def test_the_file_is_that_of_sha256sum(model: Path) -> None:
    if shutil.which("sha256sum") is None:
        pytest.skip("sha256sum is not installed")
    assert subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=model, check=False).returncode == 0
