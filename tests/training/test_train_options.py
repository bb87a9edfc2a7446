"""The options of a run: what a resumed run takes from its record, and what it refuses."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, Result
from graph2graph.config import Config
from graph2graph.errors import DataError
from graph2graph.reproduce.plans import Plans
from graph2graph.reproduce.rows import ProfileName, table_names
from graph2graph.training.options import TrainOptions
from graph2graph.training.record import Asked, RunRecord, read_record, write_record
from graph2graph.training.request import Request
from graph2graph.training.sizes import SHAPE, is_sized
from graph2graph.variants import VARIANTS
from toy_training import TINY_FLAGS, TOY

GIVEN = TrainOptions(
    train=[TOY, TOY],
    dev=TOY,
    encoder="some/encoder",
    variant="sent",
    tags="xpos",
    settings={"train.epochs": 7, "train.adam_betas": [0.8, 0.9]},
    time_limit=300.0,
    license="CC0",
    processes=2,
)


def begun(output: Path, options: TrainOptions = GIVEN) -> Request:
    """A run with these options that has just begun."""
    request = options.request(output, resume=False, command="g2g train …")
    write_record(output, RunRecord(asked=request.asked(request.processes), command=request.command))
    return request


def resumed(output: Path, **given: Any) -> Request:
    return TrainOptions(**given).request(output, resume=True, command="g2g train --resume")


def test_what_is_not_given_comes_from_the_run(tmp_path: Path) -> None:
    """The README's own command: it gave "encoder is not the same as when the run began"."""
    request = begun(tmp_path)
    assert request.config.train.epochs == 7
    for given in ({}, {"train": [TOY, TOY], "dev": TOY}):
        again = resumed(tmp_path, **given)
        assert again == replace(request, resume=True)
        assert again.asked(2) == request.asked(2)
    assert "layers" not in resumed(tmp_path).config.model.encoder.model_fields_set  # the encoder may have fewer than 6


def test_the_same_options_may_be_given_again(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('encoder = "other"\nvariant = "sent-g2g"\n[train]\nepochs = 3\nseed = 5\n')
    options = replace(GIVEN, file=file)
    begun(tmp_path, options)
    again = options.request(tmp_path, resume=True, command="")
    assert (again.config.train.epochs, again.config.train.seed) == (7, 5)
    assert again.encoder == "some/encoder"
    assert resumed(tmp_path, encoder="moved/to/encoder").encoder == "some/encoder"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"encoder": "another"}, "--encoder another contradicts the run to be resumed, which has encoder"),
        ({"encoder": "none"}, "--encoder none contradicts"),
        ({"encoder": "paper-size"}, "--encoder paper-size contradicts"),
        ({"variant": "sent-g2g"}, "--model sent-g2g contradicts the run to be resumed, which has sent:"),
        ({"start": "DIR"}, "--start .* contradicts the run to be resumed, which has none:"),
        ({"tags": "upos"}, "--tags upos contradicts the run to be resumed, which has xpos:"),
        ({"settings": {"train.epochs": 8}}, "--set train.epochs=8 contradicts the run to be resumed, which has 7:"),
        ({"settings": {"train": {"epochs": 8}}}, "--set train.epochs=8 contradicts"),
        ({"settings": {"train.seed": 2, "train.epochs": 7}}, "--set train.seed=2 contradicts"),
        ({"settings": {"decode.reencode": 0.5}}, "--set decode.reencode=0.5 contradicts .* which has inf:"),
        ({"settings": {"model.encoder.layers": 2}}, "--set model.encoder.layers=2 contradicts"),
        ({"settings": {"train.epoch": 7}}, "train.epoch: unknown key"),
        ({"file": "FILE"}, "train.clip in --config .* contradicts the run to be resumed, which has 1.0:"),
        ({"time_limit": 600.0}, "--time-limit 10m contradicts the run to be resumed, which has 5m:"),
        ({"license": "MIT"}, "--license MIT contradicts the run to be resumed, which has CC0:"),
        ({"processes": 1}, "--processes 1 contradicts the run to be resumed, which has 2:"),
    ],
)
def test_what_contradicts_the_run_is_refused_by_name(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    begun(tmp_path)
    before = (tmp_path / "run.json").read_bytes()
    if "file" in given:
        given = {"file": tmp_path / "settings.toml"}
        given["file"].write_text("[train]\nepochs = 7\nclip = 0.5\n")
    if "start" in given:
        given = {"start": str(tmp_path)}
        for name in ("config.json", "labels.json", "tokenizer.json", "model.safetensors"):
            (tmp_path / name).touch()
    with pytest.raises(DataError, match=message):
        resumed(tmp_path, **given)
    assert (tmp_path / "run.json").read_bytes() == before


def test_a_run_of_an_older_release_has_no_time_limit_on_record(tmp_path: Path) -> None:
    request = begun(tmp_path)
    record = json.loads((tmp_path / "run.json").read_text())
    for name in ("time_limit", "license", "start"):
        del record["asked"][name]
    (tmp_path / "run.json").write_text(json.dumps(record))
    assert resumed(tmp_path, time_limit=600.0, license="MIT").time_limit == 600.0
    assert resumed(tmp_path).license == "not stated"
    assert resumed(tmp_path).config == request.config


def test_without_a_run_there_is_nothing_to_resume(tmp_path: Path, g2g: Callable[..., Result]) -> None:
    done = g2g("train", "--output", tmp_path / "none", "--resume")
    assert (done.code, done.err) == (
        1,
        f"g2g: {tmp_path}/none: there is no run to resume; give TRAIN and DEV to begin one\n",
    )


def changed(**changes: object) -> str:
    """The record of a run with another shape."""
    asked = {"train": ["a", "b"], "dev": ["a", "b"], "encoder": "x", "settings": {}, "processes": 1}
    return json.dumps({"asked": asked | changes})


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '"run"',
        "{}",
        '{"asked": 3}',
        '{"asked": {"train": "x"}}',
        changed(train=["a"]),
        changed(dev=[]),
        changed(encoder=3),
        changed(settings={"model": 3}),
        changed(settings={"model": {"encoder": 1}}),
        changed(settings={"format": 99}),
        '{"finished": true}',
        b"\xff\x00",
    ],
)
def test_a_record_of_another_shape_is_one_clear_line(
    content: str | bytes, tmp_path: Path, g2g: Callable[..., Result]
) -> None:
    """It was a traceback, or a run that counted as finished."""
    path = tmp_path / "run.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = path.read_bytes()
    done = g2g("train", TOY, TOY, *TINY_FLAGS, "-o", tmp_path, "--resume")
    assert done.code == 1
    assert done.err.startswith(f"g2g: {path}: ")
    assert done.err.endswith("choose another --output\n")
    assert len(done.err.splitlines()) == 1
    assert path.read_bytes() == before


