"""The language check: a text in another language than the model's gets one warning; the shipped model knows English."""

import io
import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import graph2graph
from graph2graph.errors import DataError
from graph2graph.parser import catalogue
from graph2graph.parser.language import FILE_NAME, CommonWords, LanguageCheck, written_words
from graph2graph.parser.pipeline import Pipeline
from graph2graph.treebank.sentence import Sentence

ENGLISH = (
    "The dog that I saw in the park was so loud that all of the people there went away, and it did not stop at all."
)
GERMAN = (
    "Der Hund, den ich gestern im Park sah, war so laut, dass alle Leute dort weggingen, und er hörte gar nicht auf. "
    "Dann kam seine Besitzerin und nahm ihn mit nach Hause."
)
Run = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def english() -> CommonWords:
    common = CommonWords.read(catalogue.shipped()["en"])
    assert common is not None
    return common


@pytest.fixture(scope="module")
def model(toy_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy model, with the common words of English."""
    path = tmp_path_factory.mktemp("english") / "model"
    shutil.copytree(toy_model, path)
    shutil.copy(catalogue.shipped()["en"] / FILE_NAME, path)
    return path


def warned(parse: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parse()
    return [str(one.message) for one in caught if "another language" in str(one.message)]


def test_words_are_letters_alone_in_any_script() -> None:
    forms = ["The", "3rd", "don't", "a@b.c", "हिन्दी", "中文", ".", "É"]
    assert list(written_words(forms)) == ["the", "हिन्दी", "中文", "é"]


def test_common_words_of_a_treebank() -> None:
    sentences = [Sentence.from_words(["The", "dog", "the", "."]), Sentence.from_words(["the"])]
    common = CommonWords.of(sentences)
    assert common == ({"the", "dog"}, 1.0)
    assert CommonWords(frozenset(common.to_json()["words"]), common.to_json()["share"]) == common
    assert CommonWords.of([]) == (set(), 0.0)


@pytest.mark.parametrize(
    ("text", "is_english"), [(ENGLISH, True), (GERMAN, False), ("日本語 " * 30, False), ("7 " * 99, True)]
)
def test_is_it_english(english: CommonWords, text: str, is_english: bool) -> None:
    check = LanguageCheck(english)
    check.add(text.replace(",", " ,").replace(".", " .").split())
    assert (check.problem() is None) == is_english


def test_a_few_words_tell_nothing(english: CommonWords) -> None:
    check = LanguageCheck(english)
    check.add(["Hund"] * 19)
    assert check.problem() is None
    check.add(["Hund"])
    assert (
        check.problem()
        == "0% of 20 words are common ones of the model's language, usually 75%: is it another language?"
    )


def test_one_warning_for_each_input(g2g: Run, model: Path, tmp_path: Path) -> None:
    for name, text in (("german", GERMAN * 20), ("english", ENGLISH * 20), ("short", "Der Hund bellt.")):
        (tmp_path / f"{name}.txt").write_text(text)
    files = [tmp_path / f"{name}.txt" for name in ("german", "english", "short", "german")]
    done = g2g("parse", "--model", model, *files)
    assert done.code == 0
    lines = [line for line in done.err.splitlines() if "another language" in line]
    assert len(lines) == 2
    assert all(str(files[0]) in line for line in lines)
    for off in ("--no-language-check", "--quiet"):
        silent = g2g("parse", "--model", model, *files, off)
        assert "another language" not in silent.err
        assert silent.out == done.out


def test_in_python(model: Path, toy_model: Path) -> None:
    nlp = graph2graph.load(model)
    assert len(warned(lambda: nlp(GERMAN))) == 1
    assert len(warned(lambda: list(nlp.pipe([GERMAN, ENGLISH, GERMAN])))) == 2
    assert len(warned(lambda: list(nlp.parse([GERMAN.split()] * 20)))) == 1
    assert warned(lambda: nlp(ENGLISH)) == []
    unwatched: list[Pipeline] = [graph2graph.load(model, check_language=False), graph2graph.load(toy_model)]
    assert [warned(lambda nlp=nlp: nlp(GERMAN)) for nlp in unwatched] == [[], []]  # type: ignore[misc]


@pytest.mark.parametrize("content", ["[]", "{}", '{"words": [1], "share": 0.5}', '{"words": [], "share": 2}', "x"])
def test_a_broken_file_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text(content)
    with pytest.raises(DataError, match=r"language\.json: "):
        CommonWords.read(tmp_path)
    assert CommonWords.read(tmp_path / "none") is None


def test_the_measured_figures_are_those_that_are_promised() -> None:
    """`experiments/language_check.py` measured them."""
    results = Path(__file__).parents[2] / "experiments/results/language_check.json"
    found = json.loads(results.read_text())
    for name, tried in found.items():
        if "documents" in name:
            assert tried["warnings"] == 0, name
        elif "passages" in name:
            assert tried["percent"] >= 95, name
    assert {name.split()[0] for name in found if "passages" in name} >= {"sv_talbanken", "tr_imst", "fi_tdt", "eu_bdt"}


def test_standard_input_is_named(g2g: Run, model: Path) -> None:
    done = g2g("parse", "--model", model, "-", stdin=io.BytesIO((GERMAN * 3).encode()).read())
    assert "g2g: -: " in done.err
