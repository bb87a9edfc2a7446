"""The variants of the paper."""

import pytest

from graph2graph.config import Config, ModelConfig
from graph2graph.variants import VARIANTS, Variant, variant_of


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=list(VARIANTS))
def test_a_variant_is_known_by_its_settings_whatever_helps_it(variant: Variant) -> None:
    assert VARIANTS[variant.name] is variant
    assert variant_of(ModelConfig(**variant.model)) is variant
    assert variant_of(Config.parse(variant.complete({}), "test").model) is variant


def test_other_models_are_no_variant() -> None:
    assert variant_of(ModelConfig(input="state", graph_input=False)) is None


def test_settings_are_stronger_than_those_of_the_variant() -> None:
    given = {"model": {"tagger": False}, "data": {"tags": "xpos"}}
    complete = VARIANTS["state-cls"].complete(given)
    assert complete["model"] == VARIANTS["state-cls"].model | {"tagger": False}
    assert complete["train"] == {"new_learning_rate": 5e-4}
    assert complete["data"] == {"tags": "xpos"}
    assert given == {"model": {"tagger": False}, "data": {"tags": "xpos"}}
