"""Error analysis against an independent computation: straight from the definitions, arc by arc, on real system output."""

import csv
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from conftest import Result
from graph2graph import scoring
from graph2graph.analysis.error_analysis import Errors, errors, rer
from graph2graph.config import Config
from graph2graph.parser.parser import Parser, Vocabulary
from graph2graph.training.examples import Sample, training_examples
from graph2graph.training.loss import batch_loss
from graph2graph.training.supervision import supervise, total_weight
from graph2graph.treebank import conllu
from graph2graph.treebank.conllu import Sentence
from graph2graph.variants import VARIANTS
from strategies import random_tree, reattached, trees

LABELS = ["nsubj", "obj", "obl", "nmod:poss", "nmod", "punct"]


def sentence_with(heads: list[int], labels: list[str]) -> Sentence:
    words = Sentence.from_words([f"w{i}" for i in range(len(heads))])
    return words.with_tree(heads, ["root" if head == 0 else label for head, label in zip(heads, labels, strict=True)])


def perturbed(gold: list[Sentence], seed: int) -> list[Sentence]:
    """Other trees over the same words, not too different."""
    rng = random.Random(seed)
    found = []
    for one in gold:
        heads = reattached(one.tree, rng.randrange(4), rng) if len(one) > 3 else one.tree
        labels = [rng.choice(LABELS) if rng.random() < 0.2 else label for label in one.deprels]
        labels = [
            "root" if head == 0 else "dep" if label == "root" else label
            for head, label in zip(heads, labels, strict=True)
        ]
        found.append(one.with_tree(heads, labels))
    return found


def slow(gold: list[Sentence], system: list[Sentence]) -> dict[str, dict[str, tuple[float, float]]]:
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
            "by_length": "ROOT" if head == 0 else str(length) if length < 10 else "≥10",
            "by_distance": "ROOT" if head == 0 else str(distance) if distance < 10 else "≥10",
            "by_label": one.deprels[word - 1].split(":")[0],
            "by_projectivity": "projective" if all(dominates(heads, head, b) for b in between) else "non-projective",
            "by_sentence_length": "≥50" if n >= 50 else f"{max(n // 10 * 10, 1)}–{n // 10 * 10 + 9}",
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


def check(gold: list[Sentence], system: list[Sentence]) -> Errors:
    found, expected = errors(gold, system), slow(gold, system)
    for kind, by_name in expected.items():
        bins = getattr(found, kind)
        assert {name for name, one in bins.items() if one.gold or one.system} == set(by_name)
        for name, (recall, precision) in by_name.items():
            assert bins[name].recall == pytest.approx(recall)
            assert bins[name].precision == pytest.approx(precision)
            f = 2 * recall * precision / (recall + precision) if recall + precision else 0
            assert bins[name].f == pytest.approx(f)
    n_words = sum(map(len, gold))
    assert sum(one.gold for one in found.by_length.values()) == n_words
    n_right = sum(one.found for one in found.by_label.values())
    assert 100 * n_right / n_words == pytest.approx(scoring.score(gold, system).las)
    assert found.patterns.total() == n_words - n_right
    assert sum(n for (a, b), n in found.confusion.items() if a == b) == n_right
    return found


@given(st.lists(trees(max_size=14), min_size=1, max_size=4), st.integers(0, 1000))
def test_random_trees(heads: list[list[int]], seed: int) -> None:
    rng = random.Random(seed)
    gold = [sentence_with(one, [rng.choice(LABELS) for _ in one]) for one in heads]
    check(gold, [sentence_with(random_tree(len(one), rng), [rng.choice(LABELS) for _ in one]) for one in heads])


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


def test_real_gold_and_real_system_output(treebanks: Path, one_thread: None) -> None:
    """A parser that has learnt for a few seconds makes mistakes of its own, of many kinds."""
    if not (treebanks / "en_ewt" / "dev.conllu").exists():
        pytest.skip("en_ewt is not there")
    gold = [one for one in conllu.read(treebanks / "en_ewt" / "dev.conllu") if 3 <= len(one) <= 40][:150]
    system = list(_quick_parser(gold[::5]).parse(gold))
    found = check(gold, system)
    assert 10 < scoring.score(gold, system).las < 90
    assert min(one.gold for one in found.by_length.values()) > 5  # no bin is empty
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


