"""From text or sentences to trees: where tags come from, and what the output keeps of the input."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import torch

import graph2graph
from conftest import wild
from graph2graph.decoding.options import ParseOptions, TagSource
from graph2graph.errors import DataError
from graph2graph.parser.parser import Parser
from graph2graph.parser.pipeline import ParsePlan, Pipeline
from graph2graph.text.udpipe import TextModel
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import MISC, UPOS, Sentence

TOY = list(conllu.read(Path(__file__).parents[1] / "data" / "toy.conllu"))
KEEP, PREDICT, NONE = TagSource
pytestmark = pytest.mark.usefixtures("one_thread")
Trees = list[tuple[list[int | None], list[str]]]


class Tagger:
    """A text model without a model: sentences end with their line, and a word's tag follows from its length."""

    def tagged(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        tags = ["NOUN", "VERB", "DET", "ADP"]
        for sentence in sentences:
            yield sentence.with_columns({UPOS: [tags[len(form) % 4] for form in sentence.forms]})

    def sentences(self, raw: str, *, tags: bool, **_: object) -> Iterator[Sentence]:
        for line in raw.splitlines():
            if line.split():
                sentence = Sentence.from_words(line.split(), text=line)
                yield from self.tagged([sentence]) if tags else [sentence]


@pytest.fixture(scope="module")
def parser() -> Parser:
    """A parser whose trees depend on tags and on the graph."""
    parser = wild("sent-g2g", TOY)
    with torch.no_grad():
        parser.model.tags.weight *= 3
        for name, parameter in parser.model.named_parameters():
            if name.startswith(("exist", "relation")) and parameter.dim() == 1:
                parameter.zero_()  # large biases would make all decisions alike
    return parser


@pytest.fixture(scope="module")
def nlp(parser: Parser) -> Pipeline:
    return Pipeline(parser, cast(TextModel, Tagger()))


@pytest.fixture(scope="module")
def blind(parser: Parser) -> Pipeline:
    """A pipeline whose parser is better without predicted tags."""
    decode = parser.config.decode.model_copy(update={"predicted_tags": False})
    config = parser.config.model_copy(update={"decode": decode})
    return Pipeline(Parser(config, parser.vocabulary, parser.pieces, parser.model), cast(TextModel, Tagger()))


def trees(sentences: Iterable[Sentence]) -> Trees:
    return [(sentence.heads, sentence.deprels) for sentence in sentences]


def tags(sentences: Iterable[Sentence]) -> list[list[str]]:
    return [sentence.column(UPOS) for sentence in sentences]


@pytest.mark.parametrize(
    ("asked", "has_tags", "seen", "seen_if_blind", "predicts", "writes"),
    [
        (None, True, KEEP, KEEP, False, False),
        (KEEP, True, KEEP, KEEP, False, False),
        (PREDICT, True, KEEP, KEEP, True, False),
        (NONE, True, NONE, NONE, False, False),
        (None, False, KEEP, NONE, True, True),
        (KEEP, False, KEEP, KEEP, False, False),
        (PREDICT, False, KEEP, KEEP, True, True),
        (NONE, False, NONE, NONE, False, False),
    ],
)
def test_where_tags_come_from(
    nlp: Pipeline,
    blind: Pipeline,
    asked: TagSource | None,
    has_tags: bool,
    seen: TagSource,
    seen_if_blind: TagSource,
    predicts: bool,
    writes: bool,
) -> None:
    options = ParseOptions(tags=asked, beam=3)
    for pipeline, expected in ((nlp, seen), (blind, seen_if_blind)):
        plan = pipeline.plan(options, has_tags=has_tags)
        assert plan == ParsePlan(ParseOptions(tags=expected, beam=3), predicts, writes)


def test_without_a_text_model_text_and_words_have_no_tags(parser: Parser) -> None:
    bare = Pipeline(parser)
    assert bare.plan(has_tags=False) == ParsePlan(ParseOptions(tags=NONE), False, False)
    for parse in (lambda: bare("Yes"), lambda: list(bare.parse(TOY, tags="predict"))):
        with pytest.raises(DataError, match=r"this model: no text\.udpipe, .* make it with g2g train-text"):
            parse()


def test_only_head_and_deprel_change(nlp: Pipeline, parser: Parser) -> None:
    seen = {
        "keep": trees(parser.parse(TOY)),
        "none": trees(parser.parse(TOY, tags=False)),
        "predict": trees(parser.parse(Tagger().tagged(TOY))),
    }
    assert len({str(found) for found in seen.values()}) == 3
    for source, expected in seen.items():
        parsed = list(nlp.parse(TOY, ParseOptions(tags=TagSource(source))))
        assert trees(parsed) == expected
        for sentence, old in zip(parsed, TOY, strict=True):
            assert [line.split("\t")[:6] for line in sentence.lines] == [line.split("\t")[:6] for line in old.lines]


def test_text_has_the_tags_that_were_predicted(nlp: Pipeline, blind: Pipeline, parser: Parser) -> None:
    raw = "Hey There , you see the dogs\nYes !\n"
    untagged = list(Tagger().sentences(raw, tags=False))
    tagged = list(Tagger().sentences(raw, tags=True))
    assert trees(parser.parse(tagged)) != trees(parser.parse(untagged))
    for pipeline, seen in ((nlp, tagged), (blind, untagged)):
        document = pipeline(raw)
        assert document.text == raw
        assert tags(document.sentences) == tags(tagged)
        assert trees(document.sentences) == trees(parser.parse(seen))
    assert tags(nlp(raw, tags="none").sentences) == tags(untagged)


def test_pipe_is_one_by_one(nlp: Pipeline) -> None:
    texts = ["", "Yes", " \n", "Hey There , dogs\nYes !", ""]
    assert [d.to_conllu() for d in nlp.pipe(texts)] == [nlp(raw).to_conllu() for raw in texts]


def test_pipe_streams(nlp: Pipeline) -> None:
    taken = []
    texts = (taken.append(None) or "Yes" for _ in range(10_000))  # type: ignore[func-returns-value]
    assert next(nlp.pipe(texts)).text == "Yes"
    assert len(taken) < 1000


@pytest.mark.parametrize("source", ["keep", "predict"])
def test_candidates_have_the_columns_of_the_input(nlp: Pipeline, source: str) -> None:
    found = list(nlp.nbest(TOY, 3, tags=source))
    assert [candidates[0].sentence.column(UPOS) for candidates in found] == tags(TOY)
    best = nlp.parse(TOY, tags=source, beam=3)
    assert trees(candidates[0].sentence for candidates in found) == trees(best)
    assert all(one.score >= other.score for some in found for one, other in itertools.pairwise(some))


def test_probabilities_reach_the_sentences_that_were_given(nlp: Pipeline) -> None:
    for sentence in nlp.parse(TOY, tags="predict", probabilities=True):
        assert all(one is not None and 0 < one.arc <= 1 for one in sentence.probabilities)
        assert "ArcP=" in sentence.rows[0][MISC]


def test_options_by_name_or_as_an_object(nlp: Pipeline, parser: Parser) -> None:
    options = ParseOptions(reencode=0.0, batch_tokens=9)
    for parse in (nlp.parse, parser.parse):
        stale = trees(parse(TOY, options))
        assert trees(parse(TOY, reencode=0.0)) == stale
        assert trees(parse(TOY, options, reencode=math.inf)) == trees(parse(TOY)) != stale
        with pytest.raises(TypeError, match="colour"):
            parse(TOY, colour="red")
        with pytest.raises(DataError, match="beam search supports neither"):
            parse(TOY, beam=2, keep_arcs=True)


def test_a_parser_alone_predicts_no_tags(parser: Parser) -> None:
    with pytest.raises(DataError, match=r"graph2graph\.load\(\) gives a pipeline that predicts tags"):
        parser.parse(TOY, tags="predict")


def test_workers_need_a_directory(nlp: Pipeline) -> None:
    with pytest.raises(DataError, match="workers need a model in a directory"):
        list(nlp.parse(TOY, workers=2))


@pytest.mark.slow
def test_load(toy_model: Path) -> None:
    load: Callable[..., Any] = graph2graph.load
    nlp = load(toy_model)
    assert (nlp.directory, nlp.name, nlp.has_text_model) == (toy_model, str(toy_model), True)
    assert nlp("Yes", ranges=True).sentences[0].spans == [(0, 3)]
    assert [s.lines for s in nlp.parse(TOY)] == [s.lines for s in Parser.load(toy_model).parse(TOY)]
    with pytest.raises(DataError, match="nothing: no such model"):
        load("nothing")
