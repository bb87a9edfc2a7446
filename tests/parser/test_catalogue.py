"""Names of models: which directory each stands for."""

import shutil
from pathlib import Path

import pytest

from graph2graph.errors import DataError
from graph2graph.parser import catalogue
from graph2graph.parser.hub import download


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A directory that looks like a model."""
    directory = tmp_path / "model"
    directory.mkdir()
    (directory / "config.json").write_text("{}")
    return directory


def test_names(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("G2G_HOME", str(tmp_path))
    for folder in ("a--toy", "b--toy", "b--other", "c--xx", ".d--part"):
        shutil.copytree(model, tmp_path / "models" / folder)
    assert list(catalogue.downloaded()) == ["a/toy", "b/other", "b/toy", "c/xx"]
    assert catalogue.find("b/toy").name == "b--toy"
    assert catalogue.find("other").name == "b--other"
    with pytest.raises(DataError, match="which one, a/toy or b/toy"):
        catalogue.find("toy")
    monkeypatch.setattr(catalogue, "shipped", lambda: {"xx": model})
    assert catalogue.find("xx") == model  # what is shipped goes first
    assert download("xx", offline=True) == model
    monkeypatch.delenv("G2G_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert catalogue.home() == tmp_path / "cache" / "graph2graph"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert catalogue.home() == tmp_path / ".cache" / "graph2graph"


@pytest.mark.parametrize("name", ["../toy", "a/b/c", "owner--toy", "", "a/..", "x y", "-x"])
def test_only_names_of_the_hub_are_downloaded(name: str) -> None:
    with pytest.raises(DataError, match="not the name of a model on the hub; expected owner/name"):
        download(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("./en", r"^\./en: no such model directory$"),
        ("owner/toy", "no downloaded model of that name: g2g download owner/toy"),
        ("toy", r"^toy: no such model \(shipped: en\); the directory"),
    ],
)
def test_an_unknown_model_is_an_error_that_says_what_to_do(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("G2G_HOME", str(tmp_path))
    monkeypatch.setattr(catalogue, "shipped", lambda: {"en": tmp_path})
    with pytest.raises(DataError, match=message):
        catalogue.find(name)


def test_a_directory_comes_before_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "shipped", lambda: {"en": tmp_path})
    monkeypatch.chdir(tmp_path)
    assert catalogue.find("en") == tmp_path
    (tmp_path / "en").mkdir()
    assert catalogue.find("en") == Path("en")
