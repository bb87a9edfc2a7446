"""Decoding: constraints, probabilities, beam search, batches."""

import io
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import wild
from graph2graph.config import DecodeConfig
from graph2graph.decoding.beam import beam_search
from graph2graph.decoding.greedy import Work, greedy
from graph2graph.encoder.precision import Int8Linear
from graph2graph.errors import DataError
from graph2graph.models.features import Features
from graph2graph.parser.parser import Parser
from graph2graph.transition import constraints
from graph2graph.transition.constraints import NOT_ROOT, Constraint
from graph2graph.transition.state import NO_NODE, ROOT, Action
from graph2graph.transition.states import States
from graph2graph.treebank import conllu
from graph2graph.treebank.conllu import Sentence
from strategies import trees

pytestmark = pytest.mark.usefixtures("one_thread")

TOY = list(conllu.read(Path(__file__).parents[1] / "data" / "toy.conllu"))


PARSERS = {name: wild(name, TOY) for name in ("sent", "sent-g2g", "state", "state-g2g-c")}


def arcs(sentences: Sequence[Sentence]) -> list[Any]:
    return [(sentence.heads, sentence.deprels) for sentence in sentences]


# ------------------------------------------------------------------------------------------------------- given arcs


@given(st.data(), trees(max_size=9))
@settings(max_examples=200)
def test_whatever_is_allowed_leads_to_the_given_arcs(data: st.DataObject, heads: list[int]) -> None:
    """Some action is always allowed, and any choice among them ends with all given arcs, and no root that was ruled out."""
    kept = data.draw(st.lists(st.sampled_from(["head", "label", "nothing"]), min_size=len(heads), max_size=len(heads)))
    wanted = [NO_NODE]
    for head, keep in zip(heads, kept, strict=True):
        by_label = NOT_ROOT if keep == "label" and head != ROOT else NO_NODE
        wanted.append(head if keep == "head" else by_label)
    constraints.check(wanted)
    constraint = Constraint(wanted)
    while not constraint.state.is_final:
        allowed = [action for action in Action if constraint.allowed[action]]
        assert allowed
        constraint.take(data.draw(st.sampled_from(allowed)))
    for word, head in enumerate(wanted):
        found = constraint.state.heads[word]
        assert head in (NO_NODE, found) or (head == NOT_ROOT and found != ROOT)


