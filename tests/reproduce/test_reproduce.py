"""The paper's tables as commands: the plans themselves, and a tiny table run, killed and finished."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from conftest import ROOT, Result
from graph2graph import scoring
from graph2graph.analysis import significance
from graph2graph.errors import DataError
from graph2graph.reproduce import claims, runner
from graph2graph.reproduce.places import Places, write_json
from graph2graph.reproduce.plans import Plans, tables, titles
from graph2graph.reproduce.results import right_words
from graph2graph.reproduce.runner import is_locked, lock
from graph2graph.reproduce.tables import Line, gains, lines_of, page, picture, reduction
from graph2graph.treebank import conllu
from graph2graph.variants import VARIANTS

TOY = Path(__file__).parents[1] / "data" / "toy.conllu"
EXPERIMENTS = ROOT / "experiments"
ENCODER = "{ width = 32, inner_width = 64, layers = 1, heads = 2, vocab_size = 300 }"
FILES = {
    "table.toml": 'title = "Toy"\nsource = "Nothing"\nscorers = ["unicode", "include"]\nrows = ["sent", "graph"]\n',
    "cpu.toml": f"""
about = "A toy."
treebank = "toy"
encoder = "none"
settings.train = {{ epochs = 12, patience = 0, checkpoint_steps = 2, batch_pieces = 60, learning_rate = 1e-3 }}
settings.model.encoder = {ENCODER}
settings.data.tags = "xpos"
variants.sent-g2g.train.states = 2
""",
    "paper.toml": 'about = "A toy."\ntreebank = "nowhere"\n',
    "sent.toml": 'title = "A"\nvariant = "sent"\npublished.dev.las = 90.0\n',
    "graph.toml": 'title = "B"\nvariant = "sent-g2g"\nagainst = "sent"\npublished.dev.las = 95.0\n',
}
CLAIMS = '[[claims]]\ntext = "B is better"\ncomparisons = [{ better = "toy/graph", worse = "toy/sent" }]\n'


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one tiny table, and its treebanks beside it."""
    root = tmp_path / "clone"
    for name, text in FILES.items():
        path = root / "experiments" / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "experiments" / "claims.toml").write_text(CLAIMS)
    treebank = tmp_path / "shared" / "treebanks" / "toy"
    treebank.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        shutil.copy(TOY, treebank / f"{split}.conllu")
    monkeypatch.delenv("G2G_TREEBANKS", raising=False)
    monkeypatch.chdir(root)
    return root


# ---------------------------------------------------------------------- the plans of the repository


@pytest.mark.parametrize("profile", ["cpu", "paper"])
def test_all_plans_can_be_read(profile: Any) -> None:
    for name in tables(EXPERIMENTS):
        plans = Plans.read(EXPERIMENTS, name, profile)
        assert plans.runs()
        own = {run.row for run in plans.runs() if run.minutes is None} if plans.profile.minutes else set()
        assert own == (
            {"sent-two"} if (name, profile) == ("english-mpnet", "cpu") else set()
        )  # as many steps as another
        assert len({run.minutes for run in plans.runs() if run.row not in own}) == 1  # equal budgets within a table
        files = {path.stem for path in (EXPERIMENTS / name).glob("*.toml")} - {"table", "cpu", "paper"}
        assert files == set(plans.table.rows)
    assert claims.comparisons(claims.read(EXPERIMENTS), Places.find(start=ROOT), profile)


def test_the_tables_are_the_papers() -> None:
    wsj, ud = (Plans.read(EXPERIMENTS, name, "paper") for name in ("wsj", "ud"))
    assert {run.variant for run in wsj.runs()} == set(VARIANTS)
    assert len(wsj.runs()) == 10
    assert len(ud.runs()) == 26
    assert len({run.treebank for run in ud.runs()}) == 13
    assert titles(ud.rows["tr-sent-g2g"], ud.rows[str(ud.against("tr-sent-g2g"))]) == (
        "Turkish, BERT SentTr+G2GTr",
        "Turkish, BERT StateTr+G2GTr",
    )
    for name, average in (("state-g2g", 84.48), ("sent-g2g", 88.06)):  # of Table 2
        las = [row.published.test.las for row in ud.rows.values() if row.variant == name]
        assert np.mean([one for one in las if one is not None]) == pytest.approx(average, abs=0.01)