def n_confused(found: Errors) -> int:
    return sum(n for (gold_label, label), n in found.confusion.items() if gold_label != label)


def test_penn_tags_where_there_are_no_universal_ones() -> None:
    gold = sentence_with([2, 0, 2], ["nsubj", "", "obj"]).with_columns(
        {conllu.UPOS: ["_"] * 3, conllu.XPOS: ["NNS", "VBP", "NN"]}
    )
    [pattern] = errors([gold], [gold.with_tree([2, 0, 1], ["nsubj", "root", "obj"])]).patterns
    assert (pattern.tag, pattern.gold_head, pattern.system_head) == ("NN", "VBP", "NNS")


def test_relative_error_reduction() -> None:
    assert rer(58.60, 68.62) == pytest.approx(-31.9, abs=0.05)  # the paper's, for acomp
    assert rer(90, 100) is None


# ---------------------------------------------------------------------------------------------------------- the command


TOY = Path(__file__).parents[1] / "data" / "toy.conllu"


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """The toy treebank with some errors in it."""
    path = tmp_path / "some system.conllu"
    conllu.write(perturbed(list(conllu.read(TOY)), 3), path)
    return path


def test_analyze(g2g: Callable[..., Result], system: Path, tmp_path: Path) -> None:
    output = tmp_path / "report"
    done = g2g("analyze", TOY, system, f"<gold> | all right={TOY}", "--output", output, "--json")
    assert done.code == 0, done.err
    values = json.loads(done.out)
    names = ["some system", "<gold> | all right"]
    assert list(values["scores"]) == names
    assert values["scores"][names[1]]["las"] == 100
    assert values["differences"][names[1]]["las"] == pytest.approx(100 - values["scores"][names[0]]["las"])
    page = (output / "report.html").read_text()
    assert "&lt;gold&gt; | all right" in page
    assert "<gold>" not in page
    assert "http://www.w3.org" in page  # the name space of SVG, and nothing from elsewhere is loaded
    assert "src=" not in page
    assert "<link" not in page
    ElementTree.parse(output / "dependency_length.svg")
    for name in ("dependency_length", "distance_to_root", "sentence_length"):
        assert (output / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        rows = list(csv.reader((output / f"{name}.csv").read_text().splitlines()))
        assert len({len(row) for row in rows}) == 1
    markdown = (output / "report.md").read_text()
    assert "<gold> \\| all right" in markdown
    texts = [one.text for one in conllu.read(TOY) if len(one) > 2]
    assert any(text in markdown for text in texts)
    assert g2g("analyze", TOY, system, "--no-examples", "-o", output).code == 0
    for path in output.glob("*.*"):
        assert path.suffix == ".png" or not any(text in path.read_text() for text in texts), path


def test_analyze_says_what_does_not_fit(g2g: Callable[..., Result], system: Path, tmp_path: Path) -> None:
    gold = list(conllu.read(TOY))
    short, other, unparsed = tmp_path / "short.conllu", tmp_path / "other.conllu", tmp_path / "unparsed.conllu"
    conllu.write(gold[:-1], short)
    other.write_text(TOY.read_text().replace("\tThere\t", "\tHere\t"))
    conllu.write([gold[0].with_tree([None] * len(gold[0]), ["_"] * len(gold[0])), *gold[1:]], unparsed)
    for file, message in ((short, "sentences"), (other, "other words"), (unparsed, "without a head")):
        done = g2g("analyze", TOY, file, "-o", tmp_path / "out")
        assert done.code == 1
        assert message in done.err
    assert g2g("analyze", TOY, system, system, "-o", tmp_path / "out").code == 2
    assert g2g("analyze", TOY, "-o", tmp_path / "out").code == 2
