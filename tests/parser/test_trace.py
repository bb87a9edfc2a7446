"""A trace has the steps of the parse, the probabilities of the classifiers and the attention of the encoder."""

import json
import math
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from conftest import wild
from graph2graph.config import DecodeConfig
from graph2graph.decoding.greedy import Work
from graph2graph.encoder.graph_attention import GraphAttention, record_attention
from graph2graph.errors import DataError
from graph2graph.parser.parser import Parser
from graph2graph.parser.trace import trace
from graph2graph.transition.state import NO_NODE, Action, State
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence
from graph2graph.variants import VARIANTS

pytestmark = pytest.mark.usefixtures("one_thread")

GOLD = list(conllu.read(Path(__file__).parents[1] / "data" / "toy.conllu"))
TOY = [sentence.with_tree([None] * len(sentence), ["_"] * len(sentence)) for sentence in GOLD]
FEW = 4
N_LAYERS = 2
ACTIONS = {action.title: action for action in Action}

GRAPH_VARIANTS = [name for name, variant in VARIANTS.items() if variant.model["graph_input"]]


@pytest.fixture(scope="module")
def parsers() -> Callable[[str], Parser]:
    """The tiny parser of a variant, made once."""
    return cache(lambda name: wild(name, GOLD, layers=N_LAYERS))


def test_a_trace_has_no_drafts(parsers: Callable[[str], Parser]) -> None:
    parser = parsers("sent-g2g")
    config = parser.config.model_copy(update={"decode": DecodeConfig()})
    drafting = Parser(config, parser.vocabulary, parser.pieces, parser.model)
    assert trace(drafting, TOY[0]) == trace(parser, TOY[0])


@pytest.mark.parametrize(
    ("name", "threshold"), [*((name, math.inf) for name in VARIANTS), ("sent-g2g", 0.7), ("sent-g2g", 0.0)]
)
def test_the_steps_are_those_of_the_parse(name: str, threshold: float, parsers: Callable[[str], Parser]) -> None:
    parser = parsers(name)
    for sentence in TOY[:FEW]:
        work = Work()
        [expected] = parser.parse([sentence], reencode=threshold, work=work)
        traced = trace(parser, sentence, reencode=threshold)
        assert (traced["heads"], traced["deprels"]) == (expected.heads, expected.deprels)
        assert traced["conllu"] == "".join(expected.lines)
        assert [word["form"] for word in traced["words"]] == sentence.forms
        assert traced["n_encoded"] == work.n_encoded == sum(step["encoded"] for step in traced["steps"])
        assert traced["steps"][0]["encoded"]
        assert traced["given"] == []
        check_steps(traced)
        json.dumps(traced, allow_nan=False)


def check_steps(traced: dict[str, Any]) -> None:
    """Check that the steps can be replayed, and that each says what happened."""
    state = State(len(traced["words"]))
    for step in traced["steps"]:
        assert step["stack"] == state.stack
        assert step["buffer"] == state.buffer[::-1]
        assert step["deleted"] == [word for word, head in enumerate(state.heads) if head != NO_NODE]
        assert [choice["action"] for choice in step["actions"]] == [action.title for action in state.legal()]
        assert sum(choice["p"] for choice in step["actions"]) == pytest.approx(1, abs=1e-5)
        assert step["p"] == max(choice["p"] for choice in step["actions"])
        [chosen] = [choice for choice in step["actions"] if choice["action"] == step["action"]]
        assert chosen["p"] == step["p"]
        for choice in step["actions"]:
            shares = [label["p"] for label in choice["labels"]]
            assert shares == sorted(shares, reverse=True)
            assert sum(shares) <= 1 + 1e-5
            assert (1 <= len(shares) <= 5) == choice["action"].endswith("ARC")
        before = state.heads.copy()
        state.apply(ACTIONS[step["action"]], step["label"])
        new = [(head, word) for word, (head, old) in enumerate(zip(state.heads, before, strict=True)) if head != old]
        assert new == ([] if step["arc"] is None else [(step["arc"]["head"], step["arc"]["dependent"])])
        if new:
            assert {"label": step["label"], "p": step["label_p"]} == chosen["labels"][0]
    assert state.is_final
    assert (state.heads[1:], state.labels[1:]) == (traced["heads"], traced["deprels"])


@pytest.mark.parametrize("name", VARIANTS)
def test_given_arcs_are_kept(name: str, parsers: Callable[[str], Parser]) -> None:
    parser = parsers(name)
    for sentence, gold in zip(TOY[:FEW], GOLD[:FEW], strict=True):
        word = len(sentence) // 2
        heads: list[int | None] = [None] * len(sentence)
        heads[word] = gold.heads[word]
        given = sentence.with_tree(heads, ["_"] * len(sentence))
        traced = trace(parser, given)
        [expected] = parser.parse([given], keep_arcs=True)
        assert (traced["heads"], traced["deprels"]) == (expected.heads, expected.deprels)
        assert traced["heads"][word] == gold.heads[word]
        assert traced["given"] == [word + 1]
        assert all(
            sum(choice["p"] for choice in step["actions"]) == pytest.approx(1, abs=1e-5) for step in traced["steps"]
        )
        whole = trace(parser, gold)
        assert (whole["heads"], whole["deprels"]) == (gold.heads, gold.deprels)


def test_an_unknown_label_is_kept_and_a_circle_refused(parsers: Callable[[str], Parser]) -> None:
    sentence = Sentence.from_words(["Yes", "."])
    traced = trace(parsers("sent-g2g"), sentence.with_tree([2, None], ["new:label", "_"]))
    [step] = [step for step in traced["steps"] if step["arc"] == {"head": 2, "dependent": 1}]
    assert (step["label"], step["label_p"]) == ("new:label", 0)
    with pytest.raises(DataError, match="circle"):
        trace(parsers("sent-g2g"), sentence.with_tree([2, 1], ["_", "_"]))


