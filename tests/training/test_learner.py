"""Learning rates."""

from itertools import pairwise

import pytest

from graph2graph.config import TrainConfig
from graph2graph.parser.parser import Parser
from graph2graph.training.learner import optimiser, set_rate
from toy_training import tiny_parser

DEFAULTS = TrainConfig()


def rates(parser: Parser, config: TrainConfig = DEFAULTS, *, pretrained: bool) -> dict[str, float]:
    """The learning rate of each parameter."""
    names = {id(parameter): name for name, parameter in parser.model.named_parameters()}
    groups = optimiser(parser.model, config, pretrained=pretrained).param_groups
    return {names[id(parameter)]: group["lr"] for group in groups for parameter in group["params"]}


def test_the_rate_rises_and_falls() -> None:
    adam = optimiser(tiny_parser().model, DEFAULTS, pretrained=True)
    shares = [set_rate(adam, step, 100, 0.1) for step in range(100)]
    assert shares[0] == pytest.approx(0.1)
    assert max(shares) == 1
    assert shares[-1] == pytest.approx(1 / 90)
    assert all(later <= earlier for earlier, later in pairwise(shares[10:]))


def test_pretrained_and_new_parameters_have_their_own_rates() -> None:
    found = rates(tiny_parser(), pretrained=True)
    assert found["encoder.words.weight"] == DEFAULTS.learning_rate
    assert found["encoder.layers.0.attention.relation_keys"] == DEFAULTS.new_learning_rate
    assert found["root"] == DEFAULTS.new_learning_rate


def test_one_rate_for_all_and_one_for_what_reads_the_graph() -> None:
    parser = tiny_parser()
    assert set(rates(parser, TrainConfig(one_optimiser=True), pretrained=True).values()) == {DEFAULTS.learning_rate}
    found = rates(parser, TrainConfig(one_optimiser=True, graph_learning_rate=1e-2), pretrained=True)
    assert {name for name, rate in found.items() if rate == 1e-2} == {
        name for name in found if ".relation_" in name or name == "labels.weight"
    }


def test_rates_from_scratch() -> None:
    assert set(rates(tiny_parser(), pretrained=False).values()) == {DEFAULTS.scratch_learning_rate}
    found = rates(tiny_parser("state"), pretrained=False)
    assert {rate for name, rate in found.items() if name.startswith("composition.")} == {
        DEFAULTS.composition_learning_rate
    }
