"""The settings of a run: defaults of its variant, a file, single changes."""

import pytest

from graph2graph.config import TrainConfig
from graph2graph.errors import DataError
from graph2graph.training.settings import resolve


def test_a_variant_has_its_own_defaults_and_they_are_the_weakest() -> None:
    assert resolve({}, variant="state-cls", changes={}).train.new_learning_rate == 5e-4
    assert resolve({}, variant="sent", changes={}).train.new_learning_rate == TrainConfig().new_learning_rate
    given = {"train": {"new_learning_rate": 1e-3}}
    assert resolve(given, variant="state-cls", changes={}).train.new_learning_rate == 1e-3
    changed = resolve(given, variant="state-cls", changes={"train.new_learning_rate": 2e-3})
    assert changed.train.new_learning_rate == 2e-3
    assert given == {"train": {"new_learning_rate": 1e-3}}


def test_the_variant_may_be_described() -> None:
    assert resolve({}, changes={}).model.graph_input
    assert not resolve({"model": {"graph_input": False}}, changes={}).model.graph_input


@pytest.mark.parametrize("name", ["train", "model"])
def test_a_group_must_be_one(name: str) -> None:
    with pytest.raises(DataError, match=name):
        resolve({name: 3}, variant="state-cls", changes={})