# -------------------------------------------------------------------------------------------------------- attention


class Naive:
    """The attention of every layer straight from Eq. 3, on the input that the layer had."""

    def __init__(self, parser: Parser) -> None:
        self.inputs: list[tuple[GraphAttention, Tensor]] = []
        layers = [layer.attention for layer in parser.model.encoder.layers]  # type: ignore[union-attr]
        self.hooks = [layer.register_forward_pre_hook(self.note) for layer in layers]  # type: ignore[operator]

    def note(self, layer: GraphAttention, given: tuple[Any, ...]) -> None:
        self.inputs.append((layer, given[0].clone()))

    def attention(self, relations: Tensor) -> list[Tensor]:
        """Of the encoding made first, [n, n] for each layer, its heads averaged; the other inputs wait."""
        found = []
        for layer, x in self.inputs[:N_LAYERS]:
            query, key, _ = layer.qkv(x).chunk(3, dim=-1)  # [n, d]
            of_heads = []
            for head in range(layer.n_heads):
                part = slice(head * layer.head_width, (head + 1) * layer.head_width)
                keys = key[None, :, part] + layer.relation_keys[relations]  # [n, n, c]
                of_heads.append(((query[:, None, part] * keys).sum(-1) / math.sqrt(layer.head_width)).softmax(-1))
            found.append(torch.stack(of_heads).mean(0))
        del self.inputs[:N_LAYERS]
        return found


def columns_of(parser: Parser, sentence: Sentence, step: dict[str, Any]) -> tuple[dict[int, int], Tensor]:
    """Where each node stands in the encoder's input, and the relations among further pieces, from the definition."""
    if parser.config.model.input == "state":
        places = [None, *step["stack"], None, *step["buffer"], None, *step["deleted"]]
        columns = {node: column for column, node in enumerate(places) if node is not None}
        return columns, torch.zeros(len(places), len(places), dtype=torch.long)
    [row] = parser.featurizer(sentence).windows
    relations = torch.zeros(len(row.tokens), len(row.tokens), dtype=torch.long)
    relations[row.inner_heads, row.inner], relations[row.inner, row.inner_heads] = 1, 2
    return dict(enumerate(row.columns.tolist())), relations


@pytest.mark.parametrize("name", GRAPH_VARIANTS)
@torch.inference_mode()
def test_attention_is_that_of_the_naive_form(name: str, parsers: Callable[[str], Parser]) -> None:
    parser = parsers(name)
    sentence = max(TOY, key=len)
    naive = Naive(parser)
    traced = trace(parser, sentence)
    for hook in naive.hooks:
        hook.remove()
    n_compared = 0
    arcs: list[tuple[int, int]] = []
    for step in traced["steps"]:
        assert (step["attention"] is not None) == step["encoded"]
        if step["attention"] is not None:
            columns, relations = columns_of(parser, sentence, dict(step))
            for head, dependent in arcs:
                relations[columns[head], columns[dependent]] = 1
                relations[columns[dependent], columns[head]] = 2
            layers = naive.attention(relations)
            assert {(flow["head"], flow["dependent"]) for flow in step["attention"]["arcs"]} == set(arcs)
            down = {arc: [float(layer[columns[arc[0]], columns[arc[1]]]) for layer in layers] for arc in arcs}
            up = {arc: [float(layer[columns[arc[1]], columns[arc[0]]]) for layer in layers] for arc in arcs}
            for flow in step["attention"]["arcs"]:
                arc = flow["head"], flow["dependent"]
                assert flow["to_dependent"] == pytest.approx(sum(down[arc]) / len(layers), abs=2e-6)
                assert flow["to_head"] == pytest.approx(sum(up[arc]) / len(layers), abs=2e-6)
                n_compared += 1
            for number, layer in enumerate(step["attention"]["layers"]):
                expected = sum(down[arc][number] for arc in arcs) / len(arcs)
                assert layer["to_dependent"] == pytest.approx(expected, abs=2e-6)
                assert layer["to_head"] == pytest.approx(sum(up[arc][number] for arc in arcs) / len(arcs), abs=2e-6)
        if step["arc"] is not None:
            arcs.append((step["arc"]["head"], step["arc"]["dependent"]))
    assert not naive.inputs
    assert n_compared > 10


@pytest.mark.parametrize("name", ["sent", "state", "state-cls"])
def test_without_graph_there_is_no_attention(name: str, parsers: Callable[[str], Parser]) -> None:
    traced = trace(parsers(name), TOY[0])
    assert not traced["graph"]
    assert all(step["attention"] is None for step in traced["steps"])


@pytest.mark.parametrize("name", ["sent-g2g", "state-g2g"])
def test_a_sentence_longer_than_the_encoder_is_refused(name: str, parsers: Callable[[str], Parser]) -> None:
    sentence = Sentence.from_words(2 * [form for sentence in TOY for form in sentence.forms], sent_id="endless")
    with pytest.raises(DataError, match="sentence endless: longer than the encoder's 64 positions"):
        trace(parsers(name), sentence)


def test_attention_is_recorded_in_one_thread_only(parsers: Callable[[str], Parser]) -> None:
    parser = parsers("sent-g2g")
    with record_attention() as seen:
        other = threading.Thread(target=lambda: list(parser.parse(TOY[:1])))
        other.start()
        other.join()
        assert not seen
        list(parser.parse(TOY[:1]))
        assert seen
        n_seen = len(seen)
    list(parser.parse(TOY[:1]))
    assert len(seen) == n_seen
