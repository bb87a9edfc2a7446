"""The model in the package: it parses real English, from an installed wheel too."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import graph2graph
from graph2graph import scoring
from graph2graph.parser import catalogue
from graph2graph.parser.pipeline import Pipeline
from graph2graph.treebank import conllu

ROOT = Path(__file__).parents[2]
Run = Callable[..., Any]
pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.skipif("en" not in catalogue.shipped(), reason="no model is shipped with this version yet"),
]
LIMIT = 80e6  # bytes


@pytest.fixture(scope="module")
def nlp() -> Pipeline:
    return graph2graph.load()


def test_what_it_is(g2g: Run) -> None:
    directory = catalogue.shipped()["en"]
    assert sum(path.stat().st_size for path in directory.iterdir()) < LIMIT
    assert {path.name for path in directory.iterdir()} == set(catalogue.FILES)
    card = (directory / "README.md").read_text()
    assert "format" not in json.loads((directory / "config.json").read_text())  # it was made before formats had numbers
    for fact in ("CC BY-SA 4.0", "seed", "g2g train", "raw text", "half precision"):
        assert fact in card
    assert "CC BY-SA 4.0" in g2g("info", "en").out


def test_its_files_are_what_was_made(g2g: Run) -> None:
    assert g2g("info", "en", "--verify", "--json").code == 0


def test_the_hub_reads_its_licence_language_and_scores() -> None:
    cards = pytest.importorskip("huggingface_hub").ModelCard
    data = cards.load(catalogue.shipped()["en"] / "README.md").data
    assert (data.license, data.language, data.library_name) == ("cc-by-sa-4.0", "en", "graph2graph")
    assert "dependency-parsing" in data.tags
    shipped = json.loads((ROOT / "experiments/results/english.json").read_text())["shipped"]
    stated = {(result.dataset_split, result.metric_type): result.metric_value for result in data.eval_results}
    assert stated == {
        (name, metric): shipped[split]["gold"][metric]
        for split, name in (("dev", "validation"), ("test", "test"))
        for metric in ("uas", "las")
    }


@pytest.mark.slow
def test_real_sentences(nlp: Pipeline) -> None:
    document = nlp("The chef who runs the kitchen hasn't tasted the soup yet. She will!")
    first, second = document.sentences
    assert first.forms[:3] == ["The", "chef", "who"]
    arcs = {(word.form, word.deprel, str(word.head_word)) for word in first.words}
    assert {("chef", "nsubj", "tasted"), ("who", "nsubj", "runs"), ("kitchen", "obj", "runs")} <= arcs
    assert {("soup", "obj", "tasted"), ("n't", "advmod", "tasted"), ("runs", "acl:relcl", "chef")} <= arcs
    assert str(first.root) == "tasted"
    assert [word.upos for word in second.words] == ["PRON", "AUX", "PUNCT"]
    assert document.text[first.words[1].start_char : first.words[1].end_char] == "chef"


@pytest.mark.slow
def test_the_card_tells_the_truth(nlp: Pipeline, treebanks: Path) -> None:
    """A part of dev is as good as the card says of the whole, within what its size allows."""
    gold = list(conllu.read(treebanks / "en_ewt" / "dev.conllu"))[::8]
    told = json.loads((ROOT / "experiments/results/english.json").read_text())["shipped"]["dev"]
    for tags in ("keep", "none"):
        found = scoring.score(gold, nlp.parse(gold, tags=tags)).las
        assert found == pytest.approx(told["gold" if tags == "keep" else "none"]["las"], abs=1.5)


@pytest.mark.slow
def test_the_wheel_has_it(tmp_path: Path) -> None:
    """Built, unpacked elsewhere and run from there, in a process that finds nothing of the source tree."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); import graph2graph.cli as cli; "
        "assert 'installed' in cli.__file__; cli.main()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "installed")]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, "parse", "--text", "The dog barks.", "-f", "json"],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    [sentence] = map(json.loads, done.stdout.splitlines())
    assert [(word["form"], word["head"], word["deprel"]) for word in sentence["words"]] == [
        ("The", 2, "det"),
        ("dog", 3, "nsubj"),
        ("barks", 0, "root"),
        (".", 3, "punct"),
    ]
