"""The variants of the paper: their settings; and each learns the toy treebank, with and without pretrained weights."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from graph2graph.config import Config, EncoderConfig, ModelConfig, TrainConfig
from graph2graph.errors import DataError
from graph2graph.parser.parser import Parser
from graph2graph.training.examples import training_examples
from graph2graph.training.loss import batch_loss
from graph2graph.training.supervision import supervise, total_weight
from graph2graph.transition.state import Action
from graph2graph.treebank import conllu
from graph2graph.variants import VARIANTS, Variant, resolve, variant_of
from tiny_parsers import MODELS, TOY, VOCABULARY, every_state, tiny, trees, unparsed, unparsed_text

pytestmark = pytest.mark.usefixtures("one_thread")


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


def test_a_variant_has_its_own_defaults_and_they_are_the_weakest() -> None:
    assert resolve({}, {}, variant="state-cls").train.new_learning_rate == 5e-4
    assert resolve({}, {}, variant="sent").train.new_learning_rate == TrainConfig().new_learning_rate
    given = {"train": {"new_learning_rate": 1e-3}}
    assert resolve(given, {}, variant="state-cls").train.new_learning_rate == 1e-3
    changed = resolve(given, {"train.new_learning_rate": 2e-3}, variant="state-cls")
    assert changed.train.new_learning_rate == 2e-3
    assert given == {"train": {"new_learning_rate": 1e-3}}


def test_the_variant_may_be_described() -> None:
    assert resolve({}, {}).model.graph_input
    assert not resolve({"model": {"graph_input": False}}, {}).model.graph_input


@pytest.mark.parametrize("name", ["train", "model"])
def test_a_group_must_be_one(name: str) -> None:
    with pytest.raises(DataError, match=name):
        resolve({name: 3}, {}, variant="state-cls")


def train(parser: Parser, *, rate: float, at_most: int) -> None:
    """Train on the toy treebank until it is parsed without an error."""
    batch = supervise(every_state(training_examples(parser, TOY)), parser.config.model)
    optimiser = torch.optim.Adam([one for one in parser.model.parameters() if one.requires_grad], lr=rate)
    weight = total_weight([batch])
    for step in range(1, at_most + 1):
        parser.model.train()
        loss = batch_loss(parser.model, batch).total
        optimiser.zero_grad()
        (loss / weight).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if step % 5 == 0 and loss.item() / weight < 0.3:
            parser.model.eval()
            if trees(list(parser.parse(TOY))) == trees(TOY):
                return
    pytest.fail(f"loss {loss.item() / weight:.3f} after {at_most} steps")


@pytest.fixture(scope="module", params=MODELS)
def learnt(request: pytest.FixtureRequest) -> Parser:
    """Each model, trained on the toy treebank from nothing."""
    parser = tiny(request.param)
    train(parser, rate=3e-3, at_most=300)
    return parser


@pytest.fixture(scope="module", params=VARIANTS)
def learnt_from_pretrained(request: pytest.FixtureRequest, encoder_dir: Callable[[str], Path]) -> Parser:
    """Each variant, trained on the toy treebank from the first layer of MiniLM."""
    encoder = encoder_dir("minilm-l6")
    torch.manual_seed(0)
    parts = VARIANTS[request.param].model
    sizes = {"exist_hidden": 100, "relation_hidden": 50, "history_width": 64, "composition_hidden": 64}
    shape = EncoderConfig(layers=1, dropout=0.0, attention_dropout=0.0)
    parser = Parser.create(Config(model=ModelConfig(**parts, **sizes, encoder=shape)), VOCABULARY, encoder=encoder)
    # 11.7 million numbers, of which the toy treebank has some sixty rows: they would take most of the time
    parser.model.encoder.words.weight.requires_grad_(False)
    train(parser, rate=2e-3, at_most=250)
    return parser


def check_trees(parser: Parser, directory: Path) -> None:
    """The toy treebank is parsed without an error: after saving and loading, at any batch size, in any order."""
    parser.save(directory)
    loaded = Parser.load(directory)
    assert loaded.config == parser.config
    bare = [unparsed(sentence) for sentence in TOY]
    for one, batch_tokens in ((parser, 10_000), (loaded, 10_000), (loaded, 50), (loaded, 1)):
        assert trees(list(one.parse(bare, batch_tokens=batch_tokens))) == trees(TOY)
    backwards = list(loaded.parse(bare[::-1], batch_tokens=40))
    assert trees(backwards[::-1]) == trees(TOY)
    assert [sentence.sent_id for sentence in backwards[::-1]] == [sentence.sent_id for sentence in TOY]


@pytest.mark.slow
def test_learns_the_toy_treebank(learnt: Parser, tmp_path: Path) -> None:
    check_trees(learnt, tmp_path / "model")


@pytest.mark.slow
def test_learns_the_toy_treebank_from_pretrained_weights(learnt_from_pretrained: Parser, tmp_path: Path) -> None:
    check_trees(learnt_from_pretrained, tmp_path / "model")


def test_what_senttr_cannot_tell_apart() -> None:
    """SentTr decides by s2, s1 and b1 on one encoding: where a tree wants two actions for the same three, it must fail.

    Here `dog` waits for its relative clause, and then no longer: only the graph tells the two moments apart.
    """
    text = "I saw a dog yesterday that barked"
    [sentence] = conllu.read(io.StringIO(unparsed_text(text.split())))
    sentence = sentence.with_tree([2, 0, 4, 2, 2, 7, 4], ["nsubj", "root", "det", "obj", "advmod", "nsubj", "conj"])
    [one] = training_examples(tiny("sent"), [sentence])
    wanted: dict[tuple[int, ...], set[int]] = {}
    for focus, action in zip(one.focus.tolist(), one.actions.tolist(), strict=True):
        wanted.setdefault(tuple(focus), set()).add(action)
    assert wanted[2, 4, 5] == {Action.SHIFT, Action.RIGHT_ARC}
    for toy in training_examples(tiny("sent"), TOY):  # the toy treebank has no such tree: every variant can learn it
        pairs = {(*focus, action) for focus, action in zip(toy.focus.tolist(), toy.actions.tolist(), strict=True)}
        assert len(pairs) == len({pair[:3] for pair in pairs})
