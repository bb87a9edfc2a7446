"""`g2g analyze`: the report has every table and figure, and files that do not fit are refused."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from conftest import Result
from graph2graph.treebank import conllu
from strategies import perturbed

TOY = Path(__file__).parents[1] / "data" / "toy.conllu"


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """The toy treebank with some errors in it."""
    path = tmp_path / "some system.conllu"
    conllu.write(perturbed(list(conllu.read(TOY)), 3), path)
    return path


@pytest.mark.slow
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
    assert "http://www.w3.org" in page  # SVG's name space; nothing is loaded from elsewhere
    assert "src=" not in page
    assert "<link" not in page
    ElementTree.parse(output / "dependency_length.svg")
    for name in ("dependency_length", "distance_to_root", "sentence_length"):
        assert (output / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        rows = list(csv.reader((output / f"{name}.csv").read_text().splitlines()))
        assert len({len(row) for row in rows}) == 1
    markdown = (output / "report.md").read_text()
    assert "<gold> \\| all right" in markdown
    assert "significant (p" in markdown
    texts = [one.text for one in conllu.read(TOY) if len(one) > 2]
    assert any(text in markdown for text in texts)
    assert g2g("analyze", TOY, system, "--no-examples", "-o", output).code == 0
    for path in output.glob("*.*"):
        assert path.suffix == ".png" or not any(text in path.read_text() for text in texts), path


def test_files_that_do_not_fit_are_refused(g2g: Callable[..., Result], system: Path, tmp_path: Path) -> None:
    gold = list(conllu.read(TOY))
    short, other, unparsed = tmp_path / "short.conllu", tmp_path / "other.conllu", tmp_path / "unparsed.conllu"
    conllu.write(gold[:-1], short)
    other.write_text(TOY.read_text().replace("\tThere\t", "\tHere\t"))
    conllu.write([gold[0].with_tree([None] * len(gold[0]), ["_"] * len(gold[0])), *gold[1:]], unparsed)
    for file, message in ((short, "sentences: 7 in"), (other, "is 'Here'"), (unparsed, "word 1 has no head")):
        done = g2g("analyze", TOY, file, "-o", tmp_path / "out")
        assert done.code == 1
        assert message in done.err
    assert g2g("analyze", TOY, system, system, "-o", tmp_path / "out").code == 2
    assert g2g("analyze", TOY, "-o", tmp_path / "out").code == 2
