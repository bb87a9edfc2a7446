"""Paths of a clone, and files that a treebank lacks."""

from dataclasses import replace
from pathlib import Path

import pytest

from conftest import ROOT
from graph2graph.errors import DataError
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.plans import Plans
from graph2graph.treebank import conllu
from toy_table import TOY


def test_the_clone_is_around_us_or_around_the_package(clone: Path, tmp_path: Path) -> None:
    (clone / "docs").mkdir()
    assert Paths.find(start=clone / "docs") == Paths(clone, tmp_path / "shared" / "treebanks")
    assert Paths.find(start=tmp_path).root == ROOT


def test_without_a_clone_one_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Paths.find.__globals__, "__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    with pytest.raises(DataError, match="clone it"):
        Paths.find(start=tmp_path)


def test_treebanks_may_be_elsewhere(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("G2G_TREEBANKS", str(tmp_path / "a"))
    assert Paths.find().treebanks == tmp_path / "a"
    assert Paths.find(tmp_path / "b").treebanks == tmp_path / "b"


def test_published_paths_tell_nothing_of_the_machine(clone: Path) -> None:
    paths = Paths.find()
    assert paths.published(paths.treebanks / "toy" / "dev.conllu") == "$G2G_TREEBANKS/toy/dev.conllu"
    assert paths.published(clone / "runs" / "x") == "runs/x"


def test_a_missing_encoder_is_named_with_the_command_that_fetches_it(clone: Path) -> None:
    paths, run = Paths.find(), Plans.read(clone / "experiments", "toy").run("sent", 1)
    assert paths.lacking(run) is None
    lacking = paths.lacking(replace(run, encoder=".weights/minilm-l6"))
    assert lacking == "no .weights/minilm-l6 (python experiments/encoders.py minilm-l6)"


def test_without_a_development_file_the_end_of_train_is_held_out(clone: Path, tmp_path: Path) -> None:
    directory = tmp_path / "shared" / "treebanks" / "toy"
    (directory / "dev.conllu").unlink()
    sentences = list(conllu.read(TOY)) * 5
    conllu.write(sentences, directory / "train.conllu")
    paths = Paths.find()
    run = Plans.read(paths.experiments, "toy").run("sent", 1)
    assert paths.lacking(run) is None
    paths.prepare(run)
    files = paths.files(run)
    parts = [[sentence.sent_id for sentence in conllu.read(files[split])] for split in ("train", "dev")]
    assert parts[0] + parts[1] == [sentence.sent_id for sentence in sentences]
    assert len(parts[1]) == 4
    assert files["test"] == directory / "test.conllu"
    assert files["watched"] == files["dev"]


def test_a_part_of_dev_is_evenly_spaced(clone: Path) -> None:
    paths = Paths.find()
    whole = Plans.read(paths.experiments, "toy").run("sent", 1)
    run = replace(whole, dev_sentences=3)
    assert run.plan != whole.plan
    paths.prepare(run)
    watched = [sentence.sent_id for sentence in conllu.read(paths.files(run)["watched"])]
    every = [sentence.sent_id for sentence in conllu.read(TOY)]
    assert watched == [every[0], every[2], every[4]]
