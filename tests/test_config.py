"""Settings: checked when they are read, and one line for each mistake."""

import math

import pytest

from graph2graph.config import Config
from graph2graph.errors import DataError


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"train": {"epoch": 5}}, "test: train.epoch: unknown key"),
        ({"optimiser": {}}, "test: optimiser: unknown key"),
        ({"train": {"epochs": "many"}}, "test: train.epochs: Input should be a valid integer"),
        ({"model": {"encoder": {"width": 10, "heads": 3}}}, "width 10 is not a multiple of heads 3"),
        ({"model": {"encoder": {"layers": 0}}}, "test: model.encoder.layers: "),
        ({"train": {"explore": 0.5}}, "test: train.explore: unknown key"),  # older files are migrated before
        (3, "test: Input should be a valid dictionary"),
    ],
)
def test_mistakes_are_named(values: dict[str, object], message: str) -> None:
    with pytest.raises(DataError) as caught:
        Config.parse(values, "test")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_settings_are_the_same_when_read_again() -> None:
    config = Config.parse({"train": {"seed": 3}, "decode": {"reencode": math.inf}}, "test")
    assert Config.parse(config.model_dump(mode="json"), "test") == config
    assert Config.model_validate_json(config.model_dump_json()) == config


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Config().train.seed = 2  # type: ignore[misc]
