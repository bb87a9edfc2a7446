"""rows.toml: what it may hold, and mistakes in it."""

from pathlib import Path

import pytest

from conftest import ROOT
from graph2graph.errors import DataError
from graph2graph.reproduce.rows import read_table, table_names
from toy_table import change_rows

EXPERIMENTS = ROOT / "experiments"


def test_each_table_is_one_file() -> None:
    assert table_names(EXPERIMENTS) == ["appendix", "english-mpnet", "graph", "ud", "wsj"]
    assert {path.name for path in EXPERIMENTS.glob("*/*.toml")} == {"rows.toml"}


def test_rows_of_a_section_share_its_title_and_settings(clone: Path) -> None:
    change_rows(
        clone,
        "[rows.sent]",
        "[[sections]]\ntitle = 'S'\neach = { variant = 'sent', settings.train.epochs = 2 }\n[sections.rows]\n"
        "one = { title = 'One', settings.train.states = 1, published = { dev = [80.0, 70.0] } }\n[rows.sent]",
    )
    row = read_table(clone / "experiments", "toy").rows["one"]
    assert (row.section, row.variant, row.settings) == ("S", "sent", {"train": {"epochs": 2, "states": 1}})
    assert (row.published.dev.uas, row.published.dev.las, row.published.test.las) == (80, 70, None)


def test_a_profile_is_laid_over_its_base(clone: Path) -> None:
    (clone / "experiments" / "other").mkdir()
    (clone / "experiments" / "other" / "rows.toml").write_text(
        "title = 'Other'\nsource = 'Nothing'\n[rows.a]\ntitle = 'A'\nvariant = 'sent'\n"
        "[cpu]\nbase = 'toy'\nseeds = [7]\nsettings.train.epochs = 5\n[paper]\nbase = 'toy'\n"
    )
    profile = read_table(clone / "experiments", "other").cpu
    assert (profile.treebank, profile.seeds) == ("toy", [7])
    assert (profile.settings["train"]["epochs"], profile.settings["train"]["patience"]) == (5, 0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "A"', 'name = "A"', "rows.toml: rows.sent.title: Field required"),
        ('title = "A"', "title = A", "rows.toml: not TOML"),
        ('about = "A toy."\ntreebank = "nowhere"', "", "rows.toml: paper.about: Field required"),
        ("published.dev.las = 90.0", "publish.dev.las = 90.0", "rows.toml: rows.sent.publish: unknown key"),
    ],
)
def test_mistakes_are_told_in_a_line(clone: Path, old: str, new: str, message: str) -> None:
    change_rows(clone, old, new)
    with pytest.raises(DataError) as caught:
        read_table(clone / "experiments", "toy")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_table_is_told_with_those_there_are() -> None:
    with pytest.raises(
        DataError, match="no table 'none'; there are appendix, english-mpnet, graph, ud, wsj, and claims"
    ):
        read_table(EXPERIMENTS, "none")
