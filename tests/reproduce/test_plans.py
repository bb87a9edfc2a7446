"""Plans: the tables of the repository are the paper's, and their rows are valid."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import ROOT
from graph2graph.errors import DataError
from graph2graph.reproduce.plans import Plans, titles
from graph2graph.reproduce.rows import table_names
from graph2graph.variants import VARIANTS
from toy_table import change_rows

EXPERIMENTS = ROOT / "experiments"


@pytest.mark.parametrize("profile", ["cpu", "paper"])
@pytest.mark.parametrize("table", table_names(EXPERIMENTS))
def test_every_row_is_a_valid_configuration(table: str, profile: Any) -> None:
    plans = Plans.read(EXPERIMENTS, table, profile)
    assert plans.runs()
    for run in plans.runs():
        config = run.config
        assert (config.train.seed, config.data.tags) == (run.seed, run.settings["data"]["tags"])


@pytest.mark.parametrize("table", table_names(EXPERIMENTS))
def test_the_runs_of_a_table_have_equal_budgets(table: str) -> None:
    plans = Plans.read(EXPERIMENTS, table)
    unlimited = {run.row for run in plans.runs() if run.minutes is None} if plans.profile.minutes else set()
    assert unlimited == ({"sent-two"} if table == "english-mpnet" else set())  # as many steps as the row beside it
    assert len({run.minutes for run in plans.runs() if run.row not in unlimited}) == 1


def test_the_tables_are_the_papers() -> None:
    wsj, ud = (Plans.read(EXPERIMENTS, name, "paper") for name in ("wsj", "ud"))
    assert {run.variant for run in wsj.runs()} == set(VARIANTS)
    assert (len(wsj.runs()), len(ud.runs()), len({run.treebank for run in ud.runs()})) == (10, 26, 13)
    for name, average in (("state-g2g", 84.48), ("sent-g2g", 88.06)):  # of Table 2
        las = [row.published.test.las for row in ud.rows.values() if row.variant == name]
        assert np.mean([one for one in las if one is not None]) == pytest.approx(average, abs=0.01)


def test_titles_that_are_the_same_are_told_apart_by_their_sections() -> None:
    ud = Plans.read(EXPERIMENTS, "ud", "paper")
    sent, state = ud.rows["tr-sent-g2g"], ud.rows[str(ud.against("tr-sent-g2g"))]
    assert titles(sent, state) == ("Turkish, BERT SentTr+G2GTr", "Turkish, BERT StateTr+G2GTr")


def test_profile_paper_has_the_appendix_hyper_parameters() -> None:
    plans = Plans.read(EXPERIMENTS, "wsj", "paper")
    run = plans.run("bert-state", 1)
    assert (run.encoder, run.config.train.epochs, run.config.data.tags) == ("bert-base-uncased", 12, "xpos")
    train, model = run.config.train, run.config.model
    assert (train.learning_rate, train.new_learning_rate, train.one_optimiser) == (1e-5, 1e-4, True)
    assert (train.warmup, train.weight_decay, train.clip, train.adam_epsilon) == (0.01, 0.01, 1.0, 1e-6)
    assert (train.states, train.stale_weight, train.empty_stale_weight) == (0, 0.0, 0.0)
    assert (model.exist_hidden, model.relation_hidden, model.classifier_dropout) == (500, 100, 0.05)
    assert (model.encoder.layers, model.encoder.width, model.encoder.heads) == (6, 768, 12)
    assert not plans.run("bert-sent-g2g", 1).config.train.one_optimiser
    assert plans.run("bert-sent-g2g-7layers", 1).config.model.encoder.layers == 7
    assert not any(run.config.model.tagger for run in plans.runs())
    ud = Plans.read(EXPERIMENTS, "ud", "paper").run("ar-sent-g2g", 1)
    assert (ud.encoder, ud.config.train.epochs) == ("bert-base-multilingual-cased", 20)
    appendix = Plans.read(EXPERIMENTS, "appendix", "paper")
    assert not appendix.run("no-skip", 1).config.model.composition_skip
    assert appendix.run("separate-positions", 1).config.model.separate_positions


def test_a_row_may_have_another_budget(clone: Path) -> None:
    change_rows(clone, "[cpu]", "[cpu]\nminutes = 5")
    change_rows(clone, 'title = "B"', 'title = "B"\ncpu.minutes = 0\ncpu.settings.train.epochs = 3')
    plans = Plans.read(clone / "experiments", "toy")
    assert [plans.run(row, 1).minutes for row in ("sent", "graph")] == [5, None]
    assert plans.run("graph", 1).config.train.epochs == 3
    assert Plans.read(clone / "experiments", "toy", minutes=2).run("graph", 1).minutes == 2  # --minutes is for all rows


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('against = "sent"', 'against = "none"', "toy/graph: against: no row 'none'"),
        ('variant = "sent"', 'variant = "tree"', "toy/sent: variant: expected one of state, "),
        ('treebank = "toy"', "", "toy/sent: treebank: neither the row nor profile cpu has one"),
        ('title = "A"', 'title = "A"\nsettings.train.epoch = 3', "toy/sent: train.epoch: unknown key"),
    ],
)
def test_mistakes_in_a_row_name_it(clone: Path, old: str, new: str, message: str) -> None:
    change_rows(clone, old, new)
    with pytest.raises(DataError) as caught:
        Plans.read(clone / "experiments", "toy")
    assert message in str(caught.value)


def test_rows_that_do_not_exist_are_refused(clone: Path) -> None:
    with pytest.raises(DataError, match="toy has no row 'a'; there are sent, graph"):
        Plans.read(clone / "experiments", "toy").runs(["a", "sent"])
