"""Settings of older releases are read by this one."""

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest

from graph2graph import __version__
from graph2graph.config import Config
from graph2graph.errors import DataError
from graph2graph.parser import migration
from graph2graph.parser.migration import FORMAT, dump_config, migrated, parse_config

FORMAT_1 = Path(__file__).parents[1] / "data" / "format1"


def first_format(name: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((FORMAT_1 / f"{name}.json").read_text())["config"]
    return values


def test_settings_survive_being_written_and_read() -> None:
    config = Config.parse({"decode": {"reencode": math.inf}, "train": {"seed": 7}}, "test")
    written = json.loads(json.dumps(dump_config(config), allow_nan=False))
    assert (written["format"], written["release"]) == (FORMAT, __version__)
    assert parse_config(written, "test") == config


def test_settings_that_were_cut_are_dropped() -> None:
    values = first_format("sent-g2g")
    assert values["train"]["explore"] == 0.25
    before = copy.deepcopy(values)
    config = parse_config(values, "config.json")
    assert values == before
    expected = copy.deepcopy(before)
    del expected["train"]["explore"], expected["model"]["encoder"]["relation_std"]
    expected["train"]["precision"] = "fp32"  # the only one there was
    assert config == Config.parse(expected, "test")


def test_this_format_does_not_know_settings_that_were_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "OLD_DEFAULTS", {})
    monkeypatch.setitem(migration.CHANGES, 2, {"train.colour": None})
    assert migrated({"train": {"colour": "red", "seed": 1}}, "x") == {"train": {"seed": 1}}
    assert migrated({"format": 2, "train": {"colour": "red"}}, "x") == {"train": {"colour": "red"}}
    with pytest.raises(DataError, match=r"^config\.json: train\.colour: unknown key$"):
        parse_config({"format": 2, "train": {"colour": "red"}}, "config.json")


def test_a_renamed_setting_keeps_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "OLD_DEFAULTS", {})
    monkeypatch.setitem(migration.CHANGES, 2, {"train.speed": "train.learning_rate", "hue": "model.encoder.hue"})
    assert migrated({"train": {"speed": 0.1}, "hue": 3}, "x") == {
        "train": {"learning_rate": 0.1},
        "model": {"encoder": {"hue": 3}},
    }
    assert migrated({"train": {"seed": 1}}, "x")["train"] == {"seed": 1}
    assert migrated({"format": 2, "train": {"speed": 0.1}}, "x") == {"train": {"speed": 0.1}}


def test_settings_can_be_cut_one_format_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "OLD_DEFAULTS", {})
    monkeypatch.setattr(migration, "FORMAT", 4)
    changes = {3: {"model.encoder.hue": None}, 4: {"data": None}}
    monkeypatch.setattr(migration, "CHANGES", migration.CHANGES | changes)
    old = {"model": {"encoder": {"hue": "red", "layers": 2}}, "data": {"tags": "xpos"}}
    assert migrated(old, "x") == {"model": {"encoder": {"layers": 2}}}
    assert migrated(old | {"format": 4}, "x") == old
    assert migrated({"train": 3}, "x") == {"train": 3}  # Config.parse says what is wrong with it
    with pytest.raises(DataError, match="train"):
        parse_config({"train": 3}, "x")


@pytest.mark.parametrize(
    ("extra", "way_out"), [({"release": "0.9.0"}, "install graph2graph 0.9.0 or newer"), ({}, "update graph2graph")]
)
def test_a_newer_format_is_refused(extra: dict[str, str], way_out: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_config({"format": FORMAT + 1, "wings": 2} | extra, "m/config.json")
    assert str(caught.value) == (
        f"m/config.json: format {FORMAT + 1}; graph2graph {__version__} reads formats up to {FORMAT}: {way_out}"
    )


@pytest.mark.parametrize("number", [0, -1, "2", 1.5, True, None])
def test_a_format_is_a_number(number: object) -> None:
    with pytest.raises(DataError, match=r"^x: format: expected a number from 1 on, found "):
        migrated({"format": number}, "x")


def test_each_format_has_its_changes() -> None:
    assert sorted(migration.CHANGES) == list(range(2, FORMAT + 1))
