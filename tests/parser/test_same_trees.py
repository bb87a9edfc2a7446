"""A law: a sentence gets the same tree, byte for byte, in any batch, order, thread and worker, in every precision."""

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from graph2graph.errors import DataError
from graph2graph.parser import catalogue
from graph2graph.parser.pipeline import Pipeline
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

pytestmark = pytest.mark.slow
N_SENTENCES = 500


@pytest.fixture(scope="module")
def sentences(treebanks: Path) -> list[Sentence]:
    """From a development set, which has sentences of all lengths."""
    return list(itertools.islice(conllu.read(treebanks / "en_ewt" / "dev.conllu"), N_SENTENCES))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of our own for what this CPU can do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("G2G_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="module", params=["fp32", "bf16", "int8"])
def english(request: pytest.FixtureRequest, sentences: list[Sentence], home: None) -> tuple[Pipeline, list[str]]:
    """The shipped model in a precision, and the trees of all sentences as one stream."""
    try:
        pipeline = Pipeline.load(catalogue.DEFAULT, precision=request.param)
    except DataError as error:
        pytest.skip(str(error))
    return pipeline, [tree.to_conllu() for tree in pipeline.parse(sentences)]


@pytest.fixture(autouse=True)
def restored_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@given(
    seed=st.integers(0, 10_000),
    n_sentences=st.sampled_from([1, 2, 7, 40, 120]),
    options=st.fixed_dictionaries({"batch_tokens": st.sampled_from([60, 300, 1500, 20_000])}),
    threads=st.integers(1, 3),
)
@settings(
    max_examples=12, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
def test_batches_orders_and_threads_change_nothing(
    english: tuple[Pipeline, list[str]],
    sentences: list[Sentence],
    seed: int,
    n_sentences: int,
    options: dict[str, Any],
    threads: int,
) -> None:
    pipeline, trees = english
    torch.set_num_threads(threads)
    chosen = random.Random(seed).sample(range(len(sentences)), n_sentences)
    again = pipeline.parse([sentences[number] for number in chosen], **options)
    assert [tree.to_conllu() for tree in again] == [trees[number] for number in chosen]


def test_workers_change_nothing(english: tuple[Pipeline, list[str]], sentences: list[Sentence]) -> None:
    pipeline, trees = english
    assert [tree.to_conllu() for tree in pipeline.parse(sentences, workers=2)] == trees