# ---------------------------------------------------------------------- sizes


def asked_for(n_words: int, **given: Any) -> Config:
    options = TrainOptions(train=[TOY], dev=TOY, **given)
    return options.request(Path("out"), resume=False, command="").sized(n_words).config


def test_from_scratch_the_size_follows_the_treebank_unless_it_is_set() -> None:
    sizes = [asked_for(n_words).model.encoder for n_words in (1, 5_000, 50_000, 200_000, 950_000)]
    assert [size.width for size in sizes] == sorted(size.width for size in sizes)
    assert (sizes[0].layers, sizes[0].width) == (3, 192)
    paper = Config().model.encoder
    assert (paper.layers, paper.width, paper.heads, paper.inner_width) == (6, 768, 12, 3072)
    assert asked_for(10, encoder="paper-size").model.encoder == paper
    assert asked_for(10, encoder="paper-size", settings={"model.encoder.layers": 2}).model.encoder.layers == 2
    assert asked_for(10, settings={"model.encoder.width": 24}).model.encoder.layers == 6
    assert asked_for(10, encoder="some/encoder").model.encoder == paper  # to be replaced by the encoder's own shape
    assert asked_for(10, encoder="none") == asked_for(10)


def test_a_run_that_an_older_release_began_in_the_papers_size_keeps_it(tmp_path: Path) -> None:
    begun(tmp_path, TrainOptions(train=[TOY], dev=TOY, encoder="paper-size"))
    assert resumed(tmp_path).sized(10).config.model.encoder.width == 768


@pytest.mark.parametrize("profile", ["cpu", "paper"])
def test_no_row_of_a_table_depends_on_the_size_of_its_treebank(profile: ProfileName) -> None:
    n_scratch = 0
    for name in table_names(ROOT / "experiments"):
        for run in Plans.read(ROOT / "experiments", name, profile).runs():
            n_scratch += run.encoder is None
            assert run.encoder is not None or is_sized(run.config), run.name
            assert run.encoder is not None or set(SHAPE) <= run.config.model.encoder.model_fields_set, run.name
    assert n_scratch >= 2


# ---------------------------------------------------------------------- several files


def test_several_training_files(tmp_path: Path, g2g: Callable[..., Result]) -> None:
    """The same model as from one file with their sentences."""
    blocks = TOY.read_text().rstrip("\n").split("\n\n")
    parts = [tmp_path / "a.conllu", tmp_path / "b.conllu"]
    for part, some in zip(parts, (blocks[:3], blocks[3:]), strict=True):
        part.write_text("\n\n".join(some) + "\n\n")
    flags = [*TINY_FLAGS, "--set=train.epochs=1", "--model=sent"]
    assert g2g("train", *parts, "--dev", TOY, *flags, "-o", tmp_path / "two").code == 0
    assert g2g("train", TOY, TOY, *flags, "-o", tmp_path / "one").code == 0
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two")]
    assert weights[0] == weights[1]
    card = (tmp_path / "two" / "README.md").read_text()
    assert f"{tmp_path.name}/a.conllu, {tmp_path.name}/b.conllu: 7 sentences" in card
    record = read_record(tmp_path / "two")
    assert record is not None
    assert record.asked.files == (parts, TOY)
    assert "finished" in g2g("train", "-o", tmp_path / "two", "--resume").err
    parts[1].write_text(parts[1].read_text().replace("\tnsubj\t", "\tsubject\t"))
    assert "train is not the same" in g2g("train", "-o", tmp_path / "two", "--resume").err


@pytest.mark.parametrize("files", [[TOY], [TOY, TOY, TOY], ["--dev", TOY], ["--dev", TOY, "--resume"], []])
def test_which_files_are_to_be_given(files: list[Any], tmp_path: Path, g2g: Callable[..., Result]) -> None:
    done = g2g("train", *files, "-o", tmp_path / "out")
    assert done.code == 2
    assert "TRAIN and DEV, or several training files and --dev DEV" in " ".join(done.err.split())


def test_variants_are_known_by_their_own_settings() -> None:
    """So that --model can be compared with a run whatever other settings it has."""
    for name in VARIANTS:
        asked = TrainOptions(train=[TOY], dev=TOY, variant=name, settings={"train.stale_weight": 0.5})
        request = asked.request(Path("out"), resume=False, command="")
        again = Asked(**request.asked(1).model_dump()).config("test")
        assert again == request.config
