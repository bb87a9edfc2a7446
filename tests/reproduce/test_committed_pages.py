"""The committed pages are what their commands make of the committed results."""

import english_page
import pytest
import slices
import word_pieces

import running_details
from conftest import ROOT
from graph2graph.files import read_json
from graph2graph.reproduce.claims import claims_page, comparisons, read_claims
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.plans import Plans
from graph2graph.reproduce.rows import table_names
from graph2graph.reproduce.table_page import page

RESULTS, PAGES = ROOT / "experiments/results", ROOT / "docs/tables"
WITH_PAGE = [name for name in table_names(ROOT / "experiments") if (PAGES / f"{name}.md").exists()]


@pytest.mark.parametrize("table", WITH_PAGE)
def test_tables(table: str) -> None:
    paths = Paths.find(start=ROOT)
    assert (PAGES / f"{table}.md").read_text() == page(Plans.read(paths.experiments, table), paths)


@pytest.mark.slow
def test_claims() -> None:
    paths = Paths.find(start=ROOT)
    claims = read_claims(paths.experiments)
    rows = comparisons(claims, paths, "cpu")
    assert read_json(RESULTS / "claims/cpu/claims.json") == rows
    assert (PAGES / "claims.md").read_text() == claims_page(claims, rows)


def test_english() -> None:
    assert english_page.PAGE.read_text() == english_page.page(read_json(english_page.RESULTS))


def test_slices() -> None:
    found = read_json(slices.RESULTS)
    rows = {(row["setting"], row["model"]): row for row in found["rows"]}
    assert slices.PAGE.read_text() == slices.page(rows, found["floors"])


def test_word_pieces() -> None:
    made = word_pieces.table(read_json(RESULTS / "word-pieces.json")).markdown()
    assert (PAGES / "word-pieces.md").read_text() == made.replace("## ", "# ", 1)


def test_running_details() -> None:
    found = read_json(RESULTS / "running-details.json")
    text = (PAGES / "running-details.md").read_text()
    made = running_details.table(found["rows"], "").markdown()
    assert text.split("\n\n")[-1] == made.split("\n\n")[-1]
