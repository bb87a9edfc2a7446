"""The page of a table, from made-up results."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from conftest import ROOT
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.plans import Plans
from graph2graph.reproduce.table_page import Line, gains, lines_of, page, picture, reduction
from toy_table import ROWS, rows_file, write_result


def text_of(clone: Path) -> str:
    paths = Paths.find()
    return page(Plans.read(clone / "experiments", "toy"), paths).replace("\u00a0", " ")


def put(clone: Path, row: str, seed: int, right: int) -> None:
    write_result(clone, row, seed, {"dev": [right] * 3, "test": [right] * 3})


def test_relative_error_reductions_are_those_of_the_papers_text() -> None:
    plans = Plans.read(ROOT / "experiments", "wsj", "paper")
    lines = {name: Line(name, row, plans.against(name), {}) for name, row in plans.rows.items()}
    expected = {
        "state-g2g": 9.97,
        "bert-state": 26.25,
        "bert-state-g2g": 11.66,
        "bert-state-cls": -12.28,
        "bert-state-g2cls": -10.53,
        "bert-state-g2g-c": -8.84,
        "bert-sent-g2g": 4.62,
        "bert-sent-g2g-7layers": 2.19,
    }
    for name, percent in expected.items():
        assert reduction(lines[name], lines, ours=False) == pytest.approx(percent, abs=0.011)


def test_reductions_are_over_the_seeds_that_both_rows_have(clone: Path) -> None:
    paths = Paths.find()
    for row, seed, right in (("sent", 1, 5), ("sent", 2, 7), ("graph", 1, 6), ("graph", 3, 9)):
        write_result(clone, row, seed, {"dev": [right], "test": [right]})
    lines = lines_of(Plans.read(paths.experiments, "toy"), paths)
    assert lines["graph"].ours("dev").las == 75
    assert reduction(lines["graph"], lines, ours=True) == pytest.approx(20)  # 60 against 50
    [gain] = gains(lines)
    assert (gain.row.title, gain.other.title, gain.ours, gain.theirs) == ("B", "A", pytest.approx(20), 50)


def test_results_of_another_plan_do_not_count(clone: Path) -> None:
    paths = Paths.find()
    write_result(clone, "graph", 1, {"dev": [9], "test": [9]}, valid=False)
    write_result(clone, "graph", 2, {"dev": [5], "test": [5]})
    assert set(lines_of(Plans.read(paths.experiments, "toy"), paths)["graph"].results) == {2}


def test_seeds_and_reversed_orders(clone: Path) -> None:
    for seed, right in ((1, 6), (2, 8)):
        put(clone, "sent", seed, right)
        put(clone, "graph", seed, right + 1)
    text = text_of(clone)
    assert "| B | 1: 70.00 (3.0), 2: 90.00 (3.0) | 2 |" in text
    assert "order differs" not in text
    put(clone, "graph", 1, 0)
    assert "- B against A: RER -83.3 % here, +50.0 % in the paper" in text_of(clone)


@pytest.mark.slow  # matplotlib
def test_the_picture_has_the_reductions_of_both(clone: Path) -> None:
    put(clone, "sent", 1, 6)
    put(clone, "graph", 1, 7)
    svg = picture(Plans.read(clone / "experiments", "toy"), Paths.find())
    assert svg is not None
    texts = {"".join(one.itertext()) for one in ElementTree.fromstring(svg).iter() if one.tag.endswith("}text")}
    assert {"B", "against A", "here", "paper"} <= texts
    assert "(toy.svg)" in text_of(clone)


def test_there_is_no_picture_with_nothing_to_compare(clone: Path) -> None:
    put(clone, "graph", 1, 7)
    assert picture(Plans.read(clone / "experiments", "toy"), Paths.find()) is None
    assert "toy.svg" not in text_of(clone)


def test_averages_are_over_the_rows_that_all_sections_have(clone: Path) -> None:
    head = ROWS[: ROWS.index("[rows.sent]")].replace('title = "Toy"', 'title = "Toy"\naverage = true')
    parts = [head]
    for variant in ("sent", "sent-g2g"):
        parts.append(f"[[sections]]\ntitle = '{variant}'\neach.variant = '{variant}'\n[sections.rows]")
        for language in ("x", "y", "extra"):
            name = f"{language}-{variant}"
            row = {"title": language, "treebank": f"{language}_bank"}
            row |= {"against": f"{language}-sent"} if variant == "sent-g2g" else {}
            row |= {"only": "cpu"} if language == "extra" else {}
            published = "" if language == "extra" else f", published.dev.las = {len(name) * 9}"
            parts.append(f"{name} = {{ {', '.join(f'{k} = {json.dumps(v)}' for k, v in row.items())}{published} }}")
    rows_file(clone).write_text("\n".join(parts))
    for name, right in (("x-sent", 5), ("y-sent", 9), ("x-sent-g2g", 6), ("extra-sent", 9), ("extra-sent-g2g", 9)):
        put(clone, name, 1, right)
    text = text_of(clone)
    averages = [line.split(" | ")[1:3] for line in text.splitlines() if line.startswith("| average of the 1 ")]
    assert averages == [
        ["0.00 / 50.00", "– / 54.00"],
        ["0.00 / 60.00", "– / 90.00"],
    ]  # rows not in the paper are left out
    first, second = text.split("## sent-g2g")
    assert first.count("x_bank") == 1
    assert "_bank" not in second  # only the first section names the treebanks
    assert "| +20.0 % | +78.3 % |" in second
    assert (
        "The other row is that of sent." in second
    )  # rows of the same title are told apart by their section, in one note
    assert "against" not in text