def test_relative_error_reductions_are_those_of_the_text() -> None:
    plans = Plans.read(EXPERIMENTS, "wsj", "paper")
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


def test_the_paper_profile_has_the_appendix_hyper_parameters() -> None:
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


def test_dry_run_of_the_real_table(g2g: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    done = g2g("reproduce", "wsj", "--dry-run", "--treebanks", tmp_path, "--minutes", "7")
    assert done.code == 0, done.err
    for title in (
        "StateTr+G2GTr",
        "BERT StateCLSTr",
        "BERT StateTr+G2GTr+C",
        "7 layers",
        "7 min",
        "cannot run: no train",
    ):
        assert title in done.out
    paper = g2g("reproduce", "wsj", "--dry-run", "--treebanks", tmp_path, "--profile", "paper", "--json")
    rows = json.loads(paper.out)
    assert {row["state"] for row in rows} == {"cannot run"}
    [state] = [row for row in rows if row["row"] == "bert-state"]
    assert state["expected_minutes"] == pytest.approx(0.098 * 79664 * 12 / 60, abs=0.1)  # as the paper counts


# ---------------------------------------------------------------------- a tiny table


def start(clone: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    """The command in a session of its own, so that it can be killed with all that it started."""
    command = [sys.executable, "-m", "graph2graph", "reproduce", "toy", *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(command, cwd=clone, env=environment, stderr=subprocess.PIPE, start_new_session=True)


def wait_for(found: Callable[[], object], process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 60
    while not found() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    assert found()


def test_killed_and_restarted_it_goes_on(clone: Path, g2g: Callable[..., Result]) -> None:
    run = clone / "runs" / "reproduce" / "toy" / "cpu" / "graph-1"
    first = start(clone, "--rows", "graph")
    wait_for(lambda: any(run.glob("checkpoints/step-*[1-9].safetensors")), first)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    [row] = json.loads(g2g("reproduce", "toy", "--rows", "graph", "--dry-run", "--json").out)
    assert row["state"] == "part done"

    second = start(clone, "--rows", "graph")
    _, messages = second.communicate()
    assert second.returncode == 0, messages
    log = (run / "log.txt").read_text()
    assert log.count("g2g train") == 2
    assert "going on after step" in log

    result = json.loads((clone / "experiments/results/toy/cpu/graph-1.json").read_text())
    gold, parsed = (list(conllu.read(file)) for file in (TOY, run / "test.conllu"))
    scores = scoring.score(gold, parsed, punct="unicode")
    assert result["test"]["las"] == round(scores.las, 2)
    assert result["other_scorers"]["include"]["test"]["uas"] == round(scoring.score(gold, parsed).uas, 2)
    assert right_words(result, "test").sum() == scores.metrics["LAS"].correct
    assert result["command"].split()[1:4] == ["g2g", "train", "$G2G_TREEBANKS/toy/train.conllu"]
    assert result["instructions"] == torch.backends.cpu.get_cpu_capability()
    assert str(clone) not in json.dumps(result)
    assert result["config"]["train"]["seed"] == result["seed"] == 1
    assert result["seconds"] > 0
    table = (clone / "docs" / "tables" / "toy.md").read_text().replace("\u00a0", " ")
    assert f"{result['dev']['uas']:.2f} / {result['dev']['las']:.2f}" in table
    assert "+50.0 %" in table  # of the paper, 95 against 90
    assert f"/ {result['epochs']:.1f} |" in table
    again = g2g("reproduce", "toy", "--rows", "graph")  # nothing is left to do
    assert (again.code, again.err) == (0, "")
    assert "1 of 1 runs done" in again.out


def test_workers_share_the_cores_and_have_more_time(
    clone: Path, g2g: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def pretended(job: Any, arguments: list[str], threads: int, held: int | None) -> None:
        """What g2g would leave behind."""
        calls.append((arguments[0], threads))
        if arguments[0] == "train":
            write_json(job.directory / "run.json", {"seconds": 60, "epochs": 1, "steps": 1, "best_step": 1})
            write_json(job.directory / "config.json", {})
        else:
            shutil.copy(TOY, clone / arguments[arguments.index("-o") + 1])

    monkeypatch.setattr(runner._Job, "_g2g", pretended)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    done = g2g("reproduce", "toy", "--workers", "2", "--minutes", "3", "--seeds", "1,2")
    assert done.code == 0, done.err
    assert sorted(calls) == [("parse", 2)] * 8 + [("train", 2)] * 4
    results = [json.loads(path.read_text()) for path in clone.glob("experiments/results/toy/cpu-3m/*.json")]
    assert sorted((one["row"], one["seed"]) for one in results) == [(r, s) for r in ("graph", "sent") for s in (1, 2)]
    for one in results:
        assert one["command"].startswith("OMP_NUM_THREADS=2 g2g train")
        assert "--time-limit 360s --resume" in one["command"]
        assert one["dev"]["las"] == 100
    assert (clone / "docs" / "tables" / "toy-cpu-3m.md").exists()
    assert g2g("reproduce", "claims", "--minutes", "3").code == 0
    assert "| B (Toy) | A | +0.00 |" in (clone / "docs" / "tables" / "claims-cpu-3m.md").read_text()


def test_who_comes_second_waits_for_a_child_that_outlived_its_parent(tmp_path: Path) -> None:
    path, told = tmp_path / "run" / "lock", []
    with lock(path, lambda: told.append("first")) as held:
        assert held is not None
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[held])
        assert is_locked(path)
    assert is_locked(path)  # by the child alone

    def waits() -> None:
        told.append("second")
        child.communicate(b"\n")

    with lock(path, waits):
        assert child.returncode == 0
    assert told == ["second"]
    assert not is_locked(path)


def test_a_run_that_fails_is_said_in_a_line(clone: Path, g2g: Callable[..., Result]) -> None:
    path = clone.parent / "shared" / "treebanks" / "toy" / "train.conllu"
    path.write_text(
        path.read_text().replace("2\tThere\tthere\tADV\tEX\t_\t0\troot", "2\tThere\tthere\tADV\tEX\t_\t1\troot")
    )
    done = g2g("reproduce", "toy", "--rows", "sent")
    assert done.code == 1
    assert "no root" in done.err
    assert "1 of 1 runs failed" in done.err
    assert "Traceback" not in done.err


def test_mistakes(clone: Path, g2g: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = clone / "experiments" / "toy"
    cases = {("nothing",): (1, "there are toy, and claims"), ("toy", "--rows", "a,sent"): (1, "no row 'a'")}
    cases |= {("toy", "--seeds", "one"): (2, "expected numbers"), ("toy", "--profile", "gpu"): (2, "gpu")}
    for arguments, (code, message) in cases.items():
        done = g2g("reproduce", *arguments, "--dry-run")
        assert (done.code, message in done.err) == (code, True), done.err
    (plans / "sent.toml").write_text(FILES["sent.toml"] + "settings.train.epoch = 3\n")
    done = g2g("reproduce", "toy", "--dry-run")
    assert done.err.strip() == "g2g: toy/sent: train.epoch: unknown key"
    (plans / "sent.toml").write_text(FILES["sent.toml"].replace("title", "name"))
    assert "sent.toml: title: Field required" in g2g("reproduce", "toy", "--dry-run").err
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(Places.find.__globals__, "__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    assert "clone it" in g2g("reproduce", "toy", "--dry-run").err


def test_a_changed_row_is_not_taken_for_done(clone: Path, g2g: Callable[..., Result]) -> None:
    places = Places.find()
    run = Plans.read(places.experiments, "toy").run("sent", 1)
    write_json(places.result("toy", "cpu", run.name), {"plan": run.plan, "seconds": 90, "threads": 2})
    [row] = json.loads(g2g("reproduce", "toy", "--rows", "sent", "--dry-run", "--json").out)
    assert (row["state"], row["detail"]) == ("done", "in 3 core minutes")
    (clone / "experiments" / "toy" / "sent.toml").write_text(FILES["sent.toml"] + "settings.train.epochs = 3\n")
    [row] = json.loads(g2g("reproduce", "toy", "--rows", "sent", "--dry-run", "--json").out)
    assert row["state"] == "outdated"


def test_a_row_may_have_a_budget_of_its_own(clone: Path, g2g: Callable[..., Result]) -> None:
    directory = clone / "experiments" / "toy"
    (directory / "cpu.toml").write_text("minutes = 5\n" + FILES["cpu.toml"])
    (directory / "graph.toml").write_text(FILES["graph.toml"] + "cpu.minutes = 0\ncpu.settings.train.epochs = 3\n")
    plans = Plans.read(clone / "experiments", "toy")
    assert [plans.run(row, 1).minutes for row in ("sent", "graph")] == [5, None]
    assert plans.run("graph", 1).config.train.epochs == 3
    assert Plans.read(clone / "experiments", "toy", minutes=2).run("graph", 1).minutes == 2  # --minutes is for all
    shown = g2g("reproduce", "toy", "--rows", "graph", "--dry-run").out
    assert "3 epochs" in shown
    assert "0 of 1 runs done; the rest: unknown" in shown


def test_without_a_development_file_the_end_of_train_is_held_out(clone: Path) -> None:
    directory = clone.parent / "shared" / "treebanks" / "toy"
    (directory / "dev.conllu").unlink()
    sentences = list(conllu.read(TOY)) * 5
    conllu.write(sentences, directory / "train.conllu")
    places = Places.find()
    run = Plans.read(places.experiments, "toy").run("sent", 1)
    assert places.lacking(run) is None
    places.prepare(run)
    files = places.files(run)
    parts = [[one.sent_id for one in conllu.read(files[split])] for split in ("train", "dev")]
    assert parts[0] + parts[1] == [one.sent_id for one in sentences]
    assert len(parts[1]) == 4
    assert files["test"] == directory / "test.conllu"
    assert files["watched"] == files["dev"]
    some = replace(run, dev_sentences=3)
    places.prepare(some)
    watched = [one.sent_id for one in conllu.read(places.files(some)["watched"])]
    assert len(watched) == 3
    assert [one for one in parts[1] if one in watched] == watched
    assert some.plan != run.plan


# ---------------------------------------------------------------------- tables and claims from made-up results


def result_with(right: dict[str, list[int]], n_words: int = 10) -> dict[str, Any]:
    scores = {
        split: {"uas": 0.0, "las": 100 * sum(some) / (n_words * len(some)), "words": n_words * len(some)}
        for split, some in right.items()
    }
    words = {split: " ".join(map(str, some)) for split, some in right.items()}
    return scores | {"right_words": words, "seconds": 60, "threads": 2, "epochs": 3.0}


def put(places: Places, row: str, seed: int, right: dict[str, list[int]]) -> None:
    plan = Plans.read(places.experiments, "toy").run(row, seed).plan
    write_json(places.result("toy", "cpu", f"{row}-{seed}"), result_with(right) | {"plan": plan})


def test_claims_and_the_table(clone: Path) -> None:
    rng = np.random.default_rng(1)
    places = Places.find()
    gain = {1: 1, 2: 0}
    for seed in (1, 2):
        low = {split: rng.integers(5, 9, 60).tolist() for split in ("dev", "test")}
        high = {split: [n + gain[seed] for n in some] for split, some in low.items()}
        put(places, "sent", seed, low)
        put(places, "graph", seed, high)
    [row] = claims.comparisons(claims.read(places.experiments), places, "cpu")
    assert row["seeds"] == [1, 2]
    assert row["both"]["las"] == pytest.approx(5.0)  # ten points with one seed, none with the other
    assert row["verdict"] == "holds"
    assert row["both"]["randomisation"] == pytest.approx(
        significance.randomisation(np.ones(120, dtype=np.int64)), abs=1e-4
    )
    plans = Plans.read(places.experiments, "toy")
    lines = lines_of(plans, places)
    ours = reduction(lines["graph"], lines, ours=True)
    low_las, high_las = (lines[name].ours("dev").las for name in ("sent", "graph"))
    assert low_las is not None
    assert high_las is not None
    assert ours == pytest.approx(100 * (high_las - low_las) / (100 - low_las))
    [found] = gains(lines)
    assert (found.row.title, found.other.title, found.ours, found.theirs) == ("B", "A", ours, 50)
    svg = picture(plans, places)
    assert svg is not None
    texts = {"".join(one.itertext()) for one in ElementTree.fromstring(svg).iter() if one.tag.endswith("}text")}
    assert {"B", "against A", "here", "paper"} <= texts
    assert "(toy.svg)" in page(plans, places)
    by_seed = [f"{seed}: {one['dev']['las']:.2f} (3.0)" for seed, one in lines["graph"].results.items()]
    assert f"| B | {', '.join(by_seed)} | 2 |" in page(plans, places).replace("\u00a0", " ")
    assert "order differs" not in page(plans, places)
    put(places, "graph", 1, {"dev": [0] * 60, "test": [0] * 60})
    assert "order differs" in page(plans, places)
    [row] = claims.comparisons(claims.read(places.experiments), places, "cpu")
    assert row["verdict"] == "does not hold"
    # what was run otherwise than the row now says counts no more, and only seeds that both rows have are compared
    write_json(places.result("toy", "cpu", "graph-1"), result_with({"dev": [0] * 60, "test": [0] * 60}) | {"plan": {}})
    lines = lines_of(plans, places)
    assert set(lines["graph"].results) == {2}
    assert reduction(lines["graph"], lines, ours=True) == 0
    [row] = claims.comparisons(claims.read(places.experiments), places, "cpu")
    assert row["seeds"] == [2]
    places.result("toy", "cpu", "sent-2").unlink()
    assert picture(plans, places) is None  # there is nothing left to compare
    assert "toy.svg" not in page(plans, places)


def test_averages_are_over_what_all_models_have(clone: Path) -> None:
    plans = clone / "experiments" / "toy"
    variants, languages = ("sent", "sent-g2g"), ("x", "y", "extra")
    rows = {f"{language}-{variant}": (language, variant) for variant in variants for language in languages}
    (plans / "table.toml").write_text(
        f'title = "Toy"\nsource = "Nothing"\naverage = true\nrows = {json.dumps(list(rows))}\n'
    )
    for name, (language, variant) in rows.items():
        (plans / f"{name}.toml").write_text(
            f'title = "{language}"\nsection = "{variant}"\nvariant = "{variant}"\ntreebank = "{language}_bank"\n'
            + (f'against = "{language}-sent"\n' if variant == "sent-g2g" else "")
            + ('only = "cpu"' if language == "extra" else f"published.dev.las = {len(name) * 9}\n")
        )
    places = Places.find()
    for name, right in (("x-sent", 5), ("y-sent", 9), ("x-sent-g2g", 6), ("extra-sent", 9), ("extra-sent-g2g", 9)):
        put(places, name, 1, {"dev": [right] * 3, "test": [right] * 3})
    text = page(Plans.read(places.experiments, "toy"), places).replace("\u00a0", " ")
    averages = [line.split(" | ")[1:3] for line in text.splitlines() if line.startswith("| average of the 1 ")]
    assert averages == [["0.00 / 50.00", "– / 54.00"], ["0.00 / 60.00", "– / 90.00"]]  # a row of our own is not in it
    first, second = text.split("## sent-g2g")
    assert first.count("x_bank") == 1
    assert "_bank" not in second  # said once
    assert "| +20.0 % | +78.3 % |" in second
    assert "The other is sent." in second  # the same title: what differs is the section, and is said once
    assert "against" not in text


def test_a_clone_is_needed(tmp_path: Path) -> None:
    assert Places.find(start=tmp_path).root == ROOT  # the one that this package is run from
    with pytest.raises(DataError, match="no table"):
        Plans.read(EXPERIMENTS, "none")