@given(trees(max_size=8))
def test_without_given_arcs_only_swaps_are_ever_forbidden(heads: list[int]) -> None:
    """From the start, with nothing given, only SHIFT is legal, and then no arc or shift is ever forbidden."""
    constraint = Constraint([NO_NODE] * (len(heads) + 1))
    while not constraint.state.is_final:
        legal = constraint.state.legal()
        assert all(constraint.allowed[action] for action in legal if action != Action.SWAP)
        constraint.take(legal[len(constraint.state.stack) % len(legal)] if Action.SWAP not in legal else legal[0])


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([-1, 0, 0], "both given as root"),
        ([-1, 2, 1], "circle"),
        ([-1, 2, 3, 1, 0], "circle"),
        ([-1, 1], "circle"),
        ([-1, 2, NOT_ROOT], "no word can be the root"),
    ],
)
def test_given_arcs_of_no_tree_are_refused(heads: list[int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        constraints.check(heads)


@pytest.mark.parametrize("name", PARSERS)
def test_the_parser_keeps_given_arcs(name: str) -> None:
    parser = PARSERS[name]
    rng = np.random.default_rng(0)
    partial = []
    for sentence in TOY:
        keep = rng.random(len(sentence)) < 0.4
        heads = [head if k else None for head, k in zip(sentence.heads, keep, strict=True)]
        labels = [label if k else "_" for label, k in zip(sentence.deprels, keep, strict=True)]
        partial.append(sentence.with_tree(heads, labels))
    for given_part, parsed in zip(partial, parser.parse(partial, keep_arcs=True), strict=True):
        assert parsed.parsed
        for old, new, old_label, new_label in zip(
            given_part.heads, parsed.heads, given_part.deprels, parsed.deprels, strict=True
        ):
            assert old in (None, new)
            assert old_label in ("_", new_label)
    everything = list(parser.parse(TOY, keep_arcs=True))
    assert ["".join(s.lines) for s in everything] == ["".join(s.lines) for s in TOY]
    nothing = [s.with_tree([None] * len(s), ["_"] * len(s)) for s in TOY]
    assert arcs(list(parser.parse(nothing, keep_arcs=True))) == arcs(list(parser.parse(nothing)))


def test_an_unknown_label_is_kept_and_a_circle_is_told() -> None:
    [sentence] = conllu.read(
        io.StringIO("# sent_id = odd\n1\tYes\t_\t_\t_\t_\t2\tnew:label\t_\t_\n2\t.\t_\t_\t_\t_\t_\t_\t_\t_\n\n")
    )
    [parsed] = PARSERS["sent-g2g"].parse([sentence], keep_arcs=True)
    assert parsed.heads == [2, 0]
    assert parsed.deprels[0] == "new:label"
    circle = sentence.with_tree([2, 1], ["a", "b"])
    with pytest.raises(DataError, match=r"sentence odd: no tree has these arcs.*circle"):
        list(PARSERS["sent-g2g"].parse([circle], keep_arcs=True))


@pytest.mark.parametrize("name", PARSERS)
def test_a_label_without_its_head_is_kept_too(name: str) -> None:
    """The root's makes its word the root, and no other word with a label becomes it."""
    given_labels = [s.with_tree([None] * len(s), s.deprels) for s in TOY]
    for sentence, parsed in zip(TOY, PARSERS[name].parse(given_labels, keep_arcs=True), strict=True):
        assert parsed.deprels == sentence.deprels
        assert [head == 0 for head in parsed.heads] == [label == "root" for label in sentence.deprels]
    others = [s.with_tree([None] * len(s), ["_", *s.deprels[1:]]) for s in TOY if s.heads[0] != 0 and len(s) > 1]
    others = [s.with_tree(s.heads, ["_" if label == "root" else label for label in s.deprels]) for s in others]
    for sentence, parsed in zip(others, PARSERS[name].parse(others, keep_arcs=True), strict=True):
        assert sentence.deprels[parsed.heads.index(0)] == "_"


def test_one_given_arc_in_a_long_sentence_takes_no_time() -> None:
    constraint = Constraint([NO_NODE] * 500 + [3])
    begin = time.perf_counter()
    for _ in range(200):
        constraint.take(next(action for action in Action if constraint.allowed[action]))
    assert time.perf_counter() - begin < 20  # about one; it was minutes


# ---------------------------------------------------------------------------------------------------- probabilities


@pytest.mark.parametrize("name", PARSERS)
def test_probabilities_are_those_of_the_decisions(name: str) -> None:
    parser, work = PARSERS[name], Work(decisions=[])
    for sentence in TOY[:5]:
        work = Work(decisions=[])
        greedy(parser.model, [parser.featurizer(sentence)], work=work)
        expected = {}
        for decided in work.decisions or []:
            legal = decided.action_p[0] > 0
            assert decided.action_p[0].sum() == pytest.approx(1)
            assert decided.action_p[0].argmax() == decided.actions[0]
            assert legal.any()
            if decided.actions[0] in (Action.LEFT_ARC, Action.RIGHT_ARC):
                dependent = decided.focus[0, 0 if decided.actions[0] == Action.LEFT_ARC else 1]
                expected[int(dependent)] = (decided.action_p[0].max(), decided.label_p[0])
        [parsed] = parser.parse([sentence], probabilities=True)
        for word, row in enumerate(parsed.rows, 1):
            values = dict(item.split("=") for item in row[conllu.MISC].split("|"))
            assert float(values["ArcP"]) == pytest.approx(expected[word][0], abs=1e-3)
            assert float(values["LabelP"]) == pytest.approx(expected[word][1], abs=1e-3)
        assert arcs([parsed]) == arcs(list(parser.parse([sentence])))


# ------------------------------------------------------------------------------------------------------------- beam


def log_probability(parser: Parser, sentence: Sentence) -> float:
    """Of greedy decoding's own tree."""
    work = Work(decisions=[])
    greedy(parser.model, [parser.featurizer(sentence)], work=work)
    total = 0.0
    for decided in work.decisions or []:
        total += math.log(decided.action_p[0, decided.actions[0]])
        if decided.actions[0] in (Action.LEFT_ARC, Action.RIGHT_ARC):
            total += math.log(decided.label_p[0])
    return total


@pytest.mark.parametrize("name", PARSERS)
def test_beam(name: str) -> None:
    parser = PARSERS[name]
    features = [parser.featurizer(sentence) for sentence in TOY]
    expected = greedy(parser.model, features)
    once = beam_search(parser.model, features, 1)
    wide = beam_search(parser.model, features, 4)
    for row, sentence in enumerate(TOY):
        n_nodes = len(sentence) + 1
        [only] = once[row]
        assert only.heads.tolist() == expected.heads[row, :n_nodes].tolist()
        assert only.labels.tolist() == expected.labels[row, :n_nodes].tolist()
        assert only.score == pytest.approx(log_probability(parser, sentence), abs=1e-3)
        found = wide[row]
        assert 1 <= len(found) <= 4
        scores = [hypothesis.score for hypothesis in found]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] >= only.score - 1e-4
        assert sum(hypothesis.share for hypothesis in found) == pytest.approx(1)
        assert len({(tuple(h.heads), tuple(h.labels)) for h in found}) == len(found)
        for hypothesis in found:
            tree = sentence.with_tree(hypothesis.heads[1:].tolist(), ["x"] * len(sentence))
            list(conllu.read(io.StringIO("".join(tree.lines))))  # checks that it is a tree
    assert any(len(found) > 1 for found in wide)
    alone = [beam_search(parser.model, [one], 4)[0] for one in features]
    for together, single in zip(wide, alone, strict=True):
        assert [h.heads.tolist() for h in together] == [h.heads.tolist() for h in single]


# ---------------------------------------------------------------------------------------------------------- batches


@pytest.mark.parametrize("name", PARSERS)
@pytest.mark.parametrize("threshold", [math.inf, 0.6, 0.0])
def test_the_same_trees_whatever_is_encoded_together(name: str, threshold: float) -> None:
    parser = PARSERS[name]
    features = [parser.featurizer(sentence) for sentence in TOY]
    works = []
    found = []
    for budget in (1, 37, 100_000):
        works.append(Work())
        states = greedy(parser.model, features, DecodeConfig(reencode=threshold, batch_tokens=budget), work=works[-1])
        found.append((states.heads.tolist(), states.labels.tolist()))
    assert found[0] == found[1] == found[2]
    assert len({work.n_encoded for work in works}) == len({work.n_pieces for work in works}) == 1


@pytest.mark.parametrize("threshold", [math.inf, 0.6])
def test_of_long_sentences_only_the_windows_with_new_arcs_are_encoded_again(
    threshold: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And that makes no difference, however many arcs are new."""
    parser = wild("sent-g2g", TOY, max_positions=16)
    long = Sentence.from_words([form for sentence in TOY for form in sentence.forms][:60])
    features = [parser.featurizer(sentence) for sentence in (TOY[0], long)]
    assert len(features[1].rows) > 3

    def parsed() -> tuple[list[Any], int]:
        work = Work()
        states = greedy(parser.model, features, DecodeConfig(reencode=threshold, draft_tokens=0), work=work)
        return [states.heads.tolist(), states.labels.tolist()], work.n_pieces

    trees, n_pieces = parsed()
    monkeypatch.setattr(Features, "around", lambda self, nodes: self)
    all_trees, n_all_pieces = parsed()
    assert trees == all_trees
    assert n_pieces < n_all_pieces


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many states the sentence model with a graph was given to encode, each time."""
    model = PARSERS["sent-g2g"].model
    encode, given = model.encode, list[int]()

    def counted(states: States, *args: Any, **kwargs: Any) -> Any:
        given.append(len(states))
        return encode(states, *args, **kwargs)

    monkeypatch.setattr(model, "encode", counted)
    return given


def test_sentences_wait_for_each_other(turns: list[int]) -> None:
    """However the arcs of the sentences lie, all of them are encoded with one more arc in each turn."""
    parser = PARSERS["sent-g2g"]
    features = [parser.featurizer(sentence) for sentence in TOY]
    greedy(parser.model, features, DecodeConfig(draft_tokens=0))
    lengths = [len(sentence) for sentence in TOY]
    assert turns == [sum(length > n_arcs for length in lengths) for n_arcs in range(max(lengths))]


def test_drafts_change_nothing_but_the_number_of_turns(turns: list[int]) -> None:
    parser = PARSERS["sent-g2g"]
    features = [parser.featurizer(sentence) for sentence in TOY]
    found, n_turns, works = [], [], []
    for room in (0, 40, 100, 1000):
        turns.clear()
        works.append(Work())
        alone = [greedy(parser.model, [one], DecodeConfig(draft_tokens=room), work=works[-1]) for one in features]
        found.append([(states.heads.tolist(), states.labels.tolist()) for states in alone])
        n_turns.append(len(turns))
    assert found[0] == found[1] == found[2] == found[3]
    assert n_turns[0] == works[0].n_encoded  # one at a time
    assert n_turns == sorted(n_turns, reverse=True)
    assert n_turns[3] < n_turns[0]
    assert works[3].n_encoded >= works[0].n_encoded  # some drafts are for nothing


# ------------------------------------------------------------------------------------------------------------- int8


@torch.inference_mode()
@pytest.mark.parametrize("name", PARSERS)
def test_int8_is_near_and_batch_mates_change_nothing(name: str, tmp_path: Path) -> None:
    PARSERS[name].save(tmp_path)
    exact, parser = Parser.load(tmp_path), Parser.load(tmp_path, precision="int8")
    n_words = sum(map(len, TOY))
    together = arcs(list(parser.parse(TOY)))
    assert together == arcs([next(parser.parse([sentence])) for sentence in TOY])
    assert together == arcs(list(parser.parse(TOY[::-1], batch_tokens=70)))[::-1]
    plain = arcs(list(exact.parse(TOY)))
    same = sum(
        a == b for one, other in zip(plain, together, strict=True) for a, b in zip(one[0], other[0], strict=True)
    )
    assert same > 0.6 * n_words  # of wild weights; a fair coin would not get there
    linear = exact.model.encoder.layers[0].inner
    x = torch.randn(50, linear.in_features) * torch.logspace(-3, 3, 50)[:, None]
    off = (Int8Linear(linear)(x) - linear(x)).norm(dim=1) / linear(x).norm(dim=1)
    assert float(off.max()) < 0.03
    assert float(Int8Linear(linear)(torch.zeros(1, linear.in_features)).sub(linear.bias).abs().max()) == 0


def test_without_integer_products_int8_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    PARSERS["sent"].save(tmp_path / "model")
    monkeypatch.setattr(Int8Linear, "__init__", Mock(side_effect=NotImplementedError))
    with pytest.raises(DataError, match="use fp32"):
        Parser.load(tmp_path / "model", precision="int8")
