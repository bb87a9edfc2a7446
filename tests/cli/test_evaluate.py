"""`g2g evaluate`: the scores of the official scorer, as a table and as JSON."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Result
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence
from official_scorer import TOY, Perturbed, from_text, official, to_text


@pytest.fixture(scope="module")
def toy() -> list[Sentence]:
    return from_text(TOY)


@pytest.fixture
def gold_file(tmp_path: Path, toy: list[Sentence]) -> Path:
    conllu.write(toy, tmp_path / "gold.conllu")
    return tmp_path / "gold.conllu"


def test_command(g2g: Callable[..., Result], gold_file: Path, toy: list[Sentence]) -> None:
    perturbed = Perturbed.of(toy, "command")
    perturbed.heads(0.3)
    perturbed.labels(0.3)
    expected = official(to_text(toy), perturbed.text)
    code, out, err, _ = g2g("evaluate", gold_file, "-", "--json", stdin=perturbed.text.encode())
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert list(found) == ["uas", "las", "clas", "ucm", "lcm", "words", "sentences"]
    assert {name: found[name.lower()] for name in ("UAS", "LAS", "CLAS")} == {
        name: expected[name][-1] for name in ("UAS", "LAS", "CLAS")
    }
    code, out, *_ = g2g("evaluate", gold_file, "-", stdin=perturbed.text.encode())
    assert code == 0
    assert all(f"{expected[name][-1]:.2f}" in out for name in ("UAS", "LAS", "CLAS"))
    _, out, *_ = g2g("evaluate", gold_file, gold_file, "--json", "--punct", "unicode")
    assert json.loads(out)["words"] == found["words"] - 5


def test_command_with_alignment(g2g: Callable[..., Result], gold_file: Path, toy: list[Sentence]) -> None:
    perturbed = Perturbed.of(toy, "alignment")
    perturbed.tokens(0.3)
    perturbed.boundaries(0.3)
    expected = official(to_text(toy), perturbed.text)
    code, out, err, _ = g2g("evaluate", gold_file, "-", "--json", "--align", stdin=perturbed.text.encode())
    found = json.loads(out)
    assert (code, err) == (0, "")
    for key, name in (("tokens_f1", "Tokens"), ("words_f1", "Words"), ("sentences_f1", "Sentences"), ("las", "LAS")):
        assert found[key] == expected[name][-1] < 100
    code, out, *_ = g2g("evaluate", gold_file, "-", "--align", stdin=perturbed.text.encode())
    for name in ("Tokens", "Words", "Sentences", "UPOS", "XPOS", "Lemmas", "UAS", "LAS", "CLAS"):
        [line] = [line for line in out.splitlines() if f" {name} " in line]
        assert [cell.strip() for cell in line.split("│")[2:5]] == [f"{value:.2f}" for value in expected[name][3:]]
    code, out, err, _ = g2g("evaluate", gold_file, "-", stdin=perturbed.text.encode())
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("g2g: ")


def test_command_warns_of_several_roots(g2g: Callable[..., Result], gold_file: Path) -> None:
    predicted = gold_file.read_text().replace("\t1\tiobj", "\t0\tiobj")
    code, out, err, _ = g2g("evaluate", gold_file, "-", "--json", stdin=predicted.encode())
    assert code == 0
    assert err.startswith("g2g: warning: <stdin>: sentences with several roots: 1")
    assert json.loads(out)["ucm"] == 80.0
    code, _, err, _ = g2g("evaluate", "-", gold_file, stdin=predicted.encode())  # but a gold file must have trees
    assert (code, err.count("\n")) == (1, 1)


def test_several_pairs_have_a_macro_average(g2g: Callable[..., Result], gold_file: Path, toy: list[Sentence]) -> None:
    perturbed, half = gold_file.with_name("perturbed.conllu"), gold_file.with_name("half.conllu")
    conllu.write(toy[:2], half)
    spoilt = Perturbed.of(toy, "pairs")
    spoilt.heads(0.5)
    perturbed.write_text(spoilt.text)
    pairs = [gold_file, perturbed, half, half]
    for option in ([], ["--align"]):
        code, out, err, _ = g2g("evaluate", *pairs, "--json", *option)
        assert (code, err) == (0, "")
        found = json.loads(out)
        alone = [json.loads(g2g("evaluate", *pair, "--json", *option).out) for pair in (pairs[:2], pairs[2:])]
        named = [{"gold": str(pairs[0]), "predicted": str(pairs[1])}, {"gold": str(half), "predicted": str(half)}]
        assert found["pairs"] == [name | scores for name, scores in zip(named, alone, strict=True)]
        macro = {key: (alone[0][key] + alone[1][key]) / 2 for key in alone[0] if key not in ("words", "sentences")}
        assert found["macro"] == macro
        assert found["macro"]["las"] not in (alone[0]["las"], alone[1]["las"])
        table = g2g("evaluate", *pairs, *option).out
        [line] = [line for line in table.splitlines() if "macro average" in line]
        assert f" {found['macro']['las']:.2f} " in line
    wrong = g2g("evaluate", *pairs[:3])
    assert (wrong.code, wrong.out) == (2, "")
    assert "has no partner" in " ".join(wrong.err.replace("│", " ").split())
    assert g2g("evaluate", "-", perturbed, gold_file, "-").code == 2


def test_command_rejects_what_it_cannot_score(g2g: Callable[..., Result], gold_file: Path) -> None:
    for arguments in (
        (gold_file, "-"),
        ("-", "-"),
        (gold_file, gold_file.with_name("none.conllu")),
        (gold_file, gold_file, "--punct", "ptb"),
        ("-", "-", "--align"),
        (gold_file, gold_file, "--punct", "all"),
    ):
        code, out, err, _ = g2g("evaluate", *arguments)
        assert (code, out) == (2 if arguments[0] == "-" or "all" in arguments else 1, "")
        assert err
    assert g2g("evaluate", "-", gold_file.with_name("empty.conllu"))[0] == 1
    gold_file.with_name("empty.conllu").touch()
    assert g2g("evaluate", "-", gold_file.with_name("empty.conllu"))[2] == "g2g: <stdin>: no sentences\n"
