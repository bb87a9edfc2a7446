"""Worker processes give the same trees in the same order."""

import warnings
from pathlib import Path

import pytest

from conftest import wild
from graph2graph.decoding.options import ParseOptions
from graph2graph.errors import DataError
from graph2graph.parser import workers
from graph2graph.parser.parser import Parser
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

TOY = list(conllu.read(Path(__file__).parents[1] / "data" / "toy.conllu"))
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("model")
    wild("sent-g2g", TOY).save(directory)
    return directory


def test_trees_options_and_warnings_are_those_of_one_process(model: Path) -> None:
    long = Sentence.from_words(["the"] * 80, sent_id="long")
    sentences = [*TOY * 80, long]
    assert len(sentences) > 2 * workers.CHUNK
    options = ParseOptions(reencode=0.0, probabilities=True)
    with warnings.catch_warnings(record=True) as expected_warnings:
        warnings.simplefilter("always")
        expected = [sentence.lines for sentence in Parser.load(model).parse(sentences, options)]
    with pytest.warns(UserWarning, match="sentence long: longer than the encoder's 64 positions") as caught:
        parsed = [
            sentence.lines
            for sentence in workers.parse_in_workers(model, sentences, 2, options=options, precision="fp32")
        ]
    assert parsed == expected
    assert [str(one.message) for one in caught] == [str(one.message) for one in expected_warnings]


def test_a_worker_that_dies_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a worker process died"):
        list(workers.parse_in_workers(tmp_path / "gone", TOY, 1, options=ParseOptions(), precision="fp32"))
