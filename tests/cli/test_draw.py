"""`g2g draw`: trees as text and as SVG, to a file or standard output."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from graph2graph.treebank import conllu, drawing
from pictures import HEARING, HEARING_TREE, Picture


@pytest.fixture
def two(tmp_path: Path) -> Path:
    path = tmp_path / "two.conllu"
    hearing = HEARING.read_text()
    path.write_text(hearing + hearing.replace("sent_id = hearing", "sent_id = again"))
    return path


def test_draw_text(g2g: Callable, two: Path, tmp_path: Path) -> None:
    assert g2g("draw", HEARING)[:3] == (0, HEARING_TREE, "")
    assert g2g("draw", "-", stdin=HEARING.read_bytes())[:3] == (0, HEARING_TREE, "")
    again = HEARING_TREE.replace("sent_id = hearing", "sent_id = again")
    assert g2g("draw", two)[:3] == (0, HEARING_TREE + "\n" + again, "")
    assert g2g("draw", two, "--sent-id", "again")[:3] == (0, again, "")
    target = tmp_path / "tree.txt"
    assert g2g("draw", HEARING, "-f", "text", "-o", target)[:3] == (0, "", "")
    assert target.read_text() == HEARING_TREE


def test_draw_svg(g2g: Callable, two: Path, tmp_path: Path) -> None:
    target = tmp_path / "tree.svg"
    assert g2g("draw", HEARING, "-f", "svg", "-o", target)[:3] == (0, "", "")
    Picture(target.read_text()).assert_tidy()
    assert g2g("draw", two, "-f", "svg", "--sent-id", "hearing")[:3] == (0, target.read_text(), "")
    result = g2g("draw", two, "-f", "svg", "-o", "-")
    assert (result.code, result.err) == (0, "")
    assert result.out == drawing.svg(*conllu.read(two))
    assert result.out.count("<title>") == 2


def test_a_picture_of_a_treebank_is_refused(g2g: Callable, tmp_path: Path) -> None:
    many = tmp_path / "many.conllu"
    many.write_text(HEARING.read_text() * 501)
    result = g2g("draw", many, "-f", "svg")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("g2g: a picture has up to 500 sentences; g2g draw FILE -f svg --output-dir DIR")


def test_draw_each_sentence_to_its_own_file(g2g: Callable, two: Path, tmp_path: Path) -> None:
    ids = ["../up/../../x y", "hearing", "hearing", None, ".", "é" * 300, "Hearing"]
    lines = [f"# sent_id = {name}\n" if name else "# none\n" for name in ids]
    two.write_text("".join(line + HEARING.read_text().partition("\n")[2] for line in lines))
    for kind, ending in (("svg", "svg"), ("text", "txt")):
        directory = tmp_path / "new" / kind
        assert g2g("draw", two, "-f", kind, "--output-dir", directory)[:3] == (0, "", "")
        names = ["_up_.._.._x_y", "hearing", "hearing-3", "4", "5", "é" * 60, "Hearing-7"]
        assert sorted(file.name for file in directory.iterdir()) == sorted(f"{name}.{ending}" for name in names)
        one = g2g("draw", two, "-f", kind, "--sent-id", "hearing").out
        assert (directory / f"hearing.{ending}").read_text() == one
    assert g2g("draw", two, "--output-dir", tmp_path, "-o", "x").code == 2
    result = g2g("draw", two, "--output-dir", two)
    assert (result.code, result.err) == (1, f"g2g: {two}: File exists\n")


@pytest.mark.parametrize("output", ["text", "svg"])
def test_sentences_too_long_to_draw(g2g: Callable, tmp_path: Path, output: str) -> None:
    chain = tmp_path / "chain.conllu"
    rows = (f"{word}\tw\t_\t_\t_\t_\t{word - 1}\t_\t_\t_\n" for word in range(1, 5002))
    chain.write_text("# sent_id = chain\n" + "".join(rows) + "\n")
    result = g2g("draw", chain, "-f", output)
    assert (result.code, result.out) == (1, "")
    assert result.err == "g2g: sentence chain has 5,001 words; up to 5,000 can be drawn\n"


def test_draw_output_of_other_parsers(g2g: Callable) -> None:
    several_roots = re.sub(r"\t4\tobl:tmod", "\t0\troot", HEARING.read_text())
    result = g2g("draw", "-", stdin=several_roots.encode())
    assert result.code == 0
    assert "─│─────╼ today" in result.out


@pytest.mark.parametrize("output", ["text", "svg"])
def test_draw_errors(g2g: Callable, tmp_path: Path, output: str) -> None:
    for args, message in [
        ((HEARING, "--sent-id", "no such"), f"g2g: {HEARING}: no sentence with sent_id 'no such'\n"),
        (("-",), "g2g: <stdin>: no sentence\n"),
        ((tmp_path / "missing.conllu",), "No such file"),
        ((HEARING, "-o", tmp_path / "missing" / "tree"), "No such file"),
    ]:
        result = g2g("draw", *args, "-f", output)
        assert (result.code, result.out) == (1, "")
        assert message in result.err
        assert result.err.count("\n") == 1
    assert g2g("draw", HEARING, "-f", "png").code == 2
