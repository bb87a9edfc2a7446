"""`g2g draw`: trees as text and as SVG, to a file or standard output."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

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
    result = g2g("draw", two, "-f", "svg", "-o", "-")
    assert (result.code, result.out) == (0, target.read_text())
    assert f"{two} has more sentences" in result.err
    assert g2g("draw", two, "-f", "svg", "--sent-id", "hearing")[:3] == (0, target.read_text(), "")


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
