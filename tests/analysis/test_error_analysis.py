"""Error analysis against an independent computation, arc by arc from the definitions, on real system output."""

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graph2graph import scoring
from graph2graph.analysis.error_analysis import ErrorCounts, count_errors, rer
from graph2graph.config import Config
from graph2graph.parser.parser import Parser
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.training.examples import Sample, training_examples
from graph2graph.training.loss import batch_loss
from graph2graph.training.supervision import supervise, total_weight
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import UPOS, XPOS, Sentence
from graph2graph.variants import VARIANTS
from strategies import LABELS, perturbed, random_tree, trees


def sentence_with(heads: list[int], labels: list[str]) -> Sentence:
    words = Sentence.from_words([f"w{i}" for i in range(len(heads))])
    return words.with_tree(heads, ["root" if head == 0 else label for head, label in zip(heads, labels, strict=True)])


def by_definition(gold: list[Sentence], system: list[Sentence]) -> dict[str, dict[str, tuple[float, float]]]:
    """Recall and precision of every bin, word for word from the definitions."""

    def depth(heads: list[int], word: int) -> int:
        return 0 if heads[word - 1] == 0 else 1 + depth(heads, heads[word - 1])

    def dominates(heads: list[int], over: int, under: int) -> bool:
        return over == under or (under != 0 and dominates(heads, over, heads[under - 1]))

    def bins(one: Sentence, word: int) -> dict[str, str]:
        heads = one.tree
        head = heads[word - 1]
        length, distance = abs(head - word), depth(heads, word)
        between = range(min(head, word) + 1, max(head, word))
        n = len(heads)
        return {
            "dependency_length": "ROOT" if head == 0 else str(length) if length < 10 else "≥10",
            "distance_to_root": "ROOT" if head == 0 else str(distance) if distance < 10 else "≥10",
            "dependency_type": one.deprels[word - 1].split(":")[0],
            "projectivity": "projective" if all(dominates(heads, head, b) for b in between) else "non-projective",
            "sentence_length": "≥50" if n >= 50 else f"{max(n // 10 * 10, 1)}–{n // 10 * 10 + 9}",
        }

    counts: Counter[tuple[str, str, str]] = Counter()
    for a, b in zip(gold, system, strict=True):
        for word in range(1, len(a) + 1):
            right = a.heads[word - 1] == b.heads[word - 1]
            right = right and a.deprels[word - 1].split(":")[0] == b.deprels[word - 1].split(":")[0]
            for side, one in (("gold", a), ("system", b)):
                for kind, name in bins(one, word).items():
                    counts[kind, name, side] += 1
                    counts[kind, name, f"{side} right"] += right
    result: dict[str, dict[str, tuple[float, float]]] = {}
    for kind, name, _ in list(counts):
        shares = []
        for side in ("gold", "system"):
            total = counts[kind, name, side]
            shares.append(100 * counts[kind, name, f"{side} right"] / total if total else 0.0)
        result.setdefault(kind, {})[name] = (shares[0], shares[1])
    return result


def check(gold: list[Sentence], system: list[Sentence]) -> ErrorCounts:
    found, expected = count_errors(gold, system), by_definition(gold, system)
    for kind, by_name in expected.items():
        bins = found.bins[kind]
        assert {name for name, one in bins.items() if one.gold or one.system} == set(by_name)
        for name, (recall, precision) in by_name.items():
            assert bins[name].recall == pytest.approx(recall)
            assert bins[name].precision == pytest.approx(precision)
            f = 2 * recall * precision / (recall + precision) if recall + precision else 0
            assert bins[name].f == pytest.approx(f)
    n_words = sum(map(len, gold))
    assert sum(one.gold for one in found.bins["dependency_length"].values()) == n_words
    n_right = sum(one.found for one in found.bins["dependency_type"].values())
    assert 100 * n_right / n_words == pytest.approx(scoring.score(gold, system).las)
    assert found.patterns.total() == n_words - n_right
    assert sum(n for (a, b), n in found.confusion.items() if a == b) == n_right
    return found


@settings(max_examples=50)
@given(st.lists(trees(max_size=14), min_size=1, max_size=4), st.integers(0, 1000))
def test_random_trees(heads: list[list[int]], seed: int) -> None:
    rng = random.Random(seed)
    gold = [sentence_with(one, [rng.choice(LABELS) for _ in one]) for one in heads]
    check(gold, [sentence_with(random_tree(len(one), rng), [rng.choice(LABELS) for _ in one]) for one in heads])


@pytest.mark.slow
@pytest.mark.parametrize("treebank", ["en_ewt", "eu_bdt"])
def test_real_treebanks(treebank: str, treebanks: Path) -> None:
    files = sorted((treebanks / treebank).glob("*.conllu"))
    if not files:
        pytest.skip(f"{treebank} is not there")
    gold = [one for one in conllu.read(files[0]) if len(one) < 120][:300]
    found = check(gold, perturbed(gold, 1))
    pattern, count = found.patterns.most_common(1)[0]
    assert count >= 1
    assert pattern in found.examples


@pytest.mark.slow
def test_real_gold_and_real_system_output(treebanks: Path, one_thread: None) -> None:
    """A parser trained for a few seconds makes many kinds of mistakes."""
    if not (treebanks / "en_ewt" / "dev.conllu").exists():
        pytest.skip("en_ewt is not there")
    gold = [one for one in conllu.read(treebanks / "en_ewt" / "dev.conllu") if 3 <= len(one) <= 40][:150]
    system = list(_quick_parser(gold[::5]).parse(gold))
    found = check(gold, system)
    assert 10 < scoring.score(gold, system).las < 90
    assert min(one.gold for one in found.bins["dependency_length"].values()) > 5  # no bin is empty
    assert found.confusion.total() > n_confused(found) > 20


def _quick_parser(sentences: list[Sentence]) -> Parser:
    encoder = {"width": 48, "inner_width": 96, "layers": 1, "heads": 2, "vocab_size": 400}
    config = Config.parse({"model": VARIANTS["sent"].model | {"encoder": encoder}}, "test")
    vocabulary = Vocabulary.of(sentences)
    torch.manual_seed(0)
    parser = Parser.create(config, vocabulary, forms=(form for one in sentences for form in one.forms))
    start = np.zeros(1, dtype=np.int64)
    batch = supervise([Sample(one, start) for one in training_examples(parser, sentences)], config.model)
    optimiser = torch.optim.Adam(parser.model.parameters(), lr=3e-3)
    for _ in range(25):
        optimiser.zero_grad()
        (batch_loss(parser.model, batch).total / total_weight([batch])).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return parser


def n_confused(found: ErrorCounts) -> int:
    return sum(n for (gold_label, label), n in found.confusion.items() if gold_label != label)


def test_penn_tags_where_there_are_no_universal_ones() -> None:
    gold = sentence_with([2, 0, 2], ["nsubj", "", "obj"]).with_columns({UPOS: ["_"] * 3, XPOS: ["NNS", "VBP", "NN"]})
    [pattern] = count_errors([gold], [gold.with_tree([2, 0, 1], ["nsubj", "root", "obj"])]).patterns
    assert (pattern.tag, pattern.gold_head, pattern.system_head) == ("NN", "VBP", "NNS")


def test_relative_error_reduction() -> None:
    assert rer(58.60, 68.62) == pytest.approx(-31.9, abs=0.05)  # the paper's, for acomp
    assert rer(90, 100) is None
