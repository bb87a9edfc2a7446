"""The map of the paper (docs/paper.md) is complete, and everything it points at exists."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from graph2graph.cli import app

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "paper.md").read_text(encoding="utf-8")
ROWS = [line.strip("|").split(" | ") for line in PAGE.splitlines() if re.match(r"\| [A-Z]", line)]
ITEMS = [row[0].strip() for row in ROWS]
EXPECTED = [
    *(f"Eq. {number}" for number in range(1, 13)),
    *(f"Algorithm {number}" for number in (1, 2)),
    *(f"Figure {number}" for number in range(1, 5)),
    *(f"Table {number}" for number in range(1, 4)),
    *(f"Appendix Table {number}" for number in range(1, 16)),
    *(f"Appendix {letter}" for letter in "ABCDEFGHI"),
]


def target(name: str) -> Any:
    """The object of a dotted name."""
    parts = name.split(".")
    for last in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:last]))
        except ModuleNotFoundError:
            continue
        for part in parts[last:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize("item", EXPECTED)
def test_every_item_has_a_row(item: str) -> None:
    assert ITEMS.count(item) == 1


@pytest.mark.parametrize(("name", "file"), sorted(set(re.findall(r"\[`(graph2graph[\w.]+)`\]\(([^)]+)\)", PAGE))))
def test_names_are_defined_in_the_files_that_they_link_to(name: str, file: str) -> None:
    found = inspect.unwrap(target(name)) if callable(target(name)) else target(name)
    if inspect.isclass(found) or inspect.isfunction(found):
        assert Path(inspect.getsourcefile(found) or "").resolve() == (DOCS / file).resolve()


@pytest.mark.parametrize(("name", "file"), re.findall(r"\[`(\w+)`\]\(([^)]+\.py)\)", PAGE))
def test_functions_of_experiments_are_in_the_files_that_they_link_to(name: str, file: str) -> None:
    assert f"\ndef {name}(" in (DOCS / file).read_text(encoding="utf-8")


def equations(text: str) -> set[int]:
    """The equations that a file mentions: "Eq. 3", "Eq. 11 and 12", "Eq. 6, 7 and 9", "Eq. 1 to 4"."""
    found: set[int] = set()
    for first, rest in re.findall(r"Eq\. (\d+)((?:, \d+)*(?: (?:and|to) \d+)?)", text):
        numbers = [int(first), *map(int, re.findall(r"\d+", rest))]
        found |= set(range(numbers[0], numbers[-1] + 1)) if "to" in rest else set(numbers)
    return found


@pytest.mark.parametrize("number", range(1, 13))
def test_equations_stand_in_the_files_that_the_map_names(number: int) -> None:
    [row] = [row for row in ROWS if row[0].strip() == f"Eq. {number}"]
    for link in re.findall(r"\]\(([^)]+\.py)\)", row[-1]):
        assert number in equations((DOCS / link).read_text(encoding="utf-8")), link


@pytest.mark.slow
def test_the_page_of_the_figures_is_up_to_date() -> None:
    """`python experiments/paper_figures.py` made it from what the code feeds to the encoder."""
    done = subprocess.run([sys.executable, "experiments/paper_figures.py", "--check"], cwd=DOCS.parent, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("link", sorted({link for link in re.findall(r"\]\(([^)#]+)\)", PAGE) if "://" not in link}))
def test_links_lead_somewhere(link: str) -> None:
    assert (DOCS / link).exists()


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`g2g ([a-z-]+)", PAGE))))
def test_commands_exist(command: str) -> None:
    assert command in get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("table", sorted(set(re.findall(r"g2g reproduce ([a-z-]+)", PAGE)) - {"claims"}))
def test_tables_exist(table: str) -> None:
    assert (DOCS.parent / "experiments" / table / "rows.toml").is_file()
